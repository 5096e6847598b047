//! Changing one place in a file.

use serde::Deserialize;
use serde_json::Value;

use super::files::FILE;
use super::{Done, arguments, check_path, refused, shown};
use crate::agent::text;
use crate::sandbox::{self, Sandbox};

/// Places that are named when there is more than one.
const NAMED: usize = 5;
/// The most lines of `old`, and of the file, in which a place that almost fits is looked for.
const NEAR: (usize, usize) = (50, 20_000);
/// The most bytes of a place that almost fits which are shown.
const SHOWN: usize = 2_000;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    old: String,
    new: String,
}

pub(super) async fn call(sandbox: &Sandbox, input: &Value) -> Result<Done, sandbox::Error> {
    let given = match checked(input) {
        Ok(given) => given,
        Err(why) => return Ok(Done::failed("edited nothing", why)),
    };
    let name = shown(&given.path);
    let failed = |why| Ok(Done::failed(format!("could not edit {name}"), why));
    let bytes = match sandbox.read(&given.path, FILE).await {
        Ok(bytes) => bytes,
        Err(error) => return failed(refused(error)?),
    };
    let edited = match replace(&bytes, &given.old, &given.new) {
        Ok(edited) => edited,
        Err(why) => return failed(why),
    };
    if let Err(error) = sandbox.write(&given.path, edited.content.as_bytes()).await {
        return failed(refused(error)?);
    }
    let Edited { line, added, removed, .. } = edited;
    Ok(Done::ok(format!("edit {name} +{added} −{removed}"), format!("replaced at line {line}")))
}

fn checked(input: &Value) -> Result<Arguments, String> {
    let given: Arguments = arguments(input)?;
    check_path(&given.path)?;
    if given.old.is_empty() {
        Err("`old` is empty; use `write` to make a file".to_owned())
    } else if given.old == given.new {
        Err("`old` and `new` are the same".to_owned())
    } else {
        Ok(given)
    }
}

/// A file after a change.
#[derive(Debug, PartialEq, Eq)]
struct Edited {
    content: String,
    /// Where the change begins, from 1.
    line: usize,
    added: usize,
    removed: usize,
}

/// Puts `new` where `old` is, if that is one place. In a file with `\r\n`, line ends given as `\n` fit and stay `\r\n`.
fn replace(bytes: &[u8], old: &str, new: &str) -> Result<Edited, String> {
    if bytes.len() >= FILE {
        return Err(format!("the file has {FILE} bytes or more, too many to edit"));
    }
    let file =
        std::str::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text; change it by a command".to_owned())?;
    let windows = |text: &str| text.replace('\n', "\r\n");
    match unique(file, old) {
        Ok(at) => Ok(spliced(file, at, old, new)),
        Err(Miss::Absent) if file.contains("\r\n") && !old.contains('\r') => {
            let (old, new) = (windows(old), windows(&new.replace("\r\n", "\n")));
            let at = unique(file, &old).map_err(|miss| miss.told(file, &old))?;
            Ok(spliced(file, at, &old, &new))
        }
        Err(miss) => Err(miss.told(file, old)),
    }
}

fn spliced(file: &str, at: usize, old: &str, new: &str) -> Edited {
    let (before, after) = (&file[..at], &file[at + old.len()..]);
    let (added, removed) = changed_lines(old, new);
    Edited { content: [before, new, after].concat(), line: line_of(file, at), added, removed }
}

/// Why `old` is not one place.
#[derive(Debug, PartialEq, Eq)]
enum Miss {
    Absent,
    /// The first lines at which it begins, and whether there are more.
    Several(Vec<usize>, bool),
}

fn unique(file: &str, old: &str) -> Result<usize, Miss> {
    let first = file.find(old).ok_or(Miss::Absent)?;
    let mut lines = vec![line_of(file, first)];
    let mut from = first;
    loop {
        // One character on, since two places may overlap.
        from += file[from..].chars().next().map_or(1, char::len_utf8);
        match file[from..].find(old) {
            None if lines.len() == 1 => return Ok(first),
            None => return Err(Miss::Several(lines, false)),
            Some(_) if lines.len() == NAMED => return Err(Miss::Several(lines, true)),
            Some(at) => from += at,
        }
        lines.push(line_of(file, from));
    }
}

impl Miss {
    fn told(&self, file: &str, old: &str) -> String {
        match self {
            Self::Several(lines, more) => {
                let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
                let more = if *more { " and more" } else { "" };
                format!("`old` occurs at lines {}{more}; give more of what stands around it", lines.join(", "))
            }
            Self::Absent => match nearly(file, old) {
                Some((line, place)) => {
                    let place = text::ends(&place, SHOWN);
                    format!(
                        "`old` does not occur; from line {line} on the file differs from it only in white space:\n{place}"
                    )
                }
                None => "`old` does not occur in the file; read it again, and copy without the line numbers".to_owned(),
            },
        }
    }
}

