//! One running command: its process, its pipes, its time limit, and the moment at which it counts as over.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::sys::{self, Ending, PollFd, Resource, Slot};
use crate::wire::{CHUNK, How, Reply, Run, Setup, Why};
use crate::{Badness, refusal};

/// For how long after the end of its main process a command may still hold its output open.
const GRACE: Duration = Duration::from_millis(200);
/// How many left-over output pipes are kept empty; the oldest is closed for a further one.
const LEFTOVERS: usize = 64;
/// How often the members of a session are looked up again while killing it, since some may be forking.
const ROUNDS: usize = 20;

/// A command whose last word has not been said.
pub(crate) struct Running {
    pid: i32,
    began: Instant,
    limit: Instant,
    timed_out: bool,
    main: Option<Main>,
    output: Option<File>,
    output_slot: Slot,
    input: Option<ChildStdin>,
    input_slot: Slot,
    /// Input not yet written, and whether more may come.
    pending: VecDeque<u8>,
    more_input: bool,
}

/// The end of the main process.
struct Main {
    ending: Ending,
    at: Instant,
    /// Output that was in the pipe by then: it is delivered however slow the service reads.
    owed: usize,
}

impl Running {
    pub(crate) fn start(run: &Run, setup: &Setup, badness: &mut Badness) -> Result<Self, Reply> {
        if !Path::new(&run.directory).is_dir() {
            return Err(Reply::Failed { why: Why::NoDirectory, text: String::new() });
        }
        let (program, arguments) =
            run.argv.split_first().ok_or_else(|| refusal(&io::ErrorKind::InvalidInput.into()))?;
        let (output, writer) = io::pipe().map_err(|error| refusal(&error))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(run.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&run.directory)
            .stdin(if run.input { Stdio::piped() } else { Stdio::null() })
            .stdout(writer.try_clone().map_err(|error| refusal(&error))?)
            .stderr(writer);
        let limits = [
            (Resource::Core, 0),
            (Resource::FileSize, setup.file_size),
            (Resource::Data, setup.data),
            (Resource::Processes, setup.processes),
        ];
        let began = Instant::now();
        let mut child = badness.raised(|| sys::start(&mut command, limits)).map_err(|error| refusal(&error))?;
        let output = File::from(OwnedFd::from(output));
        let input = child.stdin.take();
        let prepared = sys::set_nonblocking(&output).and_then(|()| input.as_ref().map_or(Ok(()), sys::set_nonblocking));
        let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
        if let Err(error) = prepared {
            kill_session(pid);
            return Err(refusal(&error));
        }
        Ok(Self {
            pid,
            began,
            limit: began + Duration::from_millis(run.time_limit.min(u64::from(u32::MAX))),
            timed_out: false,
            main: None,
            output: Some(output),
            output_slot: Slot::NONE,
            input,
            input_slot: Slot::NONE,
            pending: VecDeque::new(),
            more_input: run.input,
        })
    }

    /// Whether a further frame of input is welcome: only one is held at a time, which is the back-pressure.
    pub(crate) fn wants_input(&self) -> bool {
        self.more_input && self.pending.is_empty()
    }

