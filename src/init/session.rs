//! One stream from the service: one request, its replies, its end. A stream that closes early cancels its request.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::command::Running;
use crate::forward::Forwarder;
use crate::sys::{self, Ending, PollFd, Slot};
use crate::wire::{self, CHUNK, FILE, Malformed, Message, Reply, Request, Why};
use crate::{World, files, refusal};

/// A stream and what it is about.
pub(crate) struct Session {
    stream: UnixStream,
    slot: Slot,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    state: State,
}

enum State {
    /// The request has not arrived as a whole.
    Waiting,
    Running(Running),
    /// The content of a file is arriving.
    Writing {
        path: String,
        content: Vec<u8>,
    },
    /// Everything was killed, and not everything is gone.
    Killing,
    /// The last reply is in the outbox.
    Closing,
}

impl Session {
    /// `None` if the stream is unusable; the service then sees it closed.
    pub(crate) fn new(stream: UnixStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self { stream, slot: Slot::NONE, inbox: Vec::new(), outbox: Vec::new(), state: State::Waiting })
    }

    pub(crate) fn is_killing(&self) -> bool {
        matches!(self.state, State::Killing)
    }

    /// Notes that a process has ended.
    pub(crate) fn ended(&mut self, pid: i32, ending: Ending) {
        if let State::Running(running) = &mut self.state {
            running.note_end(pid, ending);
        }
    }

    /// Notes that no process but *init* is left.
    pub(crate) fn all_gone(&mut self) {
        if self.is_killing() {
            self.close_with(&Reply::Done);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Running(running) => running.deadline(self.outbox.is_empty()),
            _ => None,
        }
    }

    /// Says what this session waits for. While everything is being killed no new request is read.
    pub(crate) fn watch(&mut self, fds: &mut Vec<PollFd>, killing: bool) {
        let reads = match &self.state {
            State::Waiting => !killing,
            State::Writing { .. } => true,
            State::Running(running) => running.wants_input(),
            State::Killing | State::Closing => false,
        };
        let events = if reads { sys::IN } else { 0 } | if self.outbox.is_empty() { 0 } else { sys::OUT };
        self.slot = Slot::watch(fds, &self.stream, events);
        if let State::Running(running) = &mut self.state {
            running.watch(fds, self.outbox.is_empty());
        }
    }

    /// Moves on what has become possible; `false` when the session is over.
    pub(crate) fn turn(&mut self, fds: &[PollFd], world: &mut World) -> bool {
        let gone = self.slot.seen(fds, sys::GONE) || (self.slot.seen(fds, sys::IN) && !self.receive());
        if gone {
            if let State::Running(running) = &self.state {
                running.kill();
            }
            return false;
        }
        // First, since the room that it makes may be for a frame that has arrived already.
        if let State::Running(running) = &mut self.state {
            running.feed_if_ready(fds);
        }
        self.handle_frames(world);
        if let State::Running(running) = &mut self.state
            && let Some(reply) = running.turn(fds, self.outbox.is_empty(), &mut world.leftovers)
        {
            self.outbox.extend(reply.encode());
            if matches!(reply, Reply::Ended { .. }) {
                self.state = State::Closing;
            }
        }
        self.flush();
        !(matches!(self.state, State::Closing) && self.outbox.is_empty())
    }

    fn receive(&mut self) -> bool {
        let mut bytes = vec![0; CHUNK];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.inbox.extend_from_slice(&bytes[..count]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    /// Sends what can be sent. A stream that fails is seen as gone in the next turn.
    fn flush(&mut self) {
        while !self.outbox.is_empty()
            && let Ok(count) = self.stream.write(&self.outbox)
        {
            self.outbox.drain(..count);
        }
    }

    fn handle_frames(&mut self, world: &mut World) {
        while self.is_listening() {
            let request = match first_frame(&self.inbox) {
                Ok(None) => return,
                Ok(Some((frame, length))) => {
                    let request = Request::decode(frame);
                    self.inbox.drain(..length);
                    request
                }
                Err(malformed) => Err(malformed),
            };
            match request {
                Ok(request) => self.handle(request, world),
                Err(Malformed) => self.fail(Why::BadRequest, "the frame breaks the protocol"),
            }
        }
    }

    fn is_listening(&self) -> bool {
        match &self.state {
            State::Waiting | State::Writing { .. } => true,
            State::Running(running) => running.wants_input(),
            State::Killing | State::Closing => false,
        }
    }

    fn handle(&mut self, request: Request, world: &mut World) {
        match (&mut self.state, request) {
            (State::Waiting, Request::Setup(setup)) => {
                let made = if setup.gateway.is_empty() { Ok(None) } else { Forwarder::new(&setup.gateway).map(Some) };
                match made {
                    Ok(forwarder) => {
                        world.forwarder = forwarder;
                        world.setup = setup;
                        self.close_with(&Reply::Done);
                    }
                    Err(error) => self.close_with(&refusal(&error)),
                }
            }
            (State::Waiting, Request::Run(run)) => match Running::start(&run, &world.setup, &mut world.badness) {
                Ok(running) => self.state = State::Running(running),
                Err(reply) => self.close_with(&reply),
            },
            (State::Waiting, Request::Read { path, max }) => self.read(&path, max),
            (State::Waiting, Request::Write { path }) => self.state = State::Writing { path, content: Vec::new() },
            (State::Waiting, Request::KillAll) => {
                sys::kill_everything();
                self.state = State::Killing;
            }
            (State::Writing { content, .. }, Request::Input(bytes)) => {
                content.extend_from_slice(&bytes);
                if content.len() > FILE {
                    self.fail(Why::TooLarge, "more than one request may write");
                }
            }
            (State::Writing { path, content }, Request::InputEnd) => {
                let reply = files::write(path, content).map_or_else(|reply| reply, |()| Reply::Done);
                self.close_with(&reply);
            }
            (State::Running(running), Request::Input(bytes)) => running.input(Some(bytes)),
            (State::Running(running), Request::InputEnd) => running.input(None),
            _ => self.fail(Why::BadRequest, "the request does not belong here"),
        }
    }

    fn read(&mut self, path: &str, max: u64) {
        match files::read(path, usize::try_from(max).unwrap_or(FILE).min(FILE)) {
            Ok(content) => {
                for chunk in content.chunks(CHUNK) {
                    self.outbox.extend(Reply::Data(chunk.to_vec()).encode());
                }
                self.close_with(&Reply::Done);
            }
            Err(reply) => self.close_with(&reply),
        }
    }

    fn fail(&mut self, why: Why, text: &str) {
        if let State::Running(running) = &self.state {
            running.kill();
        }
        self.close_with(&Reply::Failed { why, text: text.to_owned() });
    }

    fn close_with(&mut self, reply: &Reply) {
        self.outbox.extend(reply.encode());
        self.state = State::Closing;
    }
}

/// The first whole frame in `bytes`, its length taken off, and how many bytes it took; `None` if more must come.
fn first_frame(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let length = wire::frame_length(*length)?;
    Ok(rest.get(..length).map(|frame| (frame, 4 + length)))
}
