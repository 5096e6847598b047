//! What the service and *init* say to each other over one stream, as length-prefixed binary frames.
//!
//! A frame is its length (four bytes, little-endian, counting what follows), one byte of kind, and a body. The
//! file is compiled twice: into the service and into *init*. It knows nothing of how the stream came to be,
//! so that any reliable byte stream will do. Nothing is ever read out of what a command prints.

/// The longest frame, its kind byte included: enough for any argument list that Linux accepts for most programs.
pub(crate) const FRAME: usize = 1 << 20;
/// How many raw bytes (output, input, a file's content) travel in one frame.
pub(crate) const CHUNK: usize = 64 << 10;
/// The largest file that can be read or written in one request.
pub(crate) const FILE: usize = 16 << 20;

/// A frame that breaks the rules: too long, of an unknown kind, or cut inside a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What the service asks for. The first frame of a stream decides what the stream is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Once, first: what holds for every later command.
    Setup(Setup),
    /// Run a command; `Input` frames follow if it said so.
    Run(Run),
    /// Bytes for the command's standard input, or of the file to write.
    Input(Vec<u8>),
    /// The end of those bytes.
    InputEnd,
    /// Read the first `max` bytes of a regular file.
    Read { path: String, max: u64 },
    /// Write a regular file, its parents made; its content follows as `Input` frames and an `InputEnd`.
    Write { path: String },
    /// Kill every process but *init*, and answer when they are gone.
    KillAll,
}

/// What holds for every command of this sandbox; [`u64::MAX`] is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Processes and threads, where no group of the kernel counts them.
    pub(crate) processes: u64,
    /// Bytes of data of one process, where no group of the kernel counts memory.
    pub(crate) data: u64,
    /// The largest file that a command may write.
    pub(crate) file_size: u64,
    /// The unix socket to which `127.0.0.1:8080` is forwarded; empty for none.
    pub(crate) gateway: String,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Program and arguments; never empty.
    pub(crate) argv: Vec<String>,
    /// The whole environment: nothing of *init*'s own is passed on.
    pub(crate) environment: Vec<(String, String)>,
    /// Working directory.
    pub(crate) directory: String,
    /// Wall-clock limit in milliseconds.
    pub(crate) time_limit: u64,
    /// Whether `Input` frames follow; otherwise standard input is at its end at once.
    pub(crate) input: bool,
}

/// What *init* answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Bytes that the command printed.
    Output(Vec<u8>),
    /// The command is over; the last frame of its stream.
    Ended { how: How, micros: u64 },
    /// Bytes of the file that was asked for.
    Data(Vec<u8>),
    /// Done; the last frame of any other stream.
    Done,
    /// Not done; the last frame of its stream.
    Failed { why: Why, text: String },
}

/// How a command ended, from `waitpid` and from *init*'s own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// Why a request was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// No such program or file.
    Missing,
    /// No such working directory.
    NoDirectory,
    /// There, but a directory, link, pipe, socket or device.
    NotRegular,
    /// Permission was refused.
    Denied,
    /// More than a request may move.
    TooLarge,
    /// The kernel refused for another reason, which the text says.
    Refused,
    /// The request itself breaks the protocol.
    BadRequest,
}

impl Why {
    const ALL: [(u8, Self); 7] = [
        (7, Self::NoDirectory),
        (1, Self::Missing),
        (2, Self::NotRegular),
        (3, Self::Denied),
        (4, Self::TooLarge),
        (5, Self::Refused),
        (6, Self::BadRequest),
    ];

    fn number(self) -> u8 {
        Self::ALL.iter().find(|(_, why)| *why == self).map_or(0, |(number, _)| *number)
    }

    fn from_number(number: u8) -> Result<Self, Malformed> {
        Self::ALL.iter().find(|(n, _)| *n == number).map(|(_, why)| *why).ok_or(Malformed)
    }
}

/// What can be put into a frame and taken out of one.
pub(crate) trait Message: Sized {
    /// The frame, its length first.
    fn encode(&self) -> Vec<u8>;

    /// Reads a frame whose length has been taken off.
    fn decode(frame: &[u8]) -> Result<Self, Malformed>;
}

