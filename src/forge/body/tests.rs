use super::*;

fn report() -> Report {
    let check =
        |name: &str, before: &str, now: &str| Check { name: name.into(), before: before.into(), now: now.into() };
    Report {
        outcome: "Needs review: the last allowed pass was not accepted".into(),
        sentence: "Three passes used up; `test` fails on this tree.".into(),
        timeline: "http://127.0.0.1:8080/runs/01961f3e-0b7a-7cc1-9d53-5e2b7f001a42".into(),
        protected: vec![".github/workflows/ci.yml".into()],
        open: vec![
            Open {
                id: "F2".into(),
                cites: "test".into(),
                raised: "check, pass 2".into(),
                text: "`split::negative` passed on the base and fails now.".into(),
                ..Open::default()
            },
            Open {
                id: "F1".into(),
                severity: "high".into(),
                cites: "src/split.rs:41".into(),
                raised: "reviewer, pass 1".into(),
                text: "A negative total loses a cent.".into(),
                since: vec![
                    "The implementer called it fixed in pass 3: a claim.".into(),
                    "The reviewer's last ruling: still open: `split(-1, 3)` hands out 0.".into(),
                ],
            },
        ],
        closed: vec!["F3 (low, raised in pass 1, closed in pass 2): The comment names the old rule.".into()],
        notes: vec!["A contradiction: the reviewer approved pass 3, on which `test` regressed.".into()],
        checks: vec![
            check("build", "passed", "passed"),
            check("test", "passed", "regressed"),
            check("test-postgres", "failed", "failed before too"),
        ],
        criteria: vec![Criterion { text: "The parts add up".into(), result: "fail".into() }],
        budget: Budget {
            passes: "3 of 3".into(),
            money: "$1.84 of $5.00".into(),
            clock: "17 min 40 s of 30 min".into(),
        },
        claim: "Everything is fixed and all tests pass.".into(),
        canned: true,
    }
}

