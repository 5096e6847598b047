//! Seeded mutations of verdicts and of garbage. The judge is `serde_json` on the raw text, which shares no code with
//! the reader under test.

use serde_json::Value;

use super::super::*;
use super::FULL;

const ROUNDS: u64 = 50_000;

const PIECES: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\\"",
    "\n",
    "```",
    "```json\n",
    "\n```\n",
    "~~~",
    "true",
    "false",
    "null",
    "\"approved\"",
    "\"approved\":true",
    "\"approved\":false,",
    "{\"approved\":true}",
    "{\"approved\":false}",
    "\\u0000",
    "\\ud800",
    "\\udfff",
    "\\ud83d\\ude00",
    "\\u0061",
    "\0",
    "\u{feff}",
    "é",
    "課",
    "1e999",
    "-0",
    "99999999999999999999999",
    "base:",
    ":0",
    ":4294967296",
    "\"F1\"",
    "\"findings\":",
    "[[[[[[[[[[[[[[[[",
    "]]]]]]]]]]]]]]]]",
    "{\"a\":{\"a\":{\"a\":",
    " ",
    "\r\n",
];

fn mutate(rng: &mut fastrand::Rng, text: &mut Vec<char>) {
    let at = rng.usize(..=text.len());
    let to = (at + rng.usize(..24)).min(text.len());
    let piece: Vec<char> = rng.choice(PIECES).unwrap_or_default().chars().collect();
    match rng.u8(..6) {
        0 => drop(text.drain(at..to)),
        1 => drop(text.splice(at..at, piece)),
        2 => drop(text.splice(at..to, piece)),
        3 => {
            let copy = text[at..to].to_vec();
            let there = rng.usize(..=text.len());
            drop(text.splice(there..there, copy));
        }
        4 => text.truncate(at),
        _ => text.insert(at, rng.char(..)),
    }
}

fn seed(rng: &mut fastrand::Rng) -> String {
    let approving = FULL.replacen("false", "true", 1);
    let json = match rng.u8(..5) {
        0 => FULL,
        1 => &approving,
        2 => "{\"approved\":true}",
        3 => "{\"approved\":false,\"findings\":[{\"cite\":\"a:1\"}]}",
        _ => return (0..rng.usize(..60)).map(|_| rng.choice(PIECES).unwrap_or_default()).collect(),
    };
    match rng.u8(..4) {
        0 => format!("I looked.\n```json\n{json}\n```\n"),
        1 => format!("```\n{json}\n```\n~~~json\n{json}\n~~~\n"),
        _ => json.to_owned(),
    }
}

fn mutated(rng: &mut fastrand::Rng) -> String {
    let mut text: Vec<char> = seed(rng).chars().collect();
    for _ in 0..rng.usize(..5) {
        mutate(rng, &mut text);
    }
    text.into_iter().collect()
}

/// Lone surrogates are the one thing that is read here and refused by `serde_json`; none of them is a letter of `approved`.
fn without_surrogates(text: &str) -> String {
    text.replace("\\ud", "\\u0").replace("\\uD", "\\u0")
}

fn approved(value: &Value) -> Option<bool> {
    value.get("approved").and_then(Value::as_bool)
}

/// What every top-level object that starts anywhere in the text, and is intact, says of approval.
fn intact_verdicts(text: &str) -> Vec<bool> {
    let from = |(at, _)| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok();
    text.match_indices('{').filter_map(from).filter_map(|value| approved(&value)).collect()
}

fn assert_within_limits(verdict: &Verdict, input: &str) {
    assert!(verdict.findings.len() <= 200 && verdict.score.is_none_or(|s| s <= 100), "{input}");
    assert!(verdict.criteria.iter().all(|c| c.status != CriterionStatus::Pass || !c.evidence.is_empty()), "{input}");
    assert!(!format!("{verdict:?}").contains("\\0"), "{input}");
}

#[test]
fn nothing_but_an_intact_approval_in_a_message_is_read_as_one() {
    let mut rng = fastrand::Rng::with_seed(0x5ec0_4d2e);
    let mut seen = [0_u32; 3];
    for _ in 0..ROUNDS {
        let message = mutated(&mut rng);
        let Reading::Verdict(verdict) = read(&[], &message) else {
            seen[0] += 1;
            continue;
        };
        seen[1 + usize::from(verdict.approved)] += 1;
        assert!(intact_verdicts(&without_surrogates(&message)).contains(&verdict.approved), "{message}");
        assert_within_limits(&verdict, &message);
    }
    assert!(seen.iter().all(|n| *n > 1_000), "the mutations reach too little: {seen:?}");
}

#[test]
fn a_tool_call_is_read_as_what_any_json_reader_finds_in_it() {
    let mut rng = fastrand::Rng::with_seed(0x7001_ca11);
    let mut seen = [0_u32; 3];
    for _ in 0..ROUNDS {
        let call = mutated(&mut rng);
        let plain = serde_json::from_str::<Value>(&without_surrogates(&call));
        match read(std::slice::from_ref(&call), "") {
            Reading::Verdict(verdict) => {
                seen[usize::from(verdict.approved)] += 1;
                assert_eq!(plain.ok().as_ref().and_then(approved), Some(verdict.approved), "{call}");
                assert_within_limits(&verdict, &call);
            }
            Reading::None { why: Unreadable::DuplicateKey { .. } | Unreadable::TooDeep } => seen[2] += 1,
            Reading::None { why: Unreadable::NotJson { .. } } => assert!(plain.is_err(), "{call}"),
            Reading::None { why } => {
                assert_eq!(why, Unreadable::MissingApproved, "{call}");
                assert_eq!(plain.ok().as_ref().and_then(approved), None, "{call}");
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 100), "the mutations reach too little: {seen:?}");
}

#[test]
fn two_verdicts_that_disagree_are_never_read_whatever_stands_around_them() {
    let mut rng = fastrand::Rng::with_seed(0xd15a_94ee);
    let pair = ["{\"approved\":true}\n", "{\"approved\":false}\n"];
    let mut judged = 0;
    for _ in 0..2_000 {
        let mut parts = pair.map(|json| format!("```json\n{json}```")).to_vec();
        parts.push(format!("```json\n{}\n```", mutated(&mut rng)));
        parts.push(mutated(&mut rng));
        rng.shuffle(&mut parts);
        let message = parts.join("\n");
        let pieces = fences::split(&message);
        let stands = |json: &str| {
            pieces.iter().any(|p| matches!(p, fences::Piece::Block { info: "json", text, .. } if *text == json))
        };
        // A mutation may have swallowed one of the two in a fence of its own.
        if pair.into_iter().all(stands) {
            judged += 1;
            assert!(matches!(read(&[], &message), Reading::None { .. }), "{message}");
        }
    }
    assert!(judged > 1_000, "only {judged} messages kept both");
}