impl Message for Request {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Setup(setup) => Body::new(1)
                .number(setup.processes)
                .number(setup.data)
                .number(setup.file_size)
                .text(&setup.gateway)
                .frame(),
            Self::Run(run) => Body::new(2)
                .number(run.time_limit)
                .number(u64::from(run.input))
                .text(&run.directory)
                .list(&run.argv, Body::text_of)
                .list(&run.environment, |body, (name, value)| body.text(name).text(value))
                .frame(),
            Self::Input(bytes) => Body::new(3).raw(bytes).frame(),
            Self::InputEnd => Body::new(4).frame(),
            Self::Read { path, max } => Body::new(5).number(*max).text(path).frame(),
            Self::Write { path } => Body::new(6).text(path).frame(),
            Self::KillAll => Body::new(7).frame(),
        }
    }

    fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let (kind, mut rest) = Rest::open(frame)?;
        let request = match kind {
            1 => Self::Setup(Setup {
                processes: rest.number()?,
                data: rest.number()?,
                file_size: rest.number()?,
                gateway: rest.text()?,
            }),
            2 => Self::Run(Run {
                time_limit: rest.number()?,
                input: rest.number()? != 0,
                directory: rest.text()?,
                argv: rest.list(Rest::text)?,
                environment: rest.list(|rest| Ok((rest.text()?, rest.text()?)))?,
            }),
            3 => Self::Input(rest.raw()),
            4 => Self::InputEnd,
            5 => Self::Read { max: rest.number()?, path: rest.text()? },
            6 => Self::Write { path: rest.text()? },
            7 => Self::KillAll,
            _ => return Err(Malformed),
        };
        rest.close(request)
    }
}

impl Message for Reply {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Output(bytes) => Body::new(64).raw(bytes).frame(),
            Self::Ended { how, micros } => {
                let (kind, value) = match how {
                    How::Exit(code) => (0, *code),
                    How::Signal(signal) => (1, *signal),
                    How::TimedOut => (2, 0),
                };
                Body::new(65).number(kind).number(u64::from(value.cast_unsigned())).number(*micros).frame()
            }
            Self::Data(bytes) => Body::new(66).raw(bytes).frame(),
            Self::Done => Body::new(67).frame(),
            Self::Failed { why, text } => Body::new(68).number(u64::from(why.number())).text(text).frame(),
        }
    }

    fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let (kind, mut rest) = Rest::open(frame)?;
        let reply = match kind {
            64 => Self::Output(rest.raw()),
            65 => {
                let (kind, value) = (rest.number()?, rest.number()?);
                let value = u32::try_from(value).map_err(|_| Malformed)?.cast_signed();
                let how = match kind {
                    0 => How::Exit(value),
                    1 => How::Signal(value),
                    2 => How::TimedOut,
                    _ => return Err(Malformed),
                };
                Self::Ended { how, micros: rest.number()? }
            }
            66 => Self::Data(rest.raw()),
            67 => Self::Done,
            68 => {
                let why = u8::try_from(rest.number()?).map_err(|_| Malformed)?;
                Self::Failed { why: Why::from_number(why)?, text: rest.text()? }
            }
            _ => return Err(Malformed),
        };
        rest.close(reply)
    }
}

/// The length that a frame's first four bytes announce.
pub(crate) fn frame_length(bytes: [u8; 4]) -> Result<usize, Malformed> {
    let length = usize::try_from(u32::from_le_bytes(bytes)).map_err(|_| Malformed)?;
    if length == 0 || length > FRAME { Err(Malformed) } else { Ok(length) }
}

/// A frame in the making.
struct Body(Vec<u8>);

impl Body {
    fn new(kind: u8) -> Self {
        Self(vec![0, 0, 0, 0, kind])
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn number(self, number: u64) -> Self {
        self.raw(&number.to_le_bytes())
    }

    fn text(self, text: &str) -> Self {
        self.number(text.len() as u64).raw(text.as_bytes())
    }

    #[expect(clippy::ptr_arg, reason = "the shape that `list` hands out")]
    fn text_of(self, text: &String) -> Self {
        self.text(text)
    }

    fn list<T>(self, items: &[T], each: impl Fn(Self, &T) -> Self) -> Self {
        items.iter().fold(self.number(items.len() as u64), each)
    }

    /// The frame with its length. One that is too long keeps an impossible length, which the reader refuses.
    fn frame(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// What is left to read of a frame.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn open(frame: &'a [u8]) -> Result<(u8, Self), Malformed> {
        let (kind, rest) = frame.split_first().ok_or(Malformed)?;
        Ok((*kind, Self(rest)))
    }

    fn raw(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let (number, rest) = self.0.split_first_chunk::<8>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Result<String, Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| Malformed)
    }

