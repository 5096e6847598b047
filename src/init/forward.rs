//! `127.0.0.1:8080` inside, carried to the gateway's unix socket: the sandbox has no network of its own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use crate::sys::{self, PollFd, Slot};

/// The port on which the gateway is seen inside.
const PORT: u16 = 8080;
/// How many connections are carried at once; further ones wait in the listener's queue.
const CONNECTIONS: usize = 64;
/// How much of one direction is held while its receiver is slow.
const BUFFER: usize = 32 << 10;

/// The listener and its connections.
pub(crate) struct Forwarder {
    gateway: String,
    listener: TcpListener,
    slot: Slot,
    connections: Vec<Connection>,
}

impl Forwarder {
    pub(crate) fn new(gateway: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", PORT))?;
        listener.set_nonblocking(true)?;
        Ok(Self { gateway: gateway.to_owned(), listener, slot: Slot::NONE, connections: Vec::new() })
    }

    pub(crate) fn watch(&mut self, fds: &mut Vec<PollFd>) {
        self.slot =
            if self.connections.len() < CONNECTIONS { Slot::watch(fds, &self.listener, sys::IN) } else { Slot::NONE };
        self.connections.iter_mut().for_each(|connection| connection.watch(fds));
    }

    pub(crate) fn turn(&mut self, fds: &[PollFd]) {
        self.connections.retain_mut(|connection| connection.turn(fds));
        if self.slot.seen(fds, sys::IN) {
            // A gateway that does not answer is a closed connection for the caller.
            self.connections.extend(self.accept().ok());
        }
    }

    fn accept(&self) -> io::Result<Connection> {
        let (inside, _) = self.listener.accept()?;
        inside.set_nonblocking(true)?;
        let outside = sys::connect_unix(&self.gateway)?;
        Ok(Connection { inside, outside, slots: [Slot::NONE; 2], up: Direction::default(), down: Direction::default() })
    }
}

struct Connection {
    inside: TcpStream,
    outside: UnixStream,
    slots: [Slot; 2],
    up: Direction,
    down: Direction,
}

impl Connection {
    fn watch(&mut self, fds: &mut Vec<PollFd>) {
        let inside = self.up.reads() | self.down.writes();
        let outside = self.down.reads() | self.up.writes();
        // A side of which nothing is wanted is left out: once it is shut it would be ready for ever.
        self.slots = [
            if inside == 0 { Slot::NONE } else { Slot::watch(fds, &self.inside, inside) },
            if outside == 0 { Slot::NONE } else { Slot::watch(fds, &self.outside, outside) },
        ];
    }

    /// Carries what has become possible; `false` when both directions are over or one side has failed.
    fn turn(&mut self, fds: &[PollFd]) -> bool {
        let [inside, outside] = self.slots.map(|slot| slot.seen(fds, sys::IN | sys::OUT | sys::GONE));
        if !inside && !outside {
            return true;
        }
        let (mut tcp, mut unix) = (&self.inside, &self.outside);
        let carried = self
            .up
            .carry(&mut tcp, &mut unix, || self.outside.shutdown(Shutdown::Write))
            .and_then(|()| self.down.carry(&mut unix, &mut tcp, || self.inside.shutdown(Shutdown::Write)));
        carried.is_ok() && !(self.up.over && self.down.over)
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Direction {
    held: Vec<u8>,
    ended: bool,
    over: bool,
}

impl Direction {
    fn reads(&self) -> i16 {
        if self.ended || !self.held.is_empty() { 0 } else { sys::IN }
    }

    fn writes(&self) -> i16 {
        if self.held.is_empty() { 0 } else { sys::OUT }
    }

    fn carry(
        &mut self,
        from: &mut impl Read,
        to: &mut impl Write,
        end: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if self.held.is_empty() && !self.ended {
            self.held.resize(BUFFER, 0);
            let count = not_blocked(from.read(&mut self.held))?;
            self.held.truncate(count.unwrap_or(0));
            self.ended = count == Some(0);
        }
        if !self.held.is_empty()
            && let Some(count) = not_blocked(to.write(&self.held))?
        {
            self.held.drain(..count);
        }
        if self.ended && self.held.is_empty() && !self.over {
            self.over = true;
            end()?;
        }
        Ok(())
    }
}

fn not_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
