//! The command line.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use tracing_subscriber::filter::LevelFilter;

use countersign::app::add_repository;
use countersign::config::{Config, Secret};
use countersign::sandbox::{self, NamespaceSettings, doctor};
use countersign::store::Store;
use countersign::{demo, model_server, service, telemetry};

/// Turns an issue into a pull request that was implemented, checked and reviewed.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// The configuration file; without one, defaults and the environment count.
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    /// Log more: milestones, then everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the pages and perform runs.
    Serve,
    /// Show five stories on sample repositories.
    Demo(demo::Options),
    /// Prove each piece of the sandbox on this machine, and say how to get what is missing.
    Doctor,
    /// Work with repositories.
    #[command(subcommand)]
    Repository(RepositoryCommand),
    /// Serve a model's words from a file in the provider's wire format, for the demo and for tests.
    ModelServer {
        /// The file: TOML, or JSON if its name ends in `.json`.
        #[arg(long)]
        script: PathBuf,
        /// The port on 127.0.0.1; 0 lets the system choose.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
}

#[derive(Debug, Subcommand)]
enum RepositoryCommand {
    /// Add a repository by a name and the absolute path of its git directory.
    Add {
        /// What it is called on the pages.
        name: String,
        /// An absolute path or a `file://` address.
        remote: String,
    },
    /// List the repositories.
    List,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    telemetry::start(match (arguments.verbose, &arguments.command) {
        (0, Command::Serve) | (1, _) => LevelFilter::INFO,
        (0, _) => LevelFilter::WARN,
        (_, _) => LevelFilter::DEBUG,
    });
    match perform(arguments).await {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(error) if error.root_cause().downcast_ref::<std::io::Error>().is_some_and(is_closed) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "countersign: {}", causes(&error));
            ExitCode::FAILURE
        }
    }
}

fn is_closed(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::BrokenPipe
}

/// The whole chain of causes on one line; some libraries say their cause in their own words already.
fn causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told.is_empty() {
        true => cause,
        false if told.ends_with(&cause) => told,
        false => format!("{told}: {cause}"),
    })
}

async fn perform(arguments: Arguments) -> Result<ExitCode> {
    let config = || Config::load(arguments.config.as_deref());
    match arguments.command {
        Command::Serve => service::serve(&config()?).await.map(|()| ExitCode::SUCCESS),
        Command::Demo(options) => demo::run(options, std::io::stdout()).await,
        Command::Doctor => examine(&config()?).await,
        Command::Repository(command) => repositories(&config()?, command).await.map(|()| ExitCode::SUCCESS),
        Command::ModelServer { script, port } => {
            model_server::serve(model_server::Options { script, port }, std::io::stdout()).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn repositories(config: &Config, command: RepositoryCommand) -> Result<()> {
    service::make_data_directory(&config.data).context("the data directory cannot be made")?;
    let store = Store::of(&config.data, config.database.as_ref().map(Secret::expose)).await?;
    let mut out = std::io::stdout();
    match command {
        RepositoryCommand::Add { name, remote } => {
            let added = add_repository(&store, &name, &remote).await?;
            let place = config
                .database
                .as_ref()
                .map_or_else(|| format!("data in {}", config.data.display()), |_| "database".to_owned());
            writeln!(out, "added {} ({}) to the {place}", added.name, added.remote)?;
        }
        RepositoryCommand::List => {
            for repository in store.list_repositories().await? {
                writeln!(out, "{}\t{}", repository.name, repository.remote)?;
            }
        }
    }
    Ok(())
}

async fn examine(config: &Config) -> Result<ExitCode> {
    service::check_providers(config)?;
    service::make_data_directory(&config.data).context("the data directory cannot be made")?;
    let settings = NamespaceSettings {
        uid: config.sandbox.uid,
        strict: config.sandbox.strict,
        ..NamespaceSettings::new(config.data.join("sandbox"))
    };
    let findings = doctor(&settings).await;
    let mut out = std::io::stdout();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    let is_well = !findings.iter().any(sandbox::Finding::stops_runs);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
