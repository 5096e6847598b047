//! A model server whose words are written beforehand: the providers' real wire format over a real socket, for the demo
//! and for tests.
//!
//! It answers `POST /v1/messages`, streamed or not, by a [`Script`], misbehaves where the script says so, and shows what
//! it was asked at `GET /requests`. It listens on this machine only. Nothing else in the product knows it: it is called
//! like any provider.

mod answer;
mod events;
mod fill;
mod log;
mod play;
mod routes;
mod script;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use axum::serve::{Listener, ListenerExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub use script::{BadScript, Conversation, Fault, FaultKind, Reply, Script, StatedUsage, ToolCall, When};

/// Its name in the provider table.
pub const PROVIDER: &str = "scripted";

/// How to start the server as a process of its own.
#[derive(Debug, Clone)]
pub struct Options {
    /// The script: TOML, or JSON if the name ends in `.json`.
    pub script: PathBuf,
    /// The port on 127.0.0.1; 0 lets the system choose.
    pub port: u16,
}

/// The server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The script cannot be used.
    #[error("the script {path} cannot be used")]
    Script {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: BadScript,
    },
    /// The address cannot be served.
    #[error("the model server cannot listen on port {port}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The first line cannot be written.
    #[error("the address cannot be printed")]
    Announce(#[source] io::Error),
}

/// Serves until the process ends; the first line written to `out` is the base URL, such as `http://127.0.0.1:40123`.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(options: Options, mut out: impl io::Write) -> Result<(), ServeError> {
    let Options { script: path, port } = options;
    let script = Script::load(&path).map_err(|cause| ServeError::Script { path, cause })?;
    let listen = |cause| ServeError::Listen { port, cause };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    writeln!(out, "http://{address}").and_then(|()| out.flush()).map_err(ServeError::Announce)?;
    axum::serve(prompt(listener), routes::router(script)).await.map_err(listen)
}

/// Sends each event at once: held back until the one before it is acknowledged, it would come 40 ms late.
fn prompt(listener: TcpListener) -> impl Listener<Io = TcpStream, Addr = SocketAddr> {
    listener.tap_io(|stream| {
        // Without it the answer is only slower.
        let _ = stream.set_nodelay(true);
    })
}

/// A server inside this process, which ends when this value is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    _stop: DropGuard,
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let serving = axum::serve(prompt(listener), routes::router(script));
        let serving = serving.with_graceful_shutdown(stop.clone().cancelled_owned());
        // It ends only by being stopped, and nobody is left to tell.
        TaskTracker::new().spawn(async move { serving.await });
        Ok(Self { address, _stop: stop.drop_guard() })
    }

    /// Where it is, without a trailing slash.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Script {
    /// Reads a script from a file: JSON if the name ends in `.json`, else TOML.
    ///
    /// # Errors
    /// See [`BadScript`].
    pub fn load(path: &Path) -> Result<Self, BadScript> {
        let text = std::fs::read_to_string(path).map_err(BadScript::Unreadable)?;
        match path.extension() {
            Some(extension) if extension == "json" => serde_json::from_str(&text).map_err(BadScript::Json),
            Some(_) | None => Self::parse(&text),
        }
    }
}
