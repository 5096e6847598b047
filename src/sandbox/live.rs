//! A started sandbox: the same for every backend, since each has the same *init* inside.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::net::UnixStream;

use super::link::{self, Failure};
use super::output::Kept;
use super::wire::{FILE, FRAME, How, Message, Reply, Request, Run};
use super::{Boxed, Command, End, Error, Finished, Limits, Output, Program, WORK};

/// How long *init* may be late before it is taken for stuck. Generous, since what runs beside it may use up the
/// processor time that the whole sandbox has.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a backend keeps of a sandbox that it has started. Dropping it kills everything inside.
pub(crate) trait Body: Send + Sync {
    /// A new stream to *init*.
    fn open(&self) -> Boxed<'_, Result<UnixStream, Error>>;

    /// How often the kernel has killed something in this sandbox for memory; `None` where it does not count.
    fn memory_kills(&self) -> Option<u64>;

    /// Kills everything inside, now.
    fn kill(&self);

    /// Kills everything inside and returns when it is gone.
    fn end(self: Box<Self>) -> Boxed<'static, Result<(), Error>>;
}

/// A started sandbox. Commands may run side by side; dropping a command's future kills that command, dropping the
/// sandbox kills all.
pub struct Sandbox {
    body: Box<dyn Body>,
    environment: BTreeMap<String, String>,
    limits: Limits,
}

impl Sandbox {
    pub(crate) fn new(body: Box<dyn Body>, environment: BTreeMap<String, String>, limits: Limits) -> Self {
        Self { body, environment, limits }
    }

    /// Runs a command to its end and keeps the head and tail of what it prints.
    ///
    /// A command is over when its main process has ended and its output is at its end, or 200 ms after the former if
    /// a background process still holds the output. Such a process lives on until
    /// [`kill_commands`](Self::kill_commands) or [`end`](Self::end); what it prints afterwards is thrown away.
    pub async fn run(&self, command: &Command) -> Result<Finished, Error> {
        let mut kept = Kept::new(command.keep_output);
        let mut finished = self.stream(command, &mut |bytes| kept.take(bytes)).await?;
        finished.output = kept.finish();
        Ok(finished)
    }

    /// Like [`run`](Self::run), but hands the output to `sink` as it comes, in pieces of at most 64 KiB, and keeps
    /// none. A slow `sink` slows the command, not the other way round.
    pub async fn stream(&self, command: &Command, sink: &mut (dyn FnMut(&[u8]) + Send)) -> Result<Finished, Error> {
        let request = self.request(command)?;
        let program = request.argv[0].clone();
        let directory = command.directory.as_str();
        let kills_before = self.body.memory_kills();
        let request = Request::Run(request);
        let talk = self.ask(&request, command.input.as_deref(), |reply| match reply {
            Reply::Output(bytes) => {
                sink(&bytes);
                None
            }
            Reply::Ended { how, micros } => Some((how, micros)),
            Reply::Data(_) | Reply::Done | Reply::Failed { .. } => None,
        });
        let (how, micros) = self
            .within(command.time_limit, talk)
            .await?
            .map_err(|failure| failure.about_program(&program, directory))?;
        let killed_for_memory = self.body.memory_kills() > kills_before;
        Ok(Finished {
            end: self.end_of(how, killed_for_memory),
            duration: Duration::from_micros(micros),
            output: Output::default(),
        })
    }

    /// The first `max` bytes of a regular file, at most 16 MiB. A relative path is under the work tree.
    pub async fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, Error> {
        let request = Request::Read { path: inside(path), max: max.min(FILE) as u64 };
        let mut content = Vec::new();
        let talk = self.ask(&request, None, |reply| match reply {
            Reply::Data(bytes) => {
                content.extend(bytes);
                None
            }
            Reply::Done => Some(()),
            Reply::Output(_) | Reply::Ended { .. } | Reply::Failed { .. } => None,
        });
        self.within(Duration::ZERO, talk).await?.map_err(|failure| failure.about_path(path))?;
        Ok(content)
    }

    /// Replaces the content of a regular file, at most 16 MiB, or makes it and its parents. A relative path is under
    /// the work tree.
    pub async fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() > FILE {
            return Err(Error::TooLarge { path: path.to_owned(), max: FILE });
        }
        let request = Request::Write { path: inside(path) };
        let talk = self.ask(&request, Some(bytes), |reply| until_done(&reply));
        self.within(Duration::ZERO, talk).await?.map_err(|failure| failure.about_path(path))
    }

    /// Kills every process that any command has started, detached ones too, and returns when they are gone.
    pub async fn kill_commands(&self) -> Result<(), Error> {
        let talk = self.ask(&Request::KillAll, None, |reply| until_done(&reply));
        self.within(Duration::ZERO, talk).await?.map_err(|failure| failure.about_path(WORK))
    }

    /// Ends the sandbox and returns when every process in it is gone and nothing of it is left on the machine.
    pub async fn end(self) -> Result<(), Error> {
        self.body.end().await
    }

    async fn ask<T>(
        &self,
        request: &Request,
        input: Option<&[u8]>,
        each: impl FnMut(Reply) -> Option<T>,
    ) -> Result<Result<T, Failure>, Error> {
        let stream = self.body.open().await?;
        Ok(link::converse(stream, request, input, each).await)
    }

    /// Kills the sandbox if *init* is late with an answer that it owes after `limit`.
    async fn within<T>(&self, limit: Duration, talk: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let patience = limit.saturating_add(PATIENCE);
        tokio::time::timeout(patience, talk).await.unwrap_or_else(|_| {
            self.body.kill();
            Err(Error::Unresponsive(patience))
        })
    }

    fn request(&self, command: &Command) -> Result<Run, Error> {
        let argv = match &command.program {
            Program::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            Program::Argv(argv) => argv.clone(),
        };
        if argv.is_empty() {
            return Err(bad("it has no program"));
        }
        let below = command.directory.split('/').all(|part| part != "..") && !command.directory.starts_with('/');
        if !below {
            return Err(bad("its directory is not below the work tree"));
        }
        let mut environment = self.environment.clone();
        environment.extend(command.environment.clone());
        let run = Run {
            argv,
            environment: environment.into_iter().collect(),
            directory: inside(&command.directory),
            time_limit: u64::try_from(command.time_limit.as_millis()).unwrap_or(u64::MAX),
            input: command.input.is_some(),
        };
        if Request::Run(run.clone()).encode().len() > FRAME {
            return Err(bad("its arguments and environment are longer than 1 MiB"));
        }
        Ok(run)
    }

    fn end_of(&self, how: How, killed_for_memory: bool) -> End {
        match how {
            How::Exit(0) => End::Exit(0),
            _ if killed_for_memory => End::OutOfMemory { limit: self.limits.memory },
            How::Exit(code) => End::Exit(code),
            How::Signal(number) => End::Signal(number),
            How::TimedOut => End::TimedOut,
        }
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn bad(why: &str) -> Error {
    Error::BadCommand { why: why.to_owned() }
}

fn until_done(reply: &Reply) -> Option<()> {
    matches!(reply, Reply::Done).then_some(())
}

/// The path as *init* is to open it.
fn inside(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{WORK}/{path}") }
}
