#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;

mod hostile;

const FULL: &str = r#"{
  "approved": false,
  "digest": "d1g35t",
  "summary": "Two things are wrong.",
  "findings": [
    {"severity": "blocker", "cite": "src/a.rs:10-12", "text": "It loses the last line.", "evidence": "See the loop."},
    {"severity": "low", "command": "cargo test x", "text": "x fails.", "evidence": "exit 101"}
  ],
  "rulings": [{"id": "F1", "ruling": "closed", "note": "Gone."}, {"id": "R1", "ruling": "met", "note": "src/b.rs:3"}],
  "criteria": [{"id": "C1", "status": "pass", "evidence": "cargo test y passes"}],
  "score": 40
}"#;

fn full() -> Verdict {
    let lines = Citation::Lines { path: "src/a.rs".into(), base: false, from: 10, to: 12 };
    let finding = |severity, citation, text: &str, evidence: &str| Finding {
        severity,
        citation: Ok(citation),
        text: text.into(),
        evidence: evidence.into(),
    };
    let ruling = |id: &str, ruling, note: &str| Ruling { id: id.into(), ruling, note: note.into() };
    Verdict {
        approved: false,
        digest: "d1g35t".into(),
        summary: "Two things are wrong.".into(),
        findings: vec![
            finding(Severity::Blocker, lines, "It loses the last line.", "See the loop."),
            finding(Severity::Low, Citation::Command("cargo test x".into()), "x fails.", "exit 101"),
        ],
        rulings: vec![ruling("F1", RulingKind::Closed, "Gone."), ruling("R1", RulingKind::Met, "src/b.rs:3")],
        criteria: vec![CriterionRuling {
            id: "C1".into(),
            status: CriterionStatus::Pass,
            evidence: "cargo test y passes".into(),
        }],
        score: Some(40),
    }
}

fn calls<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn verdict_of(json: &Value) -> Verdict {
    match read(&[json.to_string()], "") {
        Reading::Verdict(verdict) => verdict,
        Reading::None { why } => panic!("{why}: {json}"),
    }
}

fn none(why: Unreadable) -> Result<bool, Unreadable> {
    Err(why)
}

/// What a reading says of approval.
fn said(reading: Reading) -> Result<bool, Unreadable> {
    match reading {
        Reading::Verdict(verdict) => Ok(verdict.approved),
        Reading::None { why } => Err(why),
    }
}

#[test]
fn a_whole_verdict_is_read_from_the_tool_and_from_every_kind_of_fence() {
    assert_eq!(read(&calls([FULL]), "Done."), Reading::Verdict(full()));
    for message in [
        format!("```json\n{FULL}\n```"),
        format!("```\n{FULL}\n```"),
        format!("My view:\r\n\r\n  ``` JSON \r\n\r\n   {FULL}   \r\n  ```  \r\nBye."),
        format!("~~~~json\n{FULL}\n~~~~"),
        format!("\u{feff}\n {FULL} \n"),
    ] {
        assert_eq!(read(&[], &message), Reading::Verdict(full()), "{message}");
    }
}

