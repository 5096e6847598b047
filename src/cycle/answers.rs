//! What an implementer says became of the open obligations. All of it is a claim: it closes nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::verdict::fences::{self, Piece};
use super::verdict::json;
use super::verdict::parts::{MOST_RULINGS, MOST_TEXT, id, items, keyword, once_per_id, words};

/// An implementer's answer to one obligation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The obligation, such as `F1`; 1–32 bytes, upper case, not known to exist.
    pub id: String,
    /// What is claimed.
    pub answer: Claim,
}

/// What an implementer can claim of an obligation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The tree now has what was asked for.
    Fixed,
    /// The obligation is wrong.
    Disputed {
        /// Why: not empty, at most 8 KiB.
        reason: String,
    },
}

/// Reads the answers `{"answers":[{"id":"F1","answer":"fixed|disputed","note":"…"}]}` from the last message, fenced or
/// as the whole message; sorted by id, one per id.
///
/// A dispute without a reason is no answer, and neither are two that contradict. Anything that cannot be read gives
/// no answers, never an error: what is not answered stays open.
#[must_use]
pub fn read(last_message: &str) -> Vec<Answer> {
    if last_message.len() > json::MOST_BYTES {
        return Vec::new();
    }
    let blocks = fences::objects(last_message).unwrap_or_default().objects;
    let objects: Vec<Value> = blocks.into_iter().filter_map(|text| json::read(text).ok()).collect();
    let given = objects.iter().flat_map(|object| items(object, "answers")).take(MOST_RULINGS).filter_map(answer);
    once_per_id(given, same_claim).into_iter().filter_map(|(id, answer)| Some(Answer { id, answer: answer? })).collect()
}

/// The message with its list of answers as words for people, `- F1: fixed. Why`, and everything else as it stands.
#[must_use]
pub fn in_words(message: &str) -> String {
    let whole = fences::trim(message);
    if whole.starts_with('{') {
        return listed(whole).unwrap_or_else(|| message.to_owned());
    }
    let mut words = String::new();
    for piece in fences::split(message) {
        match piece {
            Piece::Unclosed => return message.to_owned(),
            Piece::Prose(text) => words.push_str(text),
            Piece::Block { info, text, whole } => {
                let answers = Some(text).filter(|t| fences::may_be_json(info, t)).and_then(|t| listed(fences::trim(t)));
                words.push_str(answers.as_deref().unwrap_or(whole));
            }
        }
    }
    words
}

/// `None` if the text is no list of answers.
fn listed(text: &str) -> Option<String> {
    let object = json::read(text).ok()?;
    let line = |item: &Value| {
        let note = Some(words(item, "note", MOST_TEXT)).filter(|n| !n.is_empty());
        let note = note.map_or_else(String::new, |n| format!(" {}", n.replace('\n', " ")));
        format!("- {}: {}.{note}\n", words(item, "id", MOST_TEXT), words(item, "answer", MOST_TEXT))
    };
    Some(object.get("answers")?.as_array()?.iter().take(MOST_RULINGS).map(line).collect())
}

fn answer(item: &Value) -> Option<(String, Claim)> {
    let claim = match keyword(item, "answer").as_str() {
        "fixed" => Claim::Fixed,
        "disputed" => Claim::Disputed { reason: Some(words(item, "note", MOST_TEXT)).filter(|r| !r.is_empty())? },
        _ => return None,
    };
    Some((id(item)?, claim))
}

