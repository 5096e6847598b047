//! Putting the service together from its configuration, serving it, and taking it down without losing a step: the one
//! module that names every adapter.

use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use crate::app::{Agents, App, Offers, Signals};
use crate::config::{AgentConfig, AgentsConfig, Config, Secret, secret_variable};
use crate::cycle::id::NodeId;
use crate::cycle::policy::{AgentChoice, Effort};
use crate::gateway::prices::Prices;
use crate::gateway::providers::{PROVIDERS, Upstream};
use crate::gateway::secret::Key;
use crate::gateway::{self, Gateway, Listening};
use crate::run_repository::Place;
use crate::runner::ledger::StoreLedger;
use crate::runner::{Directories, Ports, Runner};
use crate::sandbox::{Backend, Limits, Namespace, NamespaceSettings};
use crate::store::{self, Store};
use crate::web;

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A directory of ours cannot be made.
    #[error("the directory {path} cannot be used")]
    Directory {
        /// Which one.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Another process serves the same directory, and both would perform the same runs.
    #[error("another countersign serves the data directory {path}; stop that one first, or set another directory")]
    InUse {
        /// Which one.
        path: String,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// No sandbox can be made, so no run may start.
    #[error(transparent)]
    Sandbox(#[from] crate::sandbox::Error),
    /// The gateway cannot start.
    #[error(transparent)]
    Gateway(#[from] gateway::StartError),
    /// The gateway's socket cannot be served.
    #[error(transparent)]
    Listen(#[from] gateway::ListenError),
    /// The settings name a provider that is in no table.
    #[error("{key} names the provider {name:?}, which is not known; known are: {}", known_providers())]
    UnknownProvider {
        /// The setting.
        key: &'static str,
        /// What it says.
        name: String,
    },
    /// The settings give a provider an address that no key may be sent to.
    #[error("providers.{provider}.base_url: {why}")]
    Address {
        /// The provider.
        provider: String,
        /// What is wrong with it, and what would be right.
        why: gateway::providers::BadUpstream,
    },
}

/// What a service is started from.
#[derive(Debug)]
pub struct Service;

/// A running service.
pub struct Started {
    /// Its use-cases.
    pub app: Arc<App>,
    runner: Arc<Runner>,
    gateway: Gateway,
    tasks: TaskTracker,
    stop: CancellationToken,
    _socket: Listening,
    // Given up last: whoever serves the directory next finds nothing under way.
    _lock: OwnedFd,
}

impl Service {
    /// Starts store, sandboxes, gateway and runner. Blocks for some hundred milliseconds.
    ///
    /// # Errors
    /// See [`StartError`]: without a sandbox nothing starts, and there is no mode without one.
    pub async fn start(config: &Config) -> Result<Started, StartError> {
        check_providers(config)?;
        let directories = directories(&config.data)?;
        let lock = lock(&config.data)?;
        let backend = sandboxes(config)?;
        let store = Store::of(&config.data, config.database.as_ref().map(Secret::expose)).await?;
        let upstreams = upstreams(config);
        let providers = upstreams.iter().map(Upstream::name).collect();
        let prices = Prices::shipped();
        let ledger = Arc::new(StoreLedger(store.clone()));
        let options =
            gateway::Options { upstreams, prices: prices.clone(), ledger, limits: gateway::Limits::default() };
        let gateway = Gateway::new(options)?;
        let socket = gateway.listen(&directories.sockets.join("service.sock"))?;
        let tasks = TaskTracker::new();
        let ports = Ports {
            store: store.clone(),
            backend,
            gateway: gateway.clone(),
            socket: socket.path().to_owned(),
            directories: directories.clone(),
            limits: Limits { memory: config.sandbox.memory_mib << 20, ..Limits::default() },
            term: config.lease,
            moved: tokio::sync::watch::Sender::new(0),
            tasks: tasks.clone(),
        };
        let runner = Runner::new(Arc::new(ports), node(&config.data)?, config.slots);
        runner.start();
        runner.hear();
        let agents =
            Agents { implementer: choice(&config.agents.implementer), reviewer: choice(&config.agents.reviewer) };
        let (wake, moved) = runner.signals();
        let signals = Signals { wake, moved };
        let app = Arc::new(App::new(
            store,
            signals,
            agents,
            Offers { prices, providers, data: config.data.clone(), place: directories.place },
        ));
        Ok(Started { app, runner, gateway, tasks, stop: CancellationToken::new(), _socket: socket, _lock: lock })
    }
}

impl Started {
    /// Serves the pages in the background until the service stops; returns the address that they have.
    ///
    /// # Errors
    /// The address cannot be served.
    pub async fn serve_pages(&self, listen: SocketAddr) -> anyhow::Result<SocketAddr> {
        let listener = TcpListener::bind(listen).await.with_context(|| {
            format!("{listen} cannot be served; name another address with `listen`, COUNTERSIGN_LISTEN or, for the demo, --listen")
        })?;
        let address = listener.local_addr()?;
        self.tasks.spawn(web::serve(listener, Arc::clone(&self.app), self.stop.clone()));
        Ok(address)
    }

    /// Ends the steps in flight, settles what was reserved, and returns when nothing is left running.
    pub async fn stop(self) {
        self.stop.cancel();
        self.runner.stop().await;
        self.gateway.shut_down().await;
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn choice(agent: &AgentConfig) -> AgentChoice {
    AgentChoice { provider: agent.provider.clone(), model: agent.model.clone(), effort: Effort::Medium }
}

/// Makes the data directory where there is none: for nobody else on this machine, since it holds whole repositories and
/// everything that was said about them. One that exists stays as its owner made it.
///
/// # Errors
/// It cannot be made.
pub fn make_data_directory(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn directories(data: &Path) -> Result<Directories, StartError> {
    make_data_directory(data).map_err(|source| StartError::Directory { path: data.display().to_string(), source })?;
    let made = |name: &str| {
        let path = data.join(name);
        let failed = |source| StartError::Directory { path: path.display().to_string(), source };
        std::fs::create_dir_all(&path).map_err(failed)?;
        path.canonicalize().map_err(|source| StartError::Directory { path: path.display().to_string(), source })
    };
    Ok(Directories { place: Place { mirrors: made("mirrors")?, runs: made("runs")? }, sockets: made("sockets")? })
}

/// Takes the data directory for this process; the kernel gives it back when the process ends, however it does.
fn lock(data: &Path) -> Result<OwnedFd, StartError> {
    let path = data.join("serve.lock");
    let failed = |e: Errno| StartError::Directory { path: path.display().to_string(), source: e.into() };
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(StartError::InUse { path: data.display().to_string() }),
        Err(e) => Err(failed(e)),
    }
}

/// Which node this is: an id that stays with the data directory, and so with what the node left there.
fn node(data: &Path) -> Result<NodeId, StartError> {
    let path = data.join("node");
    // One that cannot be read is replaced: its runs are free once their leases have run out.
    if let Some(id) = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()) {
        return Ok(id);
    }
    let id = NodeId::new();
    let failed = |source| StartError::Directory { path: path.display().to_string(), source };
    std::fs::write(&path, id.to_string()).map_err(failed)?;
    Ok(id)
}

fn sandboxes(config: &Config) -> Result<Arc<dyn Backend>, StartError> {
    let settings = NamespaceSettings {
        uid: config.sandbox.uid,
        strict: config.sandbox.strict,
        ..NamespaceSettings::new(config.data.join("sandbox"))
    };
    let backend = Namespace::new(&settings)?;
    backend.sweep();
    Ok(Arc::new(backend))
}

fn known_providers() -> String {
    PROVIDERS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ")
}

/// Checks what the settings say about providers before anything is started: a name with a slip in it is told then, and
/// not when the first run wants to call it.
///
/// # Errors
/// [`StartError::UnknownProvider`] or [`StartError::Address`], naming the key.
pub fn check_providers(config: &Config) -> Result<(), StartError> {
    let AgentsConfig { implementer, reviewer } = &config.agents;
    let roles = [("agents.implementer", &implementer.provider), ("agents.reviewer", &reviewer.provider)];
    let named = config.providers.keys().map(|name| ("providers", name));
    match roles.into_iter().chain(named).find(|(_, name)| gateway::providers::find(name).is_none()) {
        Some((key, name)) => Err(StartError::UnknownProvider { key, name: name.clone() }),
        None => check_addresses(config),
    }
}

fn check_addresses(config: &Config) -> Result<(), StartError> {
    let given = config.providers.iter().filter_map(|(name, p)| Some((name, p.base_url.as_deref()?)));
    given.into_iter().try_for_each(|(provider, address)| {
        gateway::providers::check_address(address)
            .map_err(|why| StartError::Address { provider: provider.clone(), why })
    })
}

/// The providers that can be called: those with an address and, where they need one, a key.
fn upstreams(config: &Config) -> Vec<Upstream> {
    let of = |provider| {
        let base_url = config.providers.get(provider_name(provider)).and_then(|p| p.base_url.as_deref());
        let key = provider_key(provider);
        match Upstream::new(provider, base_url, key) {
            Ok(upstream) => Some(upstream),
            // Nobody misses a provider that no role is performed by.
            Err(why) if is_chosen(config, provider_name(provider)) => {
                tracing::warn!("{why}; until then no issue can be delegated");
                None
            }
            Err(_) => None,
        }
    };
    PROVIDERS.iter().filter_map(of).collect()
}

fn is_chosen(config: &Config, provider: &str) -> bool {
    [&config.agents.implementer, &config.agents.reviewer].iter().any(|agent| agent.provider == provider)
}

fn provider_name(provider: &'static crate::gateway::providers::Provider) -> &'static str {
    provider.name
}

fn provider_key(provider: &'static crate::gateway::providers::Provider) -> Option<Key> {
    provider.key_variable.and_then(secret_variable).and_then(Key::new)
}

/// Serves until SIGINT or SIGTERM, then ends the steps in flight and returns.
///
/// # Errors
/// The service does not start, or the address cannot be served.
pub async fn serve(config: &Config) -> anyhow::Result<()> {
    let started = Service::start(config).await?;
    let address = started.serve_pages(config.listen).await?;
    info!("serving http://{address} for this machine only: there is no sign-in yet");
    let stopped = stop_signal().await;
    started.stop().await;
    Ok(stopped?)
}

/// Waits for a person, or the system, to say stop.
///
/// # Errors
/// Signals cannot be received.
pub async fn stop_signal() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ProviderConfig;

    #[test]
    fn an_address_that_would_show_the_key_to_a_network_is_refused_by_its_setting_with_what_would_be_right() {
        let given = |url: &str| {
            let provider = ProviderConfig { base_url: Some(url.to_owned()) };
            let providers = [("anthropic".to_owned(), provider)].into();
            check_providers(&Config { providers, ..Config::default() })
        };
        for good in ["https://proxy.example", "http://127.0.0.1:9/", "http://localhost:1"] {
            assert!(given(good).is_ok(), "{good}");
        }
        for bad in ["http://proxy.example", "proxy.example", ""] {
            let refused = given(bad).expect_err(bad).to_string();
            assert!(refused.starts_with(&format!("providers.anthropic.base_url: {bad:?}")), "{refused}");
            assert!(refused.contains("https://") && refused.contains("127.0.0.1"), "{refused}");
        }
    }
}