#[test]
fn the_last_message_alone_decides_and_only_what_is_meant_as_a_verdict_counts() {
    let (yes, no) = ("```json\n{\"approved\":true}\n```\n", "```json\n{\"approved\":false}\n```\n");
    let broken = "```json\n{\"approved\":false,}\n```\n";
    let log = "```\nrunning 3 tests\nassert_eq!(kind, \"approved\")\n```\n";
    let package = "```json\n{\"name\":\"x\",\"scripts\":{}}\n```\n";
    let late_comma = Unreadable::NotJson { line: 1, column: 19 };
    let table = [
        (yes.to_owned(), Ok(true)),
        (no.to_owned(), Ok(false)),
        (format!("{yes}\n{yes}"), Ok(true)),
        (format!("{}{log}{package}{yes}", "tool output\n".repeat(200)), Ok(true)),
        (format!("```rust\nlet v = r#\"{{\"approved\":false}}\"#;\n```\n{yes}"), Ok(true)),
        (format!("Here \"approved\": true is meant.\n{yes}"), Ok(true)),
        (format!("{yes}{no}"), none(Unreadable::Contradiction)),
        (format!("{no}{yes}"), none(Unreadable::Contradiction)),
        (format!("{{\"approved\": false}}\n\n{yes}"), none(Unreadable::Contradiction)),
        (format!("{yes}\nor rather {{\"approved\" :\n false}}"), none(Unreadable::Contradiction)),
        (format!("{broken}{yes}"), none(late_comma.clone())),
        (format!("{yes}{broken}"), none(late_comma)),
        (format!("{yes}```json\n{{\"verdict\":{{\"approved\":false}}}}\n```"), none(Unreadable::MissingApproved)),
        (package.to_owned(), none(Unreadable::MissingApproved)),
        (format!("```json\nnot at all\n```\n{log}"), none(Unreadable::NotJson { line: 1, column: 2 })),
        (log.to_owned(), none(Unreadable::NoVerdict)),
        (String::new(), none(Unreadable::NoVerdict)),
        ("LGTM, approved: true".to_owned(), none(Unreadable::NoVerdict)),
        ("The verdict is {\"approved\":true}.".to_owned(), none(Unreadable::NoVerdict)),
        ("```json {\"approved\":true} ```".to_owned(), none(Unreadable::NoVerdict)),
        ("```json\n{\"approved\":true}".to_owned(), none(Unreadable::UnclosedFence)),
        (format!("{yes}```json\n{{\"appr"), none(Unreadable::UnclosedFence)),
        ("```json\n{\"approved\":true}\n``".to_owned(), none(Unreadable::UnclosedFence)),
        ("{\"approved\":true} and so on".to_owned(), none(Unreadable::NotJson { line: 1, column: 19 })),
        (format!("{}{}", " ".repeat(json::MOST_BYTES), yes), none(Unreadable::TooLarge)),
    ];
    for (message, result) in table {
        let short: String = message.trim_start().chars().take(200).collect();
        assert_eq!(said(read(&[], &message)), result, "{short}");
    }
}