fn same_claim(a: &Claim, b: &Claim) -> bool {
    match (a, b) {
        (Claim::Fixed, Claim::Fixed) | (Claim::Disputed { .. }, Claim::Disputed { .. }) => true,
        (Claim::Fixed, Claim::Disputed { .. }) | (Claim::Disputed { .. }, Claim::Fixed) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(id: &str) -> Answer {
        Answer { id: id.to_owned(), answer: Claim::Fixed }
    }

    fn disputed(id: &str, reason: &str) -> Answer {
        Answer { id: id.to_owned(), answer: Claim::Disputed { reason: reason.to_owned() } }
    }

    #[test]
    fn answers_are_read_from_a_fence_or_from_the_whole_message() {
        let json = r#"{"answers":[{"id":"F1","answer":"fixed","note":"see src/a.rs"},{"id":"F2","answer":"disputed","note":"by design"}]}"#;
        let both = vec![fixed("F1"), disputed("F2", "by design")];
        for message in [
            json.to_owned(),
            format!("Done.\n\n```json\n{json}\n```\nBye."),
            format!("```\n  {json}  \n```"),
            format!("```rust\nfn a() {{}}\n```\n ~~~ JSON\n{json}\n~~~"),
            format!("```json\n{json}\n```\n```json\n{json}\n```"),
            format!("```json\n{{\"approved\": true\n```\n```json\n{json}\n```"),
        ] {
            assert_eq!(read(&message), both, "{message}");
        }
    }

    #[test]
    fn an_entry_that_says_nothing_or_two_things_is_no_answer() {
        let table = [
            (r#"[{"id":"f7","answer":"Fixed"}]"#, vec![fixed("F7")]),
            (r#"{"id":"F1","answer":"fixed"}"#, vec![fixed("F1")]),
            (r#"[{"id":"F1","answer":"disputed"}]"#, vec![]),
            (r#"[{"id":"F1","answer":"disputed","note":" \u0000 \n"}]"#, vec![]),
            (r#"[{"id":"F1","answer":"disputed","note":null},{"id":"F1","answer":"fixed"}]"#, vec![fixed("F1")]),
            (r#"[{"id":"F1","answer":"disputed","note":["a","b"]}]"#, vec![disputed("F1", "a\nb")]),
            (
                r#"[{"id":"F1","answer":"fixed"},{"id":"F1","answer":"disputed","note":"x"},{"id":"F2","answer":"fixed"}]"#,
                vec![fixed("F2")],
            ),
            (
                r#"[{"id":"F1","answer":"fixed"},{"id":"F1","answer":"disputed","note":"x"},{"id":"F1","answer":"fixed"}]"#,
                vec![],
            ),
            (r#"[{"id":"F1","answer":"fixed"},{"id":"F1","answer":"fixed"}]"#, vec![fixed("F1")]),
            (
                r#"[{"id":"F1","answer":"disputed","note":"x"},{"id":"F1","answer":"disputed","note":"y"}]"#,
                vec![disputed("F1", "x")],
            ),
            (r#"[{"id":"NOBODY-KNOWS","answer":"fixed"}]"#, vec![fixed("NOBODY-KNOWS")]),
            (
                r#"[{"id":"F1","answer":"done"},{"answer":"fixed"},{"id":3,"answer":"fixed"},{"id":"","answer":"fixed"},7,null]"#,
                vec![],
            ),
            ("null", vec![]),
            ("\"fixed\"", vec![]),
        ];
        for (answers, result) in table {
            assert_eq!(read(&format!("{{\"answers\":{answers}}}")), result, "{answers}");
        }
        let long = format!(r#"{{"answers":[{{"id":"{}","answer":"fixed"}}]}}"#, "F".repeat(33));
        assert_eq!(read(&long), vec![]);
    }

    #[test]
    fn answers_in_two_blocks_that_contradict_are_none() {
        let block = |answer| {
            format!("```json\n{{\"answers\":[{{\"id\":\"F1\",\"answer\":\"{answer}\",\"note\":\"n\"}}]}}\n```\n")
        };
        assert_eq!(read(&(block("fixed") + &block("disputed"))), vec![]);
        assert_eq!(read(&(block("fixed") + &block("fixed"))), vec![fixed("F1")]);
    }

    #[test]
    fn people_read_the_answers_as_words_and_everything_else_as_it_stands() {
        let json =
            r#"{"answers":[{"id":"F1","answer":"fixed","note":"see\nsrc/a.rs"},{"id":"F2","answer":"disputed"}]}"#;
        let listed = "- F1: fixed. see src/a.rs\n- F2: disputed.\n";
        for (message, expected) in [
            (json.to_owned(), listed.to_owned()),
            (format!("Done.\n\n```json\n{json}\n```\nBye."), format!("Done.\n\n{listed}Bye.")),
            (format!("```rust\nfn a() {{}}\n```\n~~~\n{json}\n~~~"), format!("```rust\nfn a() {{}}\n```\n{listed}")),
        ] {
            assert_eq!(in_words(&message), expected);
        }
        for message in
            ["", "Done.", "```json\n{}\n```", "```json\n{\"answers\":", "{\"answers\": 7}", "```\n{\"a\":1}\n```\nx"]
        {
            assert_eq!(in_words(message), message);
        }
    }

    #[test]
    fn garbage_gives_no_answers() {
        let good = r#"{"answers":[{"id":"F1","answer":"fixed"}]}"#;
        let longest = format!("{good}{}", " ".repeat(json::MOST_BYTES - good.len()));
        assert_eq!(read(&longest), vec![fixed("F1")]);
        for message in [
            String::new(),
            "I fixed everything.".to_owned(),
            format!("See {good}"),
            format!("```json\n{good}"),
            format!("```json\n{good}{good}\n```"),
            r#"{"answers":[{"id":"F1","answer":"fixed","answer":"disputed"}]}"#.to_owned(),
            "[".repeat(200_000),
            format!("{good}{}", " ".repeat(json::MOST_BYTES)),
        ] {
            let short: String = message.chars().take(60).collect();
            assert_eq!(read(&message), vec![], "{short}");
        }
    }
}
