//! From JSON to a verdict. What decides (`approved`) must be right; everything else is taken as far as it makes sense,
//! so that one odd field never costs a whole review.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value;

use super::{CriterionRuling, CriterionStatus, Finding, Ruling, RulingKind, Severity, Uncited, Unreadable, Verdict};
use super::{cite, json};

/// The longest text of a verdict that is kept, in bytes.
pub(in crate::cycle) const MOST_TEXT: usize = 8 << 10;

/// The longest evidence for a criterion that is kept, in bytes.
const MOST_EVIDENCE: usize = 2 << 10;

/// How many findings of one verdict are kept.
const MOST_FINDINGS: usize = 200;

/// How many rulings or answers are read: 200 findings in each of 20 passes.
pub(in crate::cycle) const MOST_RULINGS: usize = 4_000;

/// How many criteria are read; a run has at most 12.
const MOST_CRITERIA: usize = 100;

/// The longest id, in bytes; the service's own have two to six.
const MOST_ID: usize = 32;

/// What stands at the end of a text that was cut.
const CUT: &str = " […cut]";

/// Reads one verdict from its JSON text.
pub(super) fn verdict(text: &str) -> Result<Verdict, Unreadable> {
    let json = json::read(text)?;
    let approved = json.get("approved").and_then(Value::as_bool).ok_or(Unreadable::MissingApproved)?;
    Ok(Verdict {
        approved,
        digest: words(&json, "digest", MOST_TEXT),
        summary: words(&json, "summary", MOST_TEXT),
        findings: findings(&json),
        rulings: rulings(&json),
        criteria: criteria(&json),
        score: json.get("score").and_then(Value::as_u64).and_then(|n| u8::try_from(n).ok()).filter(|n| *n <= 100),
    })
}

fn findings(json: &Value) -> Vec<Finding> {
    let given = items(json, "findings");
    if given.len() <= MOST_FINDINGS {
        return given.iter().map(finding).collect();
    }
    let mut kept: Vec<_> = given.iter().take(MOST_FINDINGS - 1).map(finding).collect();
    kept.push(left_out(given.len() - kept.len()));
    kept
}

fn finding(item: &Value) -> Finding {
    Finding {
        severity: severity(item),
        citation: cite::of(item),
        text: if item.is_object() { words(item, "text", MOST_TEXT) } else { cut(&spoken(item), MOST_TEXT) },
        evidence: words(item, "evidence", MOST_TEXT),
    }
}

fn left_out(count: usize) -> Finding {
    let why = Uncited::LeftOut { count };
    let text = why.to_string();
    Finding { severity: Severity::Low, citation: Err(why), text, evidence: String::new() }
}

fn severity(item: &Value) -> Severity {
    match keyword(item, "severity").as_str() {
        "blocker" => Severity::Blocker,
        "high" => Severity::High,
        "low" => Severity::Low,
        // Not low: under approval that would turn an objection into a remark.
        _ => Severity::Medium,
    }
}

fn rulings(json: &Value) -> Vec<Ruling> {
    let given = items(json, "rulings").iter().take(MOST_RULINGS).filter_map(ruling);
    let told = once_per_id(given.map(|r| (r.id.clone(), r)), |a, b| a.ruling == b.ruling);
    told.into_values().flatten().collect()
}

fn ruling(item: &Value) -> Option<Ruling> {
    let ruling = match keyword(item, "ruling").as_str() {
        "closed" => RulingKind::Closed,
        "still_open" => RulingKind::StillOpen,
        "met" => RulingKind::Met,
        "not_met" => RulingKind::NotMet,
        "cannot_judge" => RulingKind::CannotJudge,
        _ => return None,
    };
    Some(Ruling { id: id(item)?, ruling, note: words(item, "note", MOST_TEXT) })
}

fn criteria(json: &Value) -> Vec<CriterionRuling> {
    let given = items(json, "criteria").iter().take(MOST_CRITERIA).filter_map(criterion);
    let told = once_per_id(given.map(|c| (c.id.clone(), c)), |a, b| a.status == b.status);
    let unknown = |id| CriterionRuling { id, status: CriterionStatus::Unknown, evidence: String::new() };
    told.into_iter().map(|(id, ruling)| ruling.unwrap_or_else(|| unknown(id))).collect()
}

fn criterion(item: &Value) -> Option<CriterionRuling> {
    let evidence = words(item, "evidence", MOST_EVIDENCE);
    let status = match keyword(item, "status").as_str() {
        "pass" if evidence.chars().any(char::is_alphanumeric) => CriterionStatus::Pass,
        "fail" => CriterionStatus::Fail,
        _ => CriterionStatus::Unknown,
    };
    Some(CriterionRuling { id: id(item)?, status, evidence })
}

/// The entries under a key: a list as it is, nothing for null, and anything else as its only entry.
pub(in crate::cycle) fn items<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    match json.get(key) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(items)) => items,
        Some(one) => std::slice::from_ref(one),
    }
}

/// The id that an entry speaks of, in upper case as the service writes them; nothing if it is no usable id.
pub(in crate::cycle) fn id(item: &Value) -> Option<String> {
    let id = item.get("id")?.as_str()?.trim();
    let usable = (1..=MOST_ID).contains(&id.len()) && !id.contains(char::is_control);
    usable.then(|| id.to_ascii_uppercase())
}

/// A field that holds one of a few words, in the form that they are compared in: `still_open` for "Still open".
pub(in crate::cycle) fn keyword(item: &Value, key: &str) -> String {
    let word = item.get(key).and_then(Value::as_str).unwrap_or_default();
    word.trim().to_lowercase().replace([' ', '-'], "_")
}

/// Keeps one entry per id: the first of those that agree, nothing for an id whose entries contradict one another.
pub(in crate::cycle) fn once_per_id<T>(
    entries: impl Iterator<Item = (String, T)>,
    agree: impl Fn(&T, &T) -> bool,
) -> BTreeMap<String, Option<T>> {
    let mut told = BTreeMap::new();
    for (id, entry) in entries {
        match told.entry(id) {
            Entry::Vacant(place) => drop(place.insert(Some(entry))),
            Entry::Occupied(mut place) => {
                if !place.get().as_ref().is_some_and(|first| agree(first, &entry)) {
                    place.insert(None);
                }
            }
        }
    }
    told
}

/// A field's text: trimmed, without NUL, cut to `most` bytes; empty if there is none.
pub(in crate::cycle) fn words(item: &Value, key: &str, most: usize) -> String {
    cut(item.get(key).map(spoken).unwrap_or_default().trim(), most)
}

/// What a value of the wrong type most likely meant to say; null, booleans and empty lists say nothing.
fn spoken(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(spoken).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Removes NUL and cuts a text to at most `most` bytes between two characters, with a mark where it was cut.
pub(in crate::cycle) fn cut(text: &str, most: usize) -> String {
    let mut text = text.replace('\0', "");
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most.saturating_sub(CUT.len())));
        text.push_str(CUT);
    }
    text
}