    /// A list; its announced length is believed only as far as bytes follow.
    fn list<T>(&mut self, each: impl Fn(&mut Self) -> Result<T, Malformed>) -> Result<Vec<T>, Malformed> {
        let length = self.number()?;
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(each(self)?);
        }
        Ok(items)
    }

    fn close<T>(self, value: T) -> Result<T, Malformed> {
        if self.0.is_empty() { Ok(value) } else { Err(Malformed) }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn requests() -> Vec<Request> {
        let run = Run {
            argv: vec!["sh".to_owned(), "-c".to_owned(), "echo \u{e9}\n".to_owned()],
            environment: vec![("A".to_owned(), String::new())],
            directory: "/work/a b".to_owned(),
            time_limit: u64::MAX,
            input: true,
        };
        let setup = Setup { processes: 1, data: u64::MAX, file_size: 3, gateway: "/run/g".to_owned() };
        vec![
            Request::Setup(setup),
            Request::Run(run),
            Request::Input(vec![0, 255, 10]),
            Request::InputEnd,
            Request::Read { path: "x".to_owned(), max: 9 },
            Request::Write { path: "y".to_owned() },
            Request::KillAll,
        ]
    }

    fn replies() -> Vec<Reply> {
        let ended = |how| Reply::Ended { how, micros: 17 };
        let mut replies = vec![Reply::Output(vec![0; CHUNK]), Reply::Data(Vec::new()), Reply::Done];
        replies.extend([How::Exit(255), How::Exit(-1), How::Signal(9), How::TimedOut].map(ended));
        replies.extend(Why::ALL.map(|(_, why)| Reply::Failed { why, text: "no".to_owned() }));
        replies
    }

    /// The frame without its length, which must be right.
    fn frame(bytes: &[u8]) -> &[u8] {
        let (length, frame) = bytes.split_first_chunk().unwrap();
        assert_eq!(frame_length(*length), Ok(frame.len()));
        frame
    }

    #[test]
    fn what_is_sent_is_what_arrives() {
        for request in requests() {
            assert_eq!(Request::decode(frame(&request.encode())), Ok(request));
        }
        for reply in replies() {
            assert_eq!(Reply::decode(frame(&reply.encode())), Ok(reply));
        }
    }

    #[test]
    fn a_frame_that_is_cut_is_refused_or_something_shorter_but_no_panic() {
        for bytes in requests().iter().map(Request::encode).chain(replies().iter().map(Reply::encode)) {
            for end in 4..bytes.len().min(300) {
                _ = Request::decode(&bytes[4..end]);
                _ = Reply::decode(&bytes[4..end]);
            }
        }
        assert_eq!(Request::decode(&[]), Err(Malformed));
        assert_eq!(Reply::decode(&[65, 0]), Err(Malformed));
    }

    #[test]
    fn a_length_that_nobody_may_announce_is_refused_before_it_is_believed() {
        for length in [0, FRAME + 1, usize::MAX] {
            let announced = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
            assert_eq!(frame_length(announced), Err(Malformed));
        }
        let endless_list = [&[2][..], &[0; 24], &u64::MAX.to_le_bytes()].concat();
        assert_eq!(Request::decode(&endless_list), Err(Malformed));
    }

    #[test]
    fn bytes_after_the_end_of_a_message_are_refused() {
        let mut frame = Reply::Done.encode().split_off(4);
        frame.push(0);
        assert_eq!(Reply::decode(&frame), Err(Malformed));
    }

    #[test]
    fn too_long_a_request_does_not_pass_for_a_shorter_one() {
        let bytes = Request::Input(vec![0; FRAME]).encode();
        assert_eq!(frame_length(*bytes.first_chunk().unwrap()), Err(Malformed));
    }
}
