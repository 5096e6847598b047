//! Starting the program that makes a sandbox: one thread that does it, and what happens between fork and exec.
//!
//! The thread has a mount table of its own, which what it starts begins with. So what the service mounts for its
//! sandboxes is seen by nobody else on the machine, and is gone when the service is, however that ends.
//!
//! The only file of the service with `unsafe`.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;

use rustix::fs::Mode;
use rustix::io::FdFlags;
use rustix::mount::MountPropagationFlags;
use rustix::process::{Gid, Uid};
use rustix::thread::UnshareFlags;
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// The thread that starts sandboxes, and the state `S` that it keeps.
#[derive(Debug)]
pub(crate) struct Spawner<S> {
    jobs: mpsc::Sender<Job<S>>,
}

impl<S: 'static> Spawner<S> {
    /// Starts the thread, which makes its state with `prepare`. The thread ends when the last handle is dropped.
    pub(crate) fn new<E: Send + 'static>(
        prepare: impl FnOnce() -> Result<S, E> + Send + 'static,
    ) -> io::Result<Result<Self, E>> {
        let (jobs, inbox) = mpsc::channel::<Job<S>>();
        let (report, prepared) = mpsc::sync_channel(1);
        thread::Builder::new().name("sandboxes".to_owned()).spawn(move || match prepare() {
            Ok(mut state) => {
                _ = report.send(Ok(()));
                inbox.into_iter().for_each(|job| job(&mut state));
            }
            Err(error) => _ = report.send(Err(error)),
        })?;
        match prepared.recv() {
            Ok(result) => Ok(result.map(|()| Self { jobs })),
            Err(_) => Err(io::Error::other("the thread that starts sandboxes has ended")),
        }
    }

    /// Has the thread do `job`, without waiting for it.
    pub(crate) fn post(&self, job: impl FnOnce(&mut S) + Send + 'static) {
        // The thread ends only after its last handle, and `self` is one.
        _ = self.jobs.send(Box::new(job));
    }

    /// Has the thread do `job` and waits for what it returns.
    pub(crate) async fn run<T: Send + 'static>(&self, job: impl FnOnce(&mut S) -> T + Send + 'static) -> io::Result<T> {
        let (report, done) = oneshot::channel();
        self.post(move |state| _ = report.send(job(state)));
        done.await.map_err(|_| io::Error::other("the thread that starts sandboxes has panicked"))
    }
}

/// Gives the calling thread a mount table of its own. Later mounts of the machine still appear in it; its own are
/// seen by its children only.
#[expect(unsafe_code, reason = "the standard library cannot leave a namespace")]
pub(crate) fn leave_mount_table() -> rustix::io::Result<()> {
    // SAFETY: NEWNS unshares the thread's mount table and working directory, and no descriptors; the thread is the
    // spawner's own, whose code depends on neither.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)? };
    rustix::mount::mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
}

/// A program to start with nothing of the service's in it: an empty environment, no descriptors but those named.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// Descriptors that the program gets, under the numbers that they have here.
    pub(crate) inherited: Vec<OwnedFd>,
    /// Files into which a process writes `0` to join a group.
    pub(crate) groups: Vec<OwnedFd>,
    /// The user, and group of the same number, to become first; needs root.
    pub(crate) user: Option<u32>,
}

impl Launch {
    /// Starts it. Its standard error is piped. It is not killed when the child is dropped, but reaped when it ends.
    #[expect(unsafe_code, reason = "joining groups and dropping root happen between fork and exec")]
    #[expect(clippy::disallowed_methods, reason = "this is what starts sandboxes")]
    pub(crate) fn start(self, runtime: &Handle) -> io::Result<Child> {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let Self { inherited, groups, user, .. } = self;
        // SAFETY: the closure only makes system calls, on descriptors and numbers that were there before the fork: it
        // neither allocates nor takes a lock.
        unsafe {
            command.pre_exec(move || {
                for group in &groups {
                    rustix::io::write(group, b"0")?;
                }
                close_on_exec();
                for fd in &inherited {
                    rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
                }
                rustix::process::umask(Mode::WGRP | Mode::WOTH);
                user.map_or(Ok(()), become_user)
            });
        }
        let _entered = runtime.enter();
        tokio::process::Command::from(command).spawn()
    }
}

/// Marks everything but the standard streams to be closed by exec. Kernels before 5.11 refuse; there this relies on
/// what is already so marked, and on *init*, which closes what it inherits.
#[expect(unsafe_code, reason = "no safe function offers this call")]
fn close_on_exec() {
    // SAFETY: the call changes flags of descriptors and touches no memory.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

fn become_user(id: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// The number under which a descriptor is known here and, once inherited, in the program.
pub(crate) fn number(fd: &OwnedFd) -> String {
    fd.as_raw_fd().to_string()
}
