//! Commands.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Done, RESULT, arguments, refused};
use crate::agent::text;
use crate::sandbox::{self, Command, End, Finished, Output, Program, Sandbox};

/// How long a command may take if the model does not say.
pub(super) const DEFAULT_SECONDS: u64 = 120;
/// How long it may take at most.
pub(super) const MAX_SECONDS: u64 = 600;
/// The longest command: the kernel takes no argument of 128 KiB.
const COMMAND: usize = 100_000;

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    timeout: Option<u64>,
}

pub(super) async fn call(sandbox: &Sandbox, input: &Value) -> Result<Done, sandbox::Error> {
    let (line, limit) = match checked(input) {
        Ok(checked) => checked,
        Err(why) => return Ok(Done::failed("ran nothing", why)),
    };
    let command = Command {
        program: Program::Shell(line.clone()),
        directory: String::new(),
        environment: BTreeMap::new(),
        input: None,
        time_limit: limit,
        keep_output: RESULT,
    };
    match sandbox.run(&command).await {
        Ok(finished) => Ok(told(&line, limit, &finished)),
        Err(error) => Ok(Done::failed(format!("could not run {}", first_line(&line)), refused(error)?)),
    }
}

fn checked(input: &Value) -> Result<(String, Duration), String> {
    let Arguments { command, timeout } = arguments(input)?;
    let seconds = timeout.unwrap_or(DEFAULT_SECONDS);
    if command.trim().is_empty() {
        Err("the command is empty".to_owned())
    } else if command.contains('\0') {
        Err("the command holds a NUL".to_owned())
    } else if command.len() > COMMAND {
        Err(format!("the command is longer than {COMMAND} bytes; write a file and run that"))
    } else if !(1..=MAX_SECONDS).contains(&seconds) {
        Err(format!("`timeout` is from 1 to {MAX_SECONDS} seconds"))
    } else {
        Ok((command, Duration::from_secs(seconds)))
    }
}

fn told(line: &str, limit: Duration, finished: &Finished) -> Done {
    let (short, long) = match finished.end {
        End::Exit(code) => (code.to_string(), format!("exit status {code}")),
        End::Signal(number) => (format!("signal {number}"), format!("killed by signal {number}")),
        End::TimedOut => {
            let seconds = limit.as_secs();
            (format!("stopped after {seconds} s"), format!("stopped after {seconds} s, its time limit"))
        }
        End::OutOfMemory { limit } => {
            let mib = limit >> 20;
            ("out of memory".to_owned(), format!("killed for memory; the sandbox has {mib} MiB"))
        }
    };
    let mut output = printed(&finished.output);
    text::end_line(&mut output);
    let nothing = if output.is_empty() { "no output; " } else { "" };
    let output = format!("{output}[{nothing}{long}]");
    Done::ok(format!("ran {} → {short}", first_line(line)), output)
}

/// Head and tail as text. Bytes that are no text may take three times as many, so the bound is held once more.
fn printed(output: &Output) -> String {
    let (head, tail) = (text::plain(&output.head), text::plain(&output.tail));
    let whole = if output.cut > 0 { text::join(&head, &tail, output.cut) } else { head + &tail };
    text::ends(&whole, RESULT + RESULT / 10)
}

/// Enough of a command to know it again.
fn first_line(line: &str) -> String {
    let line = text::clean(line);
    let mut lines = line.lines().filter(|line| !line.trim().is_empty());
    let first = text::head(lines.next().unwrap_or_default().trim(), 100);
    if lines.next().is_some() && !first.ends_with('…') { first + " …" } else { first }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    fn finished(end: End, head: &[u8], tail: &[u8], cut: u64) -> Finished {
        let output = Output { head: head.to_vec(), tail: tail.to_vec(), cut };
        Finished { end, duration: Duration::from_millis(3), output }
    }

    #[test]
    fn arguments_are_bounded() {
        let (line, limit) = checked(&json!({"command": "cargo test"})).unwrap();
        assert_eq!((line.as_str(), limit.as_secs()), ("cargo test", 120));
        assert_eq!(checked(&json!({"command": "x", "timeout": 600})).unwrap().1.as_secs(), 600);
        for bad in [
            json!({"command": " \n"}),
            json!({"command": "a\u{0}b"}),
            json!({"command": "x".repeat(COMMAND + 1)}),
            json!({"command": "x", "timeout": 0}),
            json!({"command": "x", "timeout": 601}),
            json!({"command": "x", "timeout": -1}),
            json!({"command": "x", "timeout": 1e300}),
            json!({"command": ["x"]}),
        ] {
            assert!(checked(&bad).is_err(), "{bad:.80}");
        }
    }

    #[test]
    fn how_a_command_ended_stands_after_what_it_printed() {
        let limit = Duration::from_secs(5);
        for (end, summary, output) in [
            (End::Exit(0), "ran cargo test → 0", "ok\n[exit status 0]"),
            (End::Exit(101), "ran cargo test → 101", "ok\n[exit status 101]"),
            (End::Signal(9), "ran cargo test → signal 9", "ok\n[killed by signal 9]"),
            (End::TimedOut, "ran cargo test → stopped after 5 s", "ok\n[stopped after 5 s, its time limit]"),
            (
                End::OutOfMemory { limit: 2 << 30 },
                "ran cargo test → out of memory",
                "ok\n[killed for memory; the sandbox has 2048 MiB]",
            ),
        ] {
            let done = told("cargo test", limit, &finished(end, b"ok", b"", 0));
            assert_eq!((done.summary.as_str(), done.output.as_str(), done.failed), (summary, output, false));
        }
        assert_eq!(told("true", limit, &finished(End::Exit(0), b"", b"", 0)).output, "[no output; exit status 0]");
    }

    #[test]
    fn a_flood_is_cut_in_the_middle_and_says_so() {
        let done = told("yes", Duration::ZERO, &finished(End::Exit(0), b"first\n", b"last\n", 123));
        assert_eq!(done.output, "first\n[… 123 bytes left out …]\nlast\n[exit status 0]");
        let noise = vec![0xff; RESULT / 2];
        let done = told("cat", Duration::ZERO, &finished(End::Exit(3), &noise, &noise, 1 << 30));
        assert!(done.output.len() < RESULT + RESULT / 5 && done.output.ends_with("[exit status 3]"));
    }

    #[test]
    fn a_long_command_is_named_by_its_first_line() {
        assert_eq!(first_line("\ncargo test\n"), "cargo test");
        assert_eq!(first_line("cat > a <<E\nx\nE\n"), "cat > a <<E …");
        assert_eq!(first_line(&"é".repeat(500)).chars().count(), 51);
    }
}
