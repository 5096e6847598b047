//! A sandbox made by `bwrap`, as the service holds it.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::{UnixDatagram, UnixStream};
use tokio::process::Child;

use super::cgroup::Group;
use super::etc::Etc;
use crate::sandbox::live::Body;
use crate::sandbox::{Boxed, Error};

/// How long making a sandbox may take: milliseconds as a rule, more on a machine that is busy with others.
const START: Duration = Duration::from_secs(30);
/// How long the kernel may take to clear away a sandbox after the kill.
const END: Duration = Duration::from_secs(30);
/// How much of what `bwrap` says is kept.
const SAID: u64 = 4096;

/// The service's end of the control socket. When it is closed, *init* ends.
///
/// It is a connected socket with message boundaries, of the "sequenced packet" kind; the type for datagrams is used
/// since it offers the same, and does so without `unsafe`.
pub(super) struct Control(UnixDatagram);

impl Control {
    pub(super) fn new(socket: OwnedFd) -> Result<Self, Error> {
        rustix::net::sockopt::set_socket_passcred(&socket, true)
            .map_err(std::io::Error::from)
            .and_then(|()| UnixDatagram::from_std(socket.into()))
            .map(Self)
            .map_err(Error::io("set up the control socket"))
    }

    /// Waits for *init*'s greeting, to which the kernel adds which process sent it, as seen from here.
    async fn greeting(&self) -> std::io::Result<Option<Pid>> {
        self.0.async_io(Interest::READABLE, || receive_greeting(&self.0).map_err(Into::into)).await
    }

    async fn pass(&self, stream: &OwnedFd) -> std::io::Result<()> {
        self.0.async_io(Interest::WRITABLE, || send_stream(&self.0, stream).map_err(Into::into)).await
    }
}

fn receive_greeting(socket: &UnixDatagram) -> Result<Option<Pid>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let got = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let sender = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid),
        RecvAncillaryMessage::ScmRights(_) | _ => None,
    });
    Ok(if got.bytes == 0 { None } else { sender })
}

fn send_stream(socket: &UnixDatagram, stream: &OwnedFd) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let streams = [stream.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&streams));
    rustix::net::sendmsg(socket, &[IoSlice::new(b"s")], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// The processes of one sandbox and what was made for them on this machine.
pub(super) struct Started {
    control: Control,
    /// A handle of *init*, whose end is the end of everything in the sandbox.
    init: OwnedFd,
    bwrap: Child,
    group: Option<Group>,
    _etc: Arc<Etc>,
}

impl Started {
    /// Waits until *init* runs. `group` is none where no limits are kept by groups.
    pub(super) async fn wait(
        control: Control,
        mut bwrap: Child,
        group: Option<Group>,
        etc: Arc<Etc>,
    ) -> Result<Self, Error> {
        let init = match tokio::time::timeout(START, control.greeting()).await {
            Ok(Ok(Some(pid))) => rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok(),
            Ok(Ok(None) | Err(_)) => None,
            Err(_) => {
                _ = bwrap.start_kill();
                group.iter().for_each(Group::kill);
                return Err(Error::NotStarted { said: format!("it took longer than {START:?}") });
            }
        };
        match init {
            Some(init) => Ok(Self { control, init, bwrap, group, _etc: etc }),
            None => Err(Error::NotStarted { said: last_words(&mut bwrap).await }),
        }
    }

    fn kill_init(&self) {
        _ = rustix::process::pidfd_send_signal(&self.init, Signal::KILL);
    }

    async fn stream(&self) -> Result<UnixStream, Error> {
        let (ours, theirs) =
            std::os::unix::net::UnixStream::pair().map_err(Error::io("make a stream for a command"))?;
        ours.set_nonblocking(true).map_err(Error::io("make a stream for a command"))?;
        // A socket that cannot be written to has lost its other end.
        self.control.pass(&theirs.into()).await.map_err(|_| Error::Lost)?;
        UnixStream::from_std(ours).map_err(Error::io("make a stream for a command"))
    }
}

impl Body for Started {
    fn open(&self) -> Boxed<'_, Result<UnixStream, Error>> {
        Box::pin(self.stream())
    }

    fn memory_kills(&self) -> Option<u64> {
        self.group.as_ref()?.memory_kills()
    }

    fn kill(&self) {
        self.kill_init();
    }

    fn end(mut self: Box<Self>) -> Boxed<'static, Result<(), Error>> {
        Box::pin(async move {
            self.kill_init();
            // `bwrap` ends when *init* has, and the kernel lets *init* end only when everything else in its pid
            // namespace is gone.
            let ended = tokio::time::timeout(END, self.bwrap.wait()).await;
            if let Some(group) = self.group.take() {
                _ = tokio::task::spawn_blocking(move || group.remove()).await;
            }
            match ended {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(source)) => Err(Error::Io { doing: "wait for the end of a sandbox", source }),
                Err(_) => Err(Error::Unresponsive(END)),
            }
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill_init();
    }
}

/// What `bwrap` said before it ended, or that it ended without a word.
async fn last_words(bwrap: &mut Child) -> String {
    let mut said = Vec::new();
    if let Some(stderr) = &mut bwrap.stderr {
        _ = tokio::time::timeout(START, stderr.take(SAID).read_to_end(&mut said)).await;
    }
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if said.is_empty() { "bwrap ended without a word".to_owned() } else { said }
}
