//! The gateway's sockets: one for each sandbox, in a directory that is mounted there.
//!
//! A sandbox with a socket of its own can hold all of its connections open and only shuts itself out.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream, unix};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::DropGuard;

use super::Gateway;

/// How long a connection may take to end once its socket is no longer served.
const LINGER: Duration = Duration::from_secs(5);

/// A socket cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("the gateway's socket {path} cannot be served")]
pub struct ListenError {
    /// Where it should have been.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub cause: io::Error,
}

/// A socket that is served until this value is dropped, which also removes the file.
#[derive(Debug)]
pub struct Listening {
    path: PathBuf,
    _stop: DropGuard,
}

impl Listening {
    /// Where the socket is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Its directory may be gone already, which is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Gateway {
    /// Serves the gateway on a unix socket at `path`, in place of a socket that an earlier process left there.
    ///
    /// Whoever can reach the file can connect: who that is, its directory decides, and a token is still needed.
    ///
    /// # Errors
    /// The path is over 107 bytes, is something else than a socket, or cannot be written. Must be called within a
    /// Tokio runtime.
    pub fn listen(&self, path: &Path) -> Result<Listening, ListenError> {
        let failed = |cause| ListenError { path: path.to_owned(), cause };
        let listener = bind(path).map_err(failed)?;
        let stop = self.0.stop.child_token();
        let places = Arc::new(Semaphore::new(self.0.limits.connections));
        let serving = axum::serve(Bounded { listener, places }, self.router());
        let serving = serving.with_graceful_shutdown(stop.clone().cancelled_owned()).into_future();
        let stopped = stop.clone();
        self.0.tasks.spawn(async move {
            let lingered = async {
                stopped.cancelled().await;
                tokio::time::sleep(LINGER).await;
            };
            tokio::select! {
                // It ends by being stopped, which is no error.
                _ = serving => {}
                () = lingered => {}
            }
        });
        Ok(Listening { path: path.to_owned(), _stop: stop.drop_guard() })
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is not a socket")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    // The user inside the sandbox is not ours.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Accepts a connection only when there is a place for it.
struct Bounded {
    listener: UnixListener,
    places: Arc<Semaphore>,
}

impl Listener for Bounded {
    type Io = Placed;
    type Addr = unix::SocketAddr;

    async fn accept(&mut self) -> (Placed, unix::SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.expect("the semaphore is never closed");
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Placed { stream, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<unix::SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, with the place that it takes up.
struct Placed {
    stream: UnixStream,
    _place: OwnedSemaphorePermit,
}

impl AsyncRead for Placed {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Placed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