    /// Takes input; `None` is its end. Input that nobody reads any more is thrown away.
    pub(crate) fn input(&mut self, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) if self.input.is_some() => self.pending = bytes.into(),
            Some(_) => {}
            None => self.more_input = false,
        }
        self.feed();
    }

    /// Writes held input if the command has become ready for it.
    pub(crate) fn feed_if_ready(&mut self, fds: &[PollFd]) {
        if self.input_slot.seen(fds, sys::OUT | sys::GONE) {
            self.feed();
        }
    }

    fn feed(&mut self) {
        while let Some(input) = &mut self.input {
            if self.pending.is_empty() {
                if !self.more_input {
                    self.input = None;
                }
                return;
            }
            match input.write(self.pending.as_slices().0) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.input = None;
                    self.pending.clear();
                }
            }
        }
    }

    /// Notes that process `pid` has ended, if it is this command's main process.
    pub(crate) fn note_end(&mut self, pid: i32, ending: Ending) {
        if pid == self.pid && self.main.is_none() {
            let owed = self.output.as_ref().map_or(0, sys::queued);
            self.main = Some(Main { ending, at: Instant::now(), owed });
        }
    }

    /// When this command needs to be looked at even if nothing happens. Once its main process has ended, only
    /// `room` for a reply moves it on: what is owed waits for the service, not for a clock.
    pub(crate) fn deadline(&self, room: bool) -> Option<Instant> {
        match &self.main {
            None => (!self.timed_out).then_some(self.limit),
            Some(main) if room && self.output.is_none() => Some(main.at),
            Some(main) => (room && main.owed == 0).then_some(main.at + GRACE),
        }
    }

    pub(crate) fn watch(&mut self, fds: &mut Vec<PollFd>, room: bool) {
        // A pipe at its end is ready for ever: it is asked only when the answer can be used.
        self.output_slot = match &self.output {
            Some(output) if room => Slot::watch(fds, output, sys::IN),
            _ => Slot::NONE,
        };
        self.input_slot = match &self.input {
            Some(input) if !self.pending.is_empty() => Slot::watch(fds, input, sys::OUT),
            _ => Slot::NONE,
        };
    }

    /// Moves on what has become possible. The reply to send next, if there is one and `room` for it.
    pub(crate) fn turn(&mut self, fds: &[PollFd], room: bool, leftovers: &mut Leftovers) -> Option<Reply> {
        if self.main.is_none() && !self.timed_out && Instant::now() >= self.limit {
            self.timed_out = true;
            kill_session(self.pid);
        }
        if !room {
            return None;
        }
        let over = self.finish(leftovers);
        if over.is_some() || !self.output_slot.seen(fds, sys::IN | sys::GONE) {
            return over;
        }
        self.read().map(Reply::Output).or_else(|| self.finish(leftovers))
    }

    /// The next piece of output; `None` at the end of the pipe and when it is empty.
    fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; CHUNK];
        match self.output.as_mut()?.read(&mut bytes) {
            Ok(0) => self.output = None,
            Ok(count) => {
                bytes.truncate(count);
                if let Some(main) = &mut self.main {
                    main.owed = main.owed.saturating_sub(count);
                }
                return Some(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.output = None,
        }
        None
    }

    fn finish(&mut self, leftovers: &mut Leftovers) -> Option<Reply> {
        let main = self.main.as_ref()?;
        if self.output.is_some() && (main.owed > 0 || Instant::now() < main.at + GRACE) {
            return None;
        }
        let how = match main.ending {
            _ if self.timed_out => How::TimedOut,
            Ending::Exit(code) => How::Exit(code),
            Ending::Signal(number) => How::Signal(number),
        };
        let micros = u64::try_from((main.at - self.began).as_micros()).unwrap_or(u64::MAX);
        leftovers.keep(self.output.take());
        Some(Reply::Ended { how, micros })
    }

    /// Kills everything that this command started and that has not left its session.
    pub(crate) fn kill(&self) {
        kill_session(self.pid);
    }
}

/// Kills the group of `leader`, then whoever else is in its session: shells with job control and test runners
/// give their children groups of their own.
fn kill_session(leader: i32) {
    sys::kill_group(leader);
    for _ in 0..ROUNDS {
        let members = session_members(leader);
        if members.is_empty() {
            return;
        }
        members.into_iter().for_each(sys::kill_process);
    }
}

fn session_members(leader: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid > 1 && is_live_member(*pid, leader)).collect()
}

fn is_live_member(pid: i32, leader: i32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { return false };
    // The second field is the program's name in brackets, which may itself hold brackets and spaces.
    let Some(name_end) = stat.iter().rposition(|byte| *byte == b')') else { return false };
    let text = String::from_utf8_lossy(&stat[name_end + 1..]);
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next().unwrap_or("Z");
    let session = fields.nth(2).and_then(|field| field.parse::<i32>().ok());
    session == Some(leader) && !matches!(state, "Z" | "X")
}

/// Output pipes of background processes whose command is over. They are kept open and empty, so that a server that
/// a command left running is not killed by its next line of log.
#[derive(Default)]
pub(crate) struct Leftovers(VecDeque<(File, Slot)>);

impl Leftovers {
    fn keep(&mut self, output: Option<File>) {
        self.0.extend(output.map(|output| (output, Slot::NONE)));
        if self.0.len() > LEFTOVERS {
            self.0.pop_front();
        }
    }

    pub(crate) fn watch(&mut self, fds: &mut Vec<PollFd>) {
        for (output, slot) in &mut self.0 {
            *slot = Slot::watch(fds, output, sys::IN);
        }
    }

    pub(crate) fn turn(&mut self, fds: &[PollFd]) {
        self.0.retain_mut(|(output, slot)| {
            if !slot.seen(fds, sys::IN | sys::GONE) {
                return true;
            }
            match output.read(&mut [0; 4096]) {
                Ok(count) => count > 0,
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            }
        });
    }
}
