//! *Init*: process 1 of every sandbox, which runs commands for the service and for nobody else.
//!
//! It gets the number of an inherited control socket as its only argument. Each message there carries one stream,
//! and each stream one request (see [`wire`]); nothing inside the sandbox has a name or a descriptor by which to
//! reach either. One thread and one `poll` do everything, so that *init* answers and kills even when commands have
//! used up every process that the sandbox may have. When the control socket ends, so does *init*, and the kernel
//! kills whatever else is in the sandbox.

mod command;
mod files;
mod forward;
mod session;
mod sys;
mod wire;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::time::Instant;

use command::Leftovers;
use forward::Forwarder;
use session::Session;
use sys::{Reaped, Slot};
use wire::{Reply, Why};

/// How many streams are served at once; further ones wait in the control socket.
const SESSIONS: usize = 64;

/// What every session may touch.
struct World {
    setup: wire::Setup,
    forwarder: Option<Forwarder>,
    leftovers: Leftovers,
    badness: Badness,
}

/// *Init*'s own standing with the kernel's memory killer, raised for the instant in which a command is forked.
struct Badness(Option<File>);

impl Badness {
    /// Opened before [`sys::hide`], after which the file belongs to nobody inside.
    fn open() -> Self {
        Self(OpenOptions::new().read(true).write(true).open("/proc/self/oom_score_adj").ok())
    }

    /// Runs `fork` so that the child is killed for memory before *init* is. Without the file it just runs it.
    fn raised<T>(&mut self, fork: impl FnOnce() -> T) -> T {
        let Some(file) = &mut self.0 else { return fork() };
        let mut before = [0; 8];
        let length = file.read(&mut before).unwrap_or(0);
        _ = file.write_all(b"900");
        let result = fork();
        _ = file.write_all(&before[..length]);
        _ = file.rewind();
        result
    }
}

fn main() {
    let control = std::env::args().nth(1).and_then(|number| number.parse().ok());
    let started = control.ok_or(io::ErrorKind::InvalidInput.into()).and_then(sys::adopt).and_then(|control| {
        let badness = Badness::open();
        sys::die_with_parent()?;
        sys::hide()?;
        Ok((control, badness, sys::reset_signals()?))
    });
    match started {
        Ok((control, badness, signals)) => serve(&control, File::from(signals), badness),
        Err(error) => {
            eprintln!("init: {error}");
            std::process::exit(2);
        }
    }
}

/// Serves until the service is gone.
fn serve(control: &OwnedFd, mut signals: File, badness: Badness) {
    let nothing = wire::Setup { processes: u64::MAX, data: u64::MAX, file_size: u64::MAX, gateway: String::new() };
    let mut world = World { setup: nothing, forwarder: None, leftovers: Leftovers::default(), badness };
    let mut sessions: Vec<Session> = Vec::new();
    if sys::greet(control).is_err() {
        return;
    }
    loop {
        let killing = sessions.iter().any(Session::is_killing);
        let accepts = !killing && sessions.len() < SESSIONS;
        let mut fds = Vec::new();
        let child = Slot::watch(&mut fds, &signals, sys::IN);
        let service = Slot::watch(&mut fds, control, if accepts { sys::IN } else { 0 });
        sessions.iter_mut().for_each(|session| session.watch(&mut fds, killing));
        world.leftovers.watch(&mut fds);
        if let Some(forwarder) = &mut world.forwarder {
            forwarder.watch(&mut fds);
        }
        sys::wait_for(&mut fds, timeout(&sessions));

        if service.seen(&fds, sys::GONE) {
            return;
        }
        if child.seen(&fds, sys::IN) {
            _ = signals.read(&mut [0; 2048]);
        }
        sessions.retain_mut(|session| session.turn(&fds, &mut world));
        world.leftovers.turn(&fds);
        if let Some(forwarder) = &mut world.forwarder {
            forwarder.turn(&fds);
        }
        reap(&mut sessions);
        if service.seen(&fds, sys::IN) {
            match sys::receive(control) {
                Ok(Some(stream)) => sessions.extend(stream.and_then(Session::new)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

/// Takes the ending of every process that has ended, whoever started it, and tells the session it belonged to.
fn reap(sessions: &mut [Session]) {
    loop {
        match sys::reap() {
            Reaped::Process(pid, ending) => sessions.iter_mut().for_each(|session| session.ended(pid, ending)),
            Reaped::NoneYet => return,
            Reaped::NoChildren => return sessions.iter_mut().for_each(Session::all_gone),
        }
    }
}

/// Milliseconds until the next deadline, rounded up; -1 without one.
fn timeout(sessions: &[Session]) -> i32 {
    let Some(next) = sessions.iter().filter_map(Session::deadline).min() else { return -1 };
    let left = next.saturating_duration_since(Instant::now());
    i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
}

/// The reply for what the kernel refused.
fn refusal(error: &io::Error) -> Reply {
    let why = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Why::Missing,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Why::Denied,
        io::ErrorKind::InvalidInput => Why::BadRequest,
        _ => Why::Refused,
    };
    Reply::Failed { why, text: error.to_string() }
}