/// Where the lines of `old` stand but for the white space around each, and those lines.
fn nearly(file: &str, old: &str) -> Option<(usize, String)> {
    let wanted: Vec<_> = old.trim().lines().map(str::trim).collect();
    let lines: Vec<_> = file.lines().collect();
    if wanted.is_empty() || wanted.len() > NEAR.0 || lines.len() > NEAR.1 {
        return None;
    }
    let fits = |place: &[&str]| place.iter().zip(&wanted).all(|(line, wanted)| line.trim() == *wanted);
    let at = lines.windows(wanted.len()).position(fits)?;
    Some((at + 1, lines[at..at + wanted.len()].join("\n")))
}

fn line_of(file: &str, at: usize) -> usize {
    file.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// How many lines `new` has that are not at the head or tail of `old`, and the other way round.
fn changed_lines(old: &str, new: &str) -> (usize, usize) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let least = old.len().min(new.len());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old.iter().rev().zip(new.iter().rev()).take(least - head).take_while(|(a, b)| a == b).count();
    (new.len() - head - tail, old.len() - head - tail)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_place_is_replaced_and_nothing_else_moves() {
        let edited = replace(b"one\ntwo\nthree\n", "two\n", "2\ntwo and a half\n").unwrap();
        assert_eq!(edited.content, "one\n2\ntwo and a half\nthree\n");
        assert_eq!((edited.line, edited.added, edited.removed), (2, 2, 1));
        assert_eq!(replace("né".as_bytes(), "é", "e").unwrap().content, "ne");
        assert_eq!(replace(b"a\nb\nc\n", "b\n", "").unwrap().content, "a\nc\n");
    }

    #[test]
    fn several_places_are_named_by_line() {
        let why = replace(b"x\ny\nx\n", "x", "z").unwrap_err();
        assert_eq!(why, "`old` occurs at lines 1, 3; give more of what stands around it");
        let why = replace("x\n".repeat(100).as_bytes(), "x", "z").unwrap_err();
        assert!(why.starts_with("`old` occurs at lines 1, 2, 3, 4, 5 and more"), "{why}");
        assert!(replace(b"aXaXa", "aXa", "b").unwrap_err().contains("occurs at lines 1, 1"), "places may overlap");
        assert!(replace("ééé".as_bytes(), "éé", "b").is_err());
    }

    #[test]
    fn a_place_that_differs_in_white_space_is_shown() {
        let file = b"fn a() {\n\tlet x = 1;\n\tx\n}\n";
        let why = replace(file, "    let x = 1;\n    x\n", "    2\n").unwrap_err();
        assert!(
            why.ends_with("from line 2 on the file differs from it only in white space:\n\tlet x = 1;\n\tx"),
            "{why}"
        );
        assert!(replace(file, "let y", "").unwrap_err().contains("does not occur in the file"));
        assert!(replace(b"", " ", "x").unwrap_err().contains("does not occur in the file"));
    }

    #[test]
    fn windows_line_ends_stay_as_they_are() {
        let edited = replace(b"one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n").unwrap();
        assert_eq!(edited.content, "1\r\n2\r\nthree\r\n");
        assert_eq!(replace(b"one\r\ntwo\r\n", "two", "2").unwrap().content, "one\r\n2\r\n");
        assert!(replace(b"one\r\ntwo\r\n", "two\nthree", "2").is_err());
    }

    #[test]
    fn what_is_not_text_or_too_large_is_refused_in_words() {
        assert!(replace(b"caf\xe9 au lait", "au", "ou").unwrap_err().contains("not UTF-8"));
        assert!(replace(&vec![b'a'; FILE], "b", "c").unwrap_err().contains("too many"));
    }

    #[test]
    fn arguments_that_change_nothing_are_refused_in_words() {
        assert!(checked(&json!({"path": "a", "old": "", "new": "x"})).unwrap_err().contains("use `write`"));
        assert!(checked(&json!({"path": "a", "old": "x", "new": "x"})).unwrap_err().contains("the same"));
    }

    #[test]
    fn lines_are_counted_as_a_diff_would() {
        assert_eq!(changed_lines("a\nb\nc\n", "a\nB\nB2\nc\n"), (2, 1));
        assert_eq!(changed_lines("a", "b"), (1, 1));
        assert_eq!(changed_lines("a\na\n", "a\na\na\n"), (1, 0));
        assert_eq!(changed_lines("x\n", ""), (0, 1));
    }

    #[test]
    fn looking_for_a_near_place_has_a_bound() {
        let file = "a\n".repeat(NEAR.1 + 1);
        assert_eq!(nearly(&file, " a"), None);
        assert_eq!(nearly("a\n", &"a\n".repeat(NEAR.0 + 1)), None);
    }
}
