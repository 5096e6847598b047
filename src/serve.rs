//! Serving the pages until a signal says stop.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use crate::app::{Service, Started};
use crate::config::Config;
use crate::web;

/// Serves until SIGINT or SIGTERM, then ends the steps in flight and returns.
///
/// # Errors
/// The service does not start, or the address cannot be served.
pub async fn until_stopped(config: &Config) -> Result<()> {
    let started = Service::start(config).await?;
    let (address, server) = pages(&started, config.listen).await?;
    info!("serving http://{address} for this machine only: there is no sign-in yet");
    let stopped = stop_signal().await;
    server.abort();
    started.stop().await;
    stopped
}

/// Serves the pages in the background; returns the address that they have.
///
/// # Errors
/// The address cannot be served.
pub async fn pages(started: &Started, listen: SocketAddr) -> Result<(SocketAddr, tokio::task::JoinHandle<()>)> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("{listen} cannot be served"))?;
    let address = listener.local_addr()?;
    let serving = web::serve(listener, started.app.clone());
    Ok((address, started.spawn(serving)))
}

/// Waits for a person, or the system, to say stop.
///
/// # Errors
/// Signals cannot be received.
pub async fn stop_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => Ok(pressed?),
        _ = terminate.recv() => Ok(()),
    }
}
