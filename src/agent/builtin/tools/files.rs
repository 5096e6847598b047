//! Reading and writing whole files.

use serde::Deserialize;
use serde_json::Value;

use super::{Done, RESULT, arguments, check_path, refused, shown};
use crate::agent::text;
use crate::sandbox::{self, Sandbox};

/// How much of a file is looked at: what a sandbox reads at most.
pub(super) const FILE: usize = 16 << 20;
/// Lines in one answer, unless fewer are asked for.
const LINES: usize = 2_000;
/// Bytes of one line.
const LINE: usize = 2_000;

#[derive(Debug, Deserialize)]
struct ReadArguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct WriteArguments {
    path: String,
    content: String,
}

pub(super) async fn read(sandbox: &Sandbox, input: &Value) -> Result<Done, sandbox::Error> {
    let given = match arguments::<ReadArguments>(input).and_then(|given| check_path(&given.path).map(|()| given)) {
        Ok(given) => given,
        Err(why) => return Ok(Done::failed("read nothing", why)),
    };
    let name = shown(&given.path);
    match sandbox.read(&given.path, FILE).await {
        Ok(bytes) => Ok(match page(&bytes, given.offset.unwrap_or(1), given.limit.unwrap_or(LINES)) {
            Ok(page) => Done::ok(format!("read {name}"), page),
            Err(why) => Done::failed(format!("could not read {name}"), why),
        }),
        Err(error) => Ok(Done::failed(format!("could not read {name}"), refused(error)?)),
    }
}

pub(super) async fn write(sandbox: &Sandbox, input: &Value) -> Result<Done, sandbox::Error> {
    let given = match arguments::<WriteArguments>(input).and_then(|given| check_path(&given.path).map(|()| given)) {
        Ok(given) => given,
        Err(why) => return Ok(Done::failed("wrote nothing", why)),
    };
    let (name, lines) = (shown(&given.path), given.content.lines().count());
    match sandbox.write(&given.path, given.content.as_bytes()).await {
        Ok(()) => Ok(Done::ok(format!("wrote {name} ({lines} lines)"), format!("wrote {lines} lines"))),
        Err(error) => Ok(Done::failed(format!("could not write {name}"), refused(error)?)),
    }
}

/// Lines with their numbers, from line `first` on, as many as are asked for and fit.
fn page(bytes: &[u8], first: usize, limit: usize) -> Result<String, String> {
    if bytes.is_empty() {
        return Ok("[the file is empty]".to_owned());
    }
    if bytes[..bytes.len().min(8_000)].contains(&0) {
        return Err(format!("a binary file; its first {} bytes hold a NUL", bytes.len().min(8_000)));
    }
    let content = String::from_utf8_lossy(bytes);
    let total = content.lines().count();
    let first = first.max(1);
    if first > total {
        return Err(format!("`offset` {first} is past the end: the file has {total} lines"));
    }
    let mut page = String::new();
    let mut next = first;
    for line in content.lines().skip(first - 1).take(limit.clamp(1, LINES)) {
        let line = text::head(line, LINE);
        if page.len() + line.len() > RESULT {
            break;
        }
        page.push_str(&format!("{next:>6}\t{line}\n"));
        next += 1;
    }
    if next <= total {
        let more = if bytes.len() == FILE { " at least" } else { "" };
        page.push_str(&format!("[lines {first} to {} of{more} {total}; go on with offset {next}]", next - 1));
    }
    Ok(page)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn lines_come_with_their_numbers() {
        assert_eq!(page(b"one\ntwo\r\n\nfour", 1, 99).unwrap(), "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n");
        assert_eq!(page(b"one\ntwo\nthree\n", 2, 1).unwrap(), "     2\ttwo\n[lines 2 to 2 of 3; go on with offset 3]");
        assert_eq!(page(b"", 1, 99).unwrap(), "[the file is empty]");
    }

    #[test]
    fn a_long_file_comes_in_parts_that_join_up() {
        let file: String = (1..=9_000).map(|n| format!("line {n} {}\n", "x".repeat(n % 90))).collect();
        let (mut first, mut seen) = (1, 0);
        while first <= 9_000 {
            let page = page(file.as_bytes(), first, usize::MAX).unwrap();
            assert!(page.len() < RESULT + 20 * LINES);
            let lines = page.lines().filter(|line| line.contains("\tline "));
            for line in lines {
                seen += 1;
                assert!(line.starts_with(&format!("{seen:>6}\tline {seen} ")), "{line}");
            }
            first = seen + 1;
        }
        assert_eq!(seen, 9_000);
    }

    #[test]
    fn an_endless_line_does_not_fill_the_answer() {
        let page = page(&vec![b'x'; 1 << 20], 1, 5).unwrap();
        assert!(page.len() < LINE + 20 && page.ends_with("…\n"));
    }

    #[test]
    fn what_cannot_be_shown_is_said() {
        assert!(page(b"\x7fELF\0\0", 1, 5).unwrap_err().contains("binary"));
        assert!(page(b"one\n", 5, 5).unwrap_err().contains("the file has 1 lines"));
        assert_eq!(page(b"caf\xe9\n", 0, 0).unwrap(), "     1\tcaf\u{fffd}\n");
    }
}