#[test]
fn a_tool_call_decides_unless_it_is_contradicted() {
    let (yes, no, broken) = (r#"{"approved":true}"#, r#"{"approved":false}"#, r#"{"approved":true"#);
    let cut = || Unreadable::NotJson { line: 1, column: 16 };
    let fenced = |json: &str| format!("```json\n{json}\n```");
    let table = [
        (calls([yes]), String::new(), Ok(true)),
        (calls([no]), "LGTM".to_owned(), Ok(false)),
        (calls([yes]), fenced(yes), Ok(true)),
        (calls([yes]), fenced(r#"{"approved":true,"summary":"in short"}"#), Ok(true)),
        (calls([yes]), fenced(no), none(Unreadable::Contradiction)),
        (calls([no]), fenced(yes), none(Unreadable::Contradiction)),
        (calls([yes]), format!("{}\n{}", fenced(yes), fenced(no)), none(Unreadable::Contradiction)),
        (calls([yes]), "```json\n{\"approved\":fal".to_owned(), Ok(true)),
        (calls([yes]), fenced(r#"{"name":"x"}"#), Ok(true)),
        (calls([yes, yes]), String::new(), Ok(true)),
        (calls([yes, no]), String::new(), none(Unreadable::Contradiction)),
        (calls([no, yes]), String::new(), none(Unreadable::Contradiction)),
        (calls([no, broken, yes]), String::new(), none(Unreadable::Contradiction)),
        (calls([broken, no]), String::new(), Ok(false)),
        (calls([no, broken]), String::new(), none(cut())),
        (calls([broken]), fenced(yes), none(cut())),
        (calls([""]), fenced(yes), none(Unreadable::NotJson { line: 1, column: 0 })),
        (calls(["true"]), fenced(yes), none(Unreadable::MissingApproved)),
        (
            calls([r#"{"approved":true}{"approved":true}"#]),
            String::new(),
            none(Unreadable::NotJson { line: 1, column: 18 }),
        ),
    ];
    for (calls, message, result) in table {
        assert_eq!(said(read(&calls, &message)), result, "{calls:?} {message}");
    }
}

#[test]
fn verdicts_that_differ_in_what_decides_contradict() {
    let base = json!({"approved": true, "digest": "d", "rulings": [{"id": "F1", "ruling": "closed"}], "criteria": [{"id": "C1", "status": "fail"}]});
    let differing = |key: &str, value: Value| {
        let mut other = base.clone();
        other[key] = value;
        let two = calls([&base.to_string(), &other.to_string()]);
        let tool_and_fence = read(&two[..1], &format!("```json\n{other}\n```"));
        (said(read(&two, "")), said(tool_and_fence))
    };
    let (agree, deny) = (Ok(true), none(Unreadable::Contradiction));
    let table = [
        ("summary", json!("other words"), &agree, &agree),
        ("score", json!(3), &agree, &agree),
        ("unknown", json!([]), &agree, &agree),
        ("digest", json!(""), &deny, &agree),
        ("findings", json!([{"text": "one more"}]), &deny, &agree),
        ("rulings", json!([]), &deny, &agree),
        ("rulings", json!([{"id": "F1", "ruling": "still_open"}]), &deny, &deny),
        ("criteria", json!([{"id": "C1", "status": "pass", "evidence": "ran it"}]), &deny, &deny),
        ("approved", json!(false), &deny, &deny),
    ];
    for (key, value, twice, across) in table {
        let (got_twice, got_across) = differing(key, value.clone());
        assert_eq!((&got_twice, &got_across), (twice, across), "{key}: {value}");
    }
}

#[test]
fn approval_is_a_boolean_at_the_top_or_it_is_nothing() {
    for approved in ["\"true\"", "1", "null", "[true]", "{\"approved\":true}", "\"yes\""] {
        let text = format!("{{\"approved\":{approved}}}");
        assert_eq!(said(read(&calls([&text]), "")), none(Unreadable::MissingApproved), "{text}");
    }
    for text in
        ["{}", "[]", "[{\"approved\":true}]", "{\"Approved\":true}", "{\"approve\":true}", "{\"approved \":true}"]
    {
        assert_eq!(said(read(&calls([text]), "")), none(Unreadable::MissingApproved), "{text}");
    }
    let twice = calls([r#"{"approved":false,"approved":true}"#]);
    assert_eq!(said(read(&twice, "")), none(Unreadable::DuplicateKey { key: "approved".into() }));
    assert_eq!(said(read(&calls([r#"{"\u0061pproved":true}"#]), "")), Ok(true));
}

#[test]
fn one_odd_field_never_costs_the_verdict() {
    for key in ["digest", "summary", "findings", "rulings", "criteria", "score"] {
        for odd in [
            json!(null),
            json!(true),
            json!(-1.5),
            json!("odd"),
            json!([null, 7, "x", [[]]]),
            json!({"a": {}}),
            json!([{}]),
        ] {
            let verdict = verdict_of(&json!({"approved": true, key: odd}));
            assert!(verdict.approved && verdict.score.is_none(), "{key}: {odd}");
            assert_eq!((verdict.rulings.len(), verdict.criteria.len()), (0, 0), "{key}: {odd}");
        }
    }
}

#[test]
fn a_finding_without_a_good_citation_is_kept_with_its_own_reason() {
    let given = json!([
        {"severity": "high", "text": "nowhere"},
        {"severity": "HIGH ", "cite": "src/a.rs", "text": "no line"},
        {"severity": "critical", "cite": "src/a.rs:3", "text": "real"},
        "only a sentence",
        {"text": ["two", "lines"], "cite": {}},
        42,
    ]);
    let findings = verdict_of(&json!({"approved": false, "findings": given})).findings;
    let told: Vec<_> = findings
        .iter()
        .map(|f| (f.severity, f.text.as_str(), f.citation.is_ok(), f.citation.as_ref().err().map(ToString::to_string)))
        .collect();
    let because = |why: &str| Some(why.to_owned());
    let missing = because("it cites neither a line nor a command");
    assert_eq!(
        told,
        [
            (Severity::High, "nowhere", false, missing.clone()),
            (Severity::High, "no line", false, because("its citation `src/a.rs` does not end in a line number")),
            (Severity::Medium, "real", true, None),
            (Severity::Medium, "only a sentence", false, missing.clone()),
            (Severity::Medium, "two\nlines", false, because("its citation `{}` is not a text")),
            (Severity::Medium, "42", false, missing),
        ]
    );
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let many = |n: usize| {
        let all: Vec<_> = (1..=n).map(|n| json!({"cite": format!("a:{n}")})).collect();
        verdict_of(&json!({"approved": false, "findings": all})).findings
    };
    assert!(many(200).iter().all(|f| f.citation.is_ok()));
    let cut = many(1_000);
    assert_eq!(cut.len(), 200);
    assert_eq!(cut.iter().filter(|f| f.citation.is_ok()).count(), 199);
    assert_eq!(cut[199].citation, Err(Uncited::LeftOut { count: 801 }));
}

#[test]
fn each_id_is_ruled_once_or_not_at_all() {
    let table = [
        (json!([{"id": "F1", "ruling": "closed"}]), vec![("F1", RulingKind::Closed)]),
        (json!([{"id": " f2 ", "ruling": "Still open"}]), vec![("F2", RulingKind::StillOpen)]),
        (json!([{"id": "F1", "ruling": "STILL-OPEN"}]), vec![("F1", RulingKind::StillOpen)]),
        (
            json!([{"id": "R1", "ruling": "met"}, {"id": "R2", "ruling": "not_met"}, {"id": "R3", "ruling": "cannot_judge"}]),
            vec![("R1", RulingKind::Met), ("R2", RulingKind::NotMet), ("R3", RulingKind::CannotJudge)],
        ),
        (
            json!([{"id": "F1", "ruling": "closed"}, {"id": "F1", "ruling": "closed", "note": "x"}]),
            vec![("F1", RulingKind::Closed)],
        ),
        (json!([{"id": "F1", "ruling": "closed"}, {"id": "f1", "ruling": "still_open"}]), vec![]),
        (
            json!([{"id": "F1", "ruling": "closed"}, {"id": "F1", "ruling": "still_open"}, {"id": "F1", "ruling": "closed"}]),
            vec![],
        ),
        (
            json!([{"id": "F1", "ruling": "probably"}, {"ruling": "closed"}, {"id": 1, "ruling": "closed"}, {"id": "F\n", "ruling": 1}]),
            vec![],
        ),
        (
            json!([{"id": "F1\u{7}2", "ruling": "closed"}, {"id": "F".repeat(33), "ruling": "closed"}, {"id": " ", "ruling": "closed"}]),
            vec![],
        ),
        (json!({"id": "F1", "ruling": "closed"}), vec![("F1", RulingKind::Closed)]),
    ];
    for (rulings, result) in table {
        let verdict = verdict_of(&json!({"approved": true, "rulings": rulings}));
        let told: Vec<_> = verdict.rulings.iter().map(|r| (r.id.as_str(), r.ruling)).collect();
        assert_eq!(told, result, "{rulings}");
    }
}

#[test]
fn a_criterion_passes_only_by_name_and_with_evidence() {
    use CriterionStatus::{Fail, Pass, Unknown};
    let table = [
        (json!([{"id": "C1", "status": "pass", "evidence": "cargo test x"}]), vec![("C1", Pass)]),
        (json!([{"id": "c1", "status": " PASS", "evidence": ["a", "b"]}]), vec![("C1", Pass)]),
        (json!([{"id": "C1", "status": "pass"}]), vec![("C1", Unknown)]),
        (json!([{"id": "C1", "status": "pass", "evidence": " \n\u{0}"}]), vec![("C1", Unknown)]),
        (json!([{"id": "C1", "status": "pass", "evidence": "--"}]), vec![("C1", Unknown)]),
        (json!([{"id": "C1", "status": "pass", "evidence": true}]), vec![("C1", Unknown)]),
        (json!([{"id": "C1", "status": "pass", "evidence": [[], {}]}]), vec![("C1", Unknown)]),
        (json!([{"id": "C1", "status": "passed", "evidence": "x"}]), vec![("C1", Unknown)]),
        (json!([{"id": "C1", "evidence": "x"}]), vec![("C1", Unknown)]),
        (json!([{"id": "C1", "status": true, "evidence": "x"}]), vec![("C1", Unknown)]),
        (
            json!([{"id": "C1", "status": "fail"}, {"id": "C2", "status": "unknown"}]),
            vec![("C1", Fail), ("C2", Unknown)],
        ),
        (
            json!([{"id": "C1", "status": "pass", "evidence": "x"}, {"id": "C1", "status": "fail"}]),
            vec![("C1", Unknown)],
        ),
        (json!([{"status": "pass", "evidence": "x"}]), vec![]),
    ];
    for (criteria, result) in table {
        let verdict = verdict_of(&json!({"approved": true, "criteria": criteria}));
        let told: Vec<_> = verdict.criteria.iter().map(|c| (c.id.as_str(), c.status)).collect();
        assert_eq!(told, result, "{criteria}");
    }
}

#[test]
fn a_score_is_a_whole_number_up_to_a_hundred() {
    let table = [
        ("0", Some(0)),
        ("100", Some(100)),
        ("101", None),
        ("-1", None),
        ("55.5", None),
        ("1e2", None),
        ("\"90\"", None),
        ("356", None),
    ];
    for (score, result) in table.into_iter().chain([("18446744073709551616", None), ("null", None)]) {
        let text = format!("{{\"approved\":true,\"score\":{score}}}");
        assert_eq!(parts::verdict(&text).unwrap().score, result, "{score}");
    }
}

#[test]
fn long_texts_are_cut_between_characters_and_marked() {
    for (filler, most) in [("x", 8_192), ("é", 8_192), ("課", 8_192), ("😀", 8_192)] {
        let exact = filler.repeat(most / filler.len());
        assert_eq!(parts::cut(&exact, most), exact);
        let cut = parts::cut(&filler.repeat(most + 1), most);
        assert!(cut.len() <= most && cut.len() > most - 4 && cut.ends_with("[…cut]"), "{filler}: {}", cut.len());
    }
    assert_eq!(parts::cut("a\0b\0", 8), "ab");
    let long = "e".repeat(10_000);
    let verdict = verdict_of(&json!({
        "approved": true, "digest": long, "summary": long, "findings": [{"text": long, "evidence": long}],
        "rulings": [{"id": "F1", "ruling": "met", "note": long}], "criteria": [{"id": "C1", "status": "pass", "evidence": long}],
    }));
    let finding = &verdict.findings[0];
    for text in [&verdict.digest, &verdict.summary, &finding.text, &finding.evidence, &verdict.rulings[0].note] {
        assert_eq!(text.len(), 8_192);
    }
    assert_eq!(verdict.criteria[0].evidence.len(), 2_048);
}

#[test]
fn a_reading_survives_being_stored() {
    let unreadable = [
        Unreadable::NoVerdict,
        Unreadable::UnclosedFence,
        Unreadable::NotJson { line: 3, column: 7 },
        Unreadable::MissingApproved,
        Unreadable::Contradiction,
        Unreadable::TooLarge,
        Unreadable::TooDeep,
        Unreadable::DuplicateKey { key: "a".into() },
    ];
    let mut sentences: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
    assert!(sentences.iter().all(|s| s.ends_with('.') && s.contains(": ")));
    sentences.dedup();
    assert_eq!(sentences.len(), unreadable.len());
    let readings = unreadable.map(|why| Reading::None { why }).into_iter().chain([Reading::Verdict(full())]);
    for reading in readings {
        let stored = serde_json::to_string(&reading).unwrap();
        assert_eq!(serde_json::from_str::<Reading>(&stored).unwrap(), reading);
    }
}