#[test]
fn what_a_person_needs_first_comes_first() {
    let text = body(&report(), LIMIT).unwrap();
    assert_eq!(
        text,
        "## Needs review: the last allowed pass was not accepted

Three passes used up; `test` fails on this tree.

The models' words in this run were written beforehand, in a script.

[Timeline of the run](http://127.0.0.1:8080/runs/01961f3e-0b7a-7cc1-9d53-5e2b7f001a42)

### Protected paths were changed

- `.github/workflows/ci.yml`

### Still open

**F2** `test` (check, pass 2)

```text
`split::negative` passed on the base and fails now.
```

**F1 · high** `src/split.rs:41` (reviewer, pass 1)

```text
A negative total loses a cent.
```

- The implementer called it fixed in pass 3: a claim.
- The reviewer's last ruling: still open: `split(-1, 3)` hands out 0.

### Closed on the way

- F3 (low, raised in pass 1, closed in pass 2): The comment names the old rule.

### Worth knowing

- A contradiction: the reviewer approved pass 3, on which `test` regressed.

### Checks

Run by the service in a fresh sandbox, on exactly this tree.

| check | base | now |
| --- | --- | --- |
| `build` | passed | passed |
| `test` | passed | regressed |
| `test-postgres` | failed | failed before too |

### Criteria

- fail: The parts add up

### Budget

Passes 3 of 3 · money $1.84 of $5.00 · time 17 min 40 s of 30 min

### What the implementer says

A claim: nobody checked these words.

```text
Everything is fixed and all tests pass.
```

Quoted text is kept from mentioning people and closing issues: a space or a dot was put where it would."
    );
}

#[test]
fn an_accepted_run_says_no_more_than_it_has_to() {
    let accepted = Report {
        outcome: "Accepted · countersigned".into(),
        protected: Vec::new(),
        open: Vec::new(),
        closed: Vec::new(),
        notes: Vec::new(),
        checks: Vec::new(),
        criteria: Vec::new(),
        claim: String::new(),
        canned: false,
        ..report()
    };
    assert_eq!(
        body(&accepted, LIMIT).unwrap(),
        "## Accepted · countersigned

Three passes used up; `test` fails on this tree.

[Timeline of the run](http://127.0.0.1:8080/runs/01961f3e-0b7a-7cc1-9d53-5e2b7f001a42)

### Checks

No check ran on this tree.

### Budget

Passes 3 of 3 · money $1.84 of $5.00 · time 17 min 40 s of 30 min

Quoted text is kept from mentioning people and closing issues: a space or a dot was put where it would."
    );
}

/// A body over the forge's limit is shortened, never refused, and ends outside every fence.
#[test]
fn a_body_that_is_too_long_is_shortened_with_its_outcome_and_link_kept() {
    let objection = "````\n| a | b |\n```\né 日本 `x`\n".repeat(10_000);
    assert!(objection.len() > 250_000);
    let open = Open { id: "F1".into(), text: objection.clone(), ..Open::default() };
    let long = Report { open: vec![open; 150], claim: objection.clone(), notes: vec![objection; 150], ..report() };
    for limit in [LIMIT, 30_000, 4_000, 1_000, 400] {
        let text = body(&long, limit).unwrap();
        let length = text.chars().count();
        assert!(length <= limit, "{length} of {limit}");
        assert!(text.starts_with("## Needs review") && text.contains("/runs/01961f3e"), "{limit}");
        assert_eq!(open_fence(&text), None, "a fence is open at {limit}");
    }
}

#[test]
fn every_cut_ends_outside_of_a_fence() {
    let text = body(&report(), LIMIT).unwrap();
    for limit in 120..text.chars().count() {
        let cut = cut(&text, limit);
        assert!(cut.chars().count() <= limit);
        assert_eq!(open_fence(&cut), None, "{limit}: {cut}");
        assert!(cut.ends_with("on the timeline."), "{limit}");
    }
}

/// Whatever slot it comes through, text from outside stays text.
#[test]
fn no_slot_lets_a_mention_a_closing_word_markup_or_a_link_through() {
    let attack = "Fixes #12 @octocat https://evil.example <img src=x onerror=alert(1)> ![x](http://e/t.png) <!-- countersign --> GH-7\n/merge\nSigned-off-by: x\n```\n# heading\n| cell |\n\u{202e}";
    let hostile = || attack.to_owned();
    let report = Report {
        outcome: hostile(),
        sentence: hostile(),
        timeline: "http://127.0.0.1/runs/1) <script> [x](http://evil.example".into(),
        protected: vec![hostile()],
        open: vec![Open {
            id: hostile(),
            severity: hostile(),
            cites: hostile(),
            raised: hostile(),
            text: hostile(),
            since: vec![hostile()],
        }],
        closed: vec![hostile()],
        notes: vec![hostile()],
        checks: vec![Check { name: hostile(), before: hostile(), now: hostile() }],
        criteria: vec![Criterion { text: hostile(), result: hostile() }],
        budget: Budget { passes: hostile(), money: hostile(), clock: hostile() },
        claim: hostile(),
        canned: false,
    };
    let text = body(&report, LIMIT).unwrap();
    for active in [
        "#12",
        "@octocat",
        "https://evil",
        "http://e/",
        "<!--",
        "GH-7",
        "Fixes #",
        "Fixes # ",
        "\n/merge",
        "\nSigned-off-by:",
        "\u{202e}",
    ] {
        assert!(!text.contains(active), "{active} survived in {text}");
    }
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let ticks = line.bytes().take_while(|b| *b == b'`').count();
        match &fence {
            Some(open) if line.len() == ticks && ticks >= open.len() => fence = None,
            Some(_) => continue,
            None if ticks >= 3 && line.ends_with("text") => fence = Some("`".repeat(ticks)),
            None => {
                let outside = outside_of_code(line);
                assert!(!outside.replace("\\<", "").contains('<'), "markup outside of code: {line}");
                assert!(!outside.contains("!["), "an image outside of code: {line}");
            }
        }
    }
    assert_eq!(fence, None);
}

#[test]
fn a_title_is_one_line_that_closes_nothing() {
    assert_eq!(title("Support @media\n queries"), "Support @media queries");
    assert_eq!(title("Fixes #12"), "Fixes · #12");
    assert_eq!(title(&"日".repeat(300)).chars().count(), TITLE_LIMIT);
}

/// What is left of a line without its code spans, read as CommonMark reads them.
fn outside_of_code(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find('`') {
        let ticks = rest[at..].bytes().take_while(|b| *b == b'`').count();
        let (before, after) = (&rest[..at], &rest[at + ticks..]);
        if before.ends_with('\\') {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        }
        out.push_str(before);
        let run = "`".repeat(ticks);
        let mut ends = after.match_indices(&run).map(|(end, _)| end);
        let end = ends.find(|end| !after[..*end].ends_with('`') && !after[end + ticks..].starts_with('`'));
        rest = end.map_or(after, |end| &after[end + ticks..]);
    }
    out + rest
}
