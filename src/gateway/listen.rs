//! The gateway's sockets: one for each sandbox, in a directory that is mounted there.
//!
//! A sandbox with a socket of its own can hold all of its connections open and only shuts itself out.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio_util::sync::DropGuard;

use super::{Gateway, Limits};
use crate::connections::{self, Terms};

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
        let Limits { connections: places, head, idle: stall, .. } = self.0.limits;
        let serving = connections::serve(listener, self.router(), Terms { places, head, stall }, stop.clone());
        let stopped = stop.clone();
        self.0.tasks.spawn(async move {
            let lingered = async {
                stopped.cancelled().await;
                tokio::time::sleep(LINGER).await;
            };
            tokio::select! {
                () = serving => {}
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
