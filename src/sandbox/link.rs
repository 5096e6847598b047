//! Speaking to *init* over one stream: a request out, replies in, dropped at any time.

use std::convert::Infallible;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::Error;
use super::wire::{self, CHUNK, Malformed, Message, Reply, Request, Why};

/// What a request was refused for, in *init*'s words.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) why: Why,
    pub(crate) text: String,
}

/// How a conversation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// *Init* answered, and the answer is no.
    Refused(Refusal),
    /// *Init* is gone or does not speak our language.
    Lost,
}

/// Sends `request` and the `input` that belongs to it, and hands every reply to `each` until that returns a value.
///
/// Dropping the future closes the stream, upon which *init* gives the request up.
pub(crate) async fn converse<T>(
    mut stream: UnixStream,
    request: &Request,
    input: Option<&[u8]>,
    mut each: impl FnMut(Reply) -> Option<T>,
) -> Result<T, Failure> {
    let (reader, mut writer) = stream.split();
    let sending = async {
        // What cannot be sent shows in the replies: a refusal, or their end.
        _ = send(&mut writer, request, input).await;
        std::future::pending::<Infallible>().await
    };
    let receiving = async {
        let mut reader = BufReader::with_capacity(CHUNK + 8, reader);
        let mut frame = Vec::new();
        loop {
            read_frame(&mut reader, &mut frame).await.map_err(|_| Failure::Lost)?;
            match Reply::decode(&frame) {
                Ok(Reply::Failed { why, text }) => return Err(Failure::Refused(Refusal { why, text })),
                Ok(reply) => {
                    if let Some(value) = each(reply) {
                        return Ok(value);
                    }
                }
                Err(Malformed) => return Err(Failure::Lost),
            }
        }
    };
    tokio::select! {
        result = receiving => result,
        never = sending => match never {},
    }
}

async fn send(writer: &mut (impl AsyncWriteExt + Unpin), request: &Request, input: Option<&[u8]>) -> io::Result<()> {
    writer.write_all(&request.encode()).await?;
    let Some(input) = input else { return Ok(()) };
    for chunk in input.chunks(CHUNK) {
        writer.write_all(&Request::Input(chunk.to_vec()).encode()).await?;
    }
    writer.write_all(&Request::InputEnd.encode()).await
}

async fn read_frame(reader: &mut (impl AsyncReadExt + Unpin), frame: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 4];
    reader.read_exact(&mut length).await?;
    let length = wire::frame_length(length).map_err(|Malformed| io::ErrorKind::InvalidData)?;
    frame.resize(length, 0);
    reader.read_exact(frame).await.map(drop)
}

impl Failure {
    /// The port's error for a request about `path`.
    pub(crate) fn about_path(self, path: &str) -> Error {
        let path = path.to_owned();
        match self {
            Self::Lost => Error::Lost,
            Self::Refused(refusal) => match refusal.why {
                Why::Missing | Why::NoDirectory => Error::NoSuchPath { path },
                Why::NotRegular => Error::NotRegular { path },
                Why::Denied => Error::Denied { what: path },
                Why::TooLarge => Error::TooLarge { path, max: wire::FILE },
                Why::Refused | Why::BadRequest => Error::Refused { what: path, text: refusal.text },
            },
        }
    }

    /// The port's error for a command that begins with `program` and was to run in `directory`.
    pub(crate) fn about_program(self, program: &str, directory: &str) -> Error {
        let program = program.to_owned();
        match self {
            Self::Lost => Error::Lost,
            Self::Refused(refusal) => match refusal.why {
                Why::Missing => Error::NoSuchProgram { program },
                Why::NoDirectory => Error::NoSuchPath { path: directory.to_owned() },
                Why::Denied => Error::Denied { what: program },
                Why::BadRequest => Error::BadCommand { why: refusal.text },
                Why::Refused | Why::NotRegular | Why::TooLarge => Error::Refused { what: program, text: refusal.text },
            },
        }
    }
}
