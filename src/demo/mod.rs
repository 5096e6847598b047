//! The demo: five stories on sample repositories, through the whole product. Only the model's words are made up
//! beforehand, and they come over HTTP in a provider's wire format.

mod story;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::app::Delegation;
use crate::config::{AgentConfig, AgentsConfig, Config, ProviderConfig, secret_variable};
use crate::cycle::id::{IssueId, RunId};
use crate::cycle::run::Delivery;
use crate::model_server;
use crate::service::{Service, Started, make_data_directory, stop_signal};
use crate::store::Repository;
use story::{STORIES, Story};

/// What the demo is asked to do.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// End when the stories have ended, with a line each and a failure if one is not as promised.
    #[arg(long)]
    exit: bool,
    /// Use the real model; needs `ANTHROPIC_API_KEY`, and costs up to each story's ceiling.
    #[arg(long)]
    live: bool,
    /// Where to keep the demo's data; a fresh temporary directory without it.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Where to serve the pages.
    #[arg(long, default_value = "127.0.0.1:7171")]
    listen: SocketAddr,
}

/// Runs the stories, tells what came of each, and serves the pages until stopped (or not, with `--exit`).
///
/// # Errors
/// The service does not start, or a sample cannot be written.
pub async fn run(options: Options, mut out: impl Write) -> Result<ExitCode> {
    let data = Data::make(options.data.as_deref())?;
    let stories: Vec<Story> = STORIES.iter().map(Story::read).collect::<Result<_>>()?;
    let server = if options.live { None } else { Some(words(&stories, &data.path).await?) };
    let config = config(&options, &data.path, server.as_ref().map(|s| s.address.as_str()))?;
    let started = Service::start(&config).await?;
    if !options.exit {
        let address = started.serve_pages(options.listen).await?;
        writeln!(out, "The pages are at http://{address}; the data is in {}.", data.path.display())?;
        if !options.live {
            writeln!(
                out,
                "The words of these five stories are written beforehand; other issues need `serve` with a key."
            )?;
        }
    }
    let mut runs = Vec::new();
    for story in &stories {
        runs.push(begin(&started, story, &data.path).await?);
    }
    let mut as_promised = true;
    for (story, (run, repository)) in stories.iter().zip(&runs) {
        as_promised &= tell(&started, story, (*run, repository), &mut out).await?;
    }
    if !options.exit {
        writeln!(out, "All five stories have ended. Press Ctrl-C to stop serving{}.", data.fate())?;
        stop_signal().await?;
    }
    started.stop().await;
    Ok(if as_promised || options.live { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The demo's directory; one that nobody named is removed in the end.
struct Data {
    path: PathBuf,
    is_named: bool,
}

impl Data {
    fn make(given: Option<&Path>) -> Result<Self> {
        let fresh = || std::env::temp_dir().join(format!("countersign-demo-{}", RunId::new()));
        let path = given.map_or_else(fresh, Path::to_owned);
        make_data_directory(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        if path.join("countersign.db").exists() {
            bail!("{} holds an earlier demo; remove it or name another directory", path.display());
        }
        Ok(Self { path: path.canonicalize()?, is_named: given.is_some() })
    }

    fn fate(&self) -> &'static str {
        if self.is_named { "" } else { " and remove the demo's data (name a directory with --data to keep it)" }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if !self.is_named
            && let Err(e) = std::fs::remove_dir_all(&self.path)
        {
            tracing::warn!("{} could not be removed: {e}", self.path.display());
        }
    }
}

/// The server of the model's words, a process of its own that ends with this value.
struct Words {
    address: String,
    _process: Child,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server of the demo's words is our own program, not an agent's command"
)]
async fn words(stories: &[Story], data: &Path) -> Result<Words> {
    let mut script = model_server::Script::default();
    for story in stories {
        script.extend(story.script.clone().about(&story.title));
    }
    let file = data.join("words.json");
    std::fs::write(&file, serde_json::to_vec_pretty(&script)?)?;
    let mut process = Command::new(std::env::current_exe()?)
        .arg("model-server")
        .arg("--script")
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("the model server does not start")?;
    let stdout = process.stdout.take().context("the model server has no output")?;
    let first = BufReader::new(stdout).lines().next_line().await?;
    let address = first.context("the model server ended before it said where it is")?;
    Ok(Words { address, _process: process })
}

fn config(options: &Options, data: &Path, words: Option<&str>) -> Result<Config> {
    let provider = if words.is_some() { model_server::PROVIDER } else { "anthropic" };
    if words.is_none() && secret_variable("ANTHROPIC_API_KEY").is_none() {
        bail!("--live needs a key in ANTHROPIC_API_KEY");
    }
    let defaults = Config::default();
    let agent = |of: &AgentConfig| AgentConfig { provider: provider.to_owned(), model: of.model.clone() };
    let agents =
        AgentsConfig { implementer: agent(&defaults.agents.implementer), reviewer: agent(&defaults.agents.reviewer) };
    let base_url = words.map(str::to_owned);
    let providers = [(provider.to_owned(), ProviderConfig { base_url })].into();
    Ok(Config { data: data.to_owned(), listen: options.listen, agents, providers, ..defaults })
}

/// Makes the sample repository and delegates its issue.
async fn begin(started: &Started, story: &Story, data: &Path) -> Result<(RunId, Repository)> {
    let remote = data.join("repositories").join(format!("{}.git", story.repository));
    let files: Vec<(&str, &str)> = story.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    crate::app::make_repository(&remote, &files)?;
    let repository = started.app.add_repository(&story.repository, &remote.display().to_string()).await?;
    let delegation = Delegation {
        issue: IssueId::new(),
        repository: repository.id,
        title: story.title.clone(),
        body: story.body.clone(),
        done: story.done.clone(),
        base: "main".to_owned(),
        passes: 3,
        money: story.money,
        clock: Duration::from_secs(30 * 60),
    };
    Ok((started.app.delegate(delegation).await?, repository))
}

/// Waits for a story's end, prints its line and says whether it is as promised.
async fn tell(
    started: &Started,
    story: &Story,
    (id, repository): (RunId, &Repository),
    out: &mut impl Write,
) -> Result<bool> {
    let run = started.app.wait_until_over(id).await?;
    let outcome = run.outcome.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    let branch = run.preparation.as_ref().map_or("-", |p| p.branch.as_str());
    let (branch, pull_request) = match &run.delivery {
        Delivery::Done { pull_request, .. } => (branch, format!("#{pull_request}")),
        Delivery::None | Delivery::Pending | Delivery::Failed { .. } => ("-", "-".to_owned()),
    };
    let passes = run.passes.len();
    writeln!(out, "{} {outcome} passes={passes} branch={branch} pull_request={pull_request}", story.name)?;
    out.flush()?;
    let is_there = crate::app::has_branch(Path::new(&repository.remote), branch);
    let delivered = branch != "-" && is_there;
    let as_promised = outcome == story.ends && passes == story.passes && delivered == story.delivered;
    if !as_promised {
        writeln!(out, "  promised: {} passes={} delivered={}", story.ends, story.passes, story.delivered)?;
    }
    Ok(as_promised)
}
