//! The parts that the made-up runs are put together from.

use crate::cycle::id::RunId;
use crate::web::diff::{Change, Diff, File, Hunk, Kind, Note as FileNote};
use crate::web::output::Output;
use crate::web::prose::{Line, Prose};
use crate::web::view::{Badge, Claim, Hash, Meter, Tone};
use crate::web::words::When;

use super::super::timeline::{Answer, Check, Discarded, Fact, Facts, Finding, Group, Note, Part, Remark, Ruling, Step};
use super::super::{Budget, Heading, Issue, Outcome, Summary, View, Who};

/// 10:00 on the day of the samples.
pub(super) const TEN: i64 = 1_772_618_400;

/// Makes every text of a sample.
pub(super) type Say<'a> = &'a dyn Fn(&str) -> String;

/// Makes the parts of a sample, every text by way of `say`.
pub(super) struct Sample<'a> {
    pub(super) say: Say<'a>,
}

impl Sample<'_> {
    pub(super) fn say(&self, text: &str) -> String {
        (self.say)(text)
    }

    pub(super) fn badge(&self, tone: Tone, word: &str) -> Badge {
        Badge::new(tone, self.say(word))
    }

    pub(super) fn line(&self, text: &str) -> Line {
        Line::new(&self.say(text))
    }

    pub(super) fn prose(&self, text: &str) -> Prose {
        Prose::new(&self.say(text))
    }

    pub(super) fn hash(&self, digits: &str) -> Hash {
        Hash { short: self.say(&digits[..7]), full: self.say(digits) }
    }

    pub(super) fn meter(&self, used: &str, ceiling: &str, thousandths: u32, tone: Tone) -> Meter {
        Meter { used: self.say(used), ceiling: self.say(ceiling), thousandths: Some(thousandths), tone }
    }

    pub(super) fn fact(&self, text: &str, result: &str, tone: Tone) -> Fact {
        Fact { text: self.say(text), result: self.say(result), tone }
    }

    pub(super) fn note(&self, tone: Tone, text: &str) -> Part {
        Part::Note(Note { tone, text: self.line(text) })
    }

    pub(super) fn claim(&self, who: &str, text: &str) -> Part {
        Part::Claim(Claim { who: self.say(who), text: self.prose(text) })
    }

    pub(super) fn step(&self, event: u64, tone: Tone, title: &str, minute: i64, took: &str, used: &[&str]) -> Step {
        Step {
            event,
            tone,
            title: self.say(title),
            badge: None,
            began: When::clock(TEN + minute * 60 + 13),
            took: Some(self.say(took)),
            used: used.iter().map(|u| self.say(u)).collect(),
            parts: Vec::new(),
        }
    }

    pub(super) fn check(&self, name: &str, outcome: Badge, end: &str, took: &str) -> Check {
        Check {
            name: self.say(name),
            command: self.say(&format!("cargo {name} --workspace --locked")),
            outcome,
            required: true,
            end: self.say(end),
            took: self.say(took),
            note: None,
            newly_failing: Vec::new(),
            output: Some(Output::new(&self.say("    \u{1b}[32mFinished\u{1b}[0m in 21.04s\n"), 0)),
        }
    }

    pub(super) fn passed(&self, name: &str, took: &str) -> Check {
        self.check(name, self.badge(Tone::Good, "passed"), "exit 0", took)
    }

    pub(super) fn failed_before(&self) -> Check {
        let note = self.line("Failed at the baseline with the same failing tests: no postgres on this machine.");
        Check {
            note: Some(note),
            ..self.check("test-postgres", self.badge(Tone::Warn, "failed before too"), "exit 101", "2 s")
        }
    }

    pub(super) fn regressed(&self) -> Check {
        let printed = "running 14 tests\ntest split::negative_refund ... \u{1b}[31mFAILED\u{1b}[0m\n\nfailures:\n\n---- split::negative_refund stdout ----\n\
                       thread panicked at tests/split.rs:22:5:\nassertion `left == right` failed\n  left: -999\n right: -1000\n\ntest result: \u{1b}[31mFAILED\u{1b}[0m. 13 passed; 1 failed\n";
        Check {
            newly_failing: vec![self.say("split::negative_refund"), self.say("split::property::parts_always_add_up")],
            output: Some(Output::new(&self.say(printed), 48_211)),
            ..self.check("test", self.badge(Tone::Bad, "regressed"), "exit 101", "34 s")
        }
    }

    pub(super) fn finding(&self, fate: Badge) -> Finding {
        Finding {
            id: self.say("F1"),
            kind: self.say("high"),
            cites: self.say("src/split.rs:41"),
            raised: self.say("reviewer, pass 1"),
            fate,
            text: self.prose("A negative total takes the remainder from the wrong end: `split(-1000, 3)` hands out -999. `cargo test neg_split` exits 101."),
            evidence: Some(Output::new(&self.say("assertion `left == right` failed\n  left: -999\n right: -1000"), 0)),
            answer: Some(Answer { says: self.say("says it is fixed"), judge: "the reviewer", text: self.prose("The step now follows the sign of the rest (`rest.signum()`).") }),
            ruling: Some(Ruling { id: self.say("F1"), ruled: self.badge(Tone::Bad, "still open"), evidence: self.prose("`split(-1, 3)` still hands out 0.") }),
        }
    }

    pub(super) fn small_diff(&self, title: &str, open: bool) -> Diff {
        let line = |kind, text: &str| (kind, self.say(text));
        let lines = vec![
            line(Kind::Same, "pub fn split(total: i64, parts: usize) -> Vec<i64> {"),
            line(Kind::Same, "    let rest = total % parts as i64;"),
            line(Kind::Removed, "    let step = if rest > 0 { 1 } else { 0 };"),
            line(Kind::Added, "    let step = rest.signum();"),
            line(Kind::Removed, "    for part in parts.iter_mut().take(rest as usize) {"),
            line(Kind::Added, "    for part in parts.iter_mut().take(rest.unsigned_abs() as usize) {"),
            line(Kind::Same, "        *part += step;"),
            line(Kind::Same, "    }"),
        ];
        let tests = vec![
            line(Kind::Same, ""),
            line(Kind::Added, "#[test]"),
            line(Kind::Added, "fn negative_refund() {"),
            line(
                Kind::Added,
                "    assert_eq!(split(-1000, 3).iter().sum::<i64>(), -1000, \"the parts of a negative refund add up to the refund itself\");",
            ),
            line(Kind::Added, "}"),
        ];
        let file = |path: &str, change, added, removed, hunks, note| File {
            path: self.say(path),
            change,
            added,
            removed,
            hunks,
            note,
        };
        let files = vec![
            file(
                "src/split.rs",
                Change::Modified,
                2,
                2,
                vec![Hunk::new(self.say("@@ -38,6 +38,6 @@ impl Refund"), 38, 38, lines)],
                None,
            ),
            file(
                "tests/split.rs",
                Change::Modified,
                4,
                0,
                vec![Hunk::new(self.say("@@ -17,0 +18,4 @@"), 17, 17, tests)],
                None,
            ),
            file("docs/split.png", Change::Added, 0, 0, Vec::new(), Some(FileNote::Binary)),
            file(
                "tests/fixtures/all.json",
                Change::Renamed { from: self.say("fixtures/all.json") },
                14_210,
                3,
                Vec::new(),
                Some(FileNote::TooLong { lines: 14_213 }),
            ),
            file(
                "scripts/check",
                Change::Modified,
                0,
                0,
                Vec::new(),
                Some(FileNote::Mode { from: self.say("100644"), to: self.say("100755") }),
            ),
        ];
        Diff { title: self.say(title), files, open }
    }

    pub(super) fn prepare(&self) -> Group {
        let baseline = Step {
            parts: vec![Part::Checks(vec![
                self.passed("build", "24 s"),
                self.passed("test", "37 s"),
                self.check("test-postgres", self.badge(Tone::Warn, "failed"), "exit 101", "2 s"),
            ])],
            used: vec![self.say("service, not agent")],
            ..self.step(3, Tone::Good, "Ran the checks on the base", 0, "63 s", &[])
        };
        let facts = Facts::new(vec![
            self.fact("main", "8f31c02", Tone::Plain),
            self.fact("checks found in Cargo.toml", "3", Tone::Plain),
        ]);
        let prepared = Step {
            parts: vec![Part::Facts(facts)],
            ..self.step(1, Tone::Good, "Prepared the work tree", 0, "210 ms", &[])
        };
        Group {
            anchor: "prepare".into(),
            title: self.say("Preparation"),
            badge: self.badge(Tone::Good, "ready"),
            gist: Some(self.line("2 checks pass on the base, `test-postgres` fails there")),
            money: None,
            took: Some(self.say("1 min 03 s")),
            tree: Some(self.hash("9be1d77c0b2f6d1fdc1b0e2f1a3c4d5e6f708192")),
            steps: vec![prepared, baseline],
            open: false,
        }
    }

    pub(super) fn pass(&self, number: u64, badge: Badge, gist: Option<&str>, steps: Vec<Step>) -> Group {
        Group {
            anchor: format!("pass-{number}"),
            title: self.say(&format!("Pass {number}")),
            badge,
            gist: gist.map(|g| self.line(g)),
            money: Some(self.say("$0.41")),
            took: Some(self.say("3 min 12 s")),
            tree: Some(self.hash("5c1e0aa94b1f0e2d3c4b5a69788796a5b4c3d2e1")),
            steps,
            open: true,
        }
    }

    pub(super) fn did_the_work(&self, event: u64, minute: i64) -> Step {
        let facts = Facts::new(vec![
            self.fact("read src/split.rs", "", Tone::Plain),
            self.fact("edit src/split.rs", "+14 −6", Tone::Plain),
            self.fact("edit tests/split.rs", "+22", Tone::Plain),
            self.fact("ran cargo test -p ledger neg_split", "exit 101", Tone::Bad),
            self.fact("edit src/split.rs", "+2 −2", Tone::Plain),
            self.fact("ran cargo test -p ledger", "exit 0", Tone::Plain),
            self.fact("read Cargo.toml", "", Tone::Plain),
            self.fact("ran git status --short", "exit 0", Tone::Plain),
        ]);
        let parts = vec![
            Part::Facts(facts),
            self.claim(
                "implementer",
                "Splits now hand the remainder to the first parts, so the sum always matches. All tests pass.",
            ),
            Part::Diff(self.small_diff("Against the base", false)),
        ];
        Step { parts, ..self.step(event, Tone::Good, "Did the work", minute, "1 min 40 s", &["$0.28", "31k tokens"]) }
    }

    pub(super) fn ran_the_checks(&self, event: u64, minute: i64, tone: Tone, checks: Vec<Check>) -> Step {
        Step {
            parts: vec![Part::Checks(checks)],
            ..self.step(event, tone, "Ran the checks", minute, "66 s", &["service, not agent"])
        }
    }

    pub(super) fn first_review(&self, fate: Badge) -> Step {
        let remark = Remark {
            why: self.say("low"),
            cites: self.say("src/split.rs:12"),
            text: self.prose("`n` could be named `parts`."),
        };
        let discarded = vec![
            Discarded { cites: String::new(), reason: self.say("cites nothing") },
            Discarded {
                cites: self.say("src/split.rs:412"),
                reason: self.say("the file has 96 lines, line 412 does not exist"),
            },
        ];
        Step {
            badge: Some(self.badge(Tone::Bad, "rejected")),
            parts: vec![
                Part::Findings(vec![self.finding(fate)]),
                Part::Remarks(vec![remark]),
                Part::Discarded(discarded),
            ],
            ..self.step(20, Tone::Bad, "Reviewed the work", 5, "48 s", &["$0.13", "12k tokens"])
        }
    }

    pub(super) fn delivery(&self, note: &str) -> Group {
        let facts = Facts::new(vec![
            self.fact("pushed countersign/42-rounding-loses-a-cent", "e02b9f1", Tone::Plain),
            self.fact("recorded the pull request", "label countersigned", Tone::Plain),
        ]);
        Group {
            anchor: "delivery".into(),
            title: self.say("Delivery"),
            badge: self.badge(Tone::Good, "done"),
            gist: None,
            money: None,
            took: Some(self.say("90 ms")),
            tree: None,
            steps: vec![Step {
                parts: vec![Part::Facts(facts), self.note(Tone::Plain, note)],
                ..self.step(40, Tone::Good, "Delivered the branch", 9, "90 ms", &[])
            }],
            open: true,
        }
    }

    pub(super) fn base(&self, tone: Tone, outcome: &str, sentence: &str) -> View {
        let who = |role: &str, model: &str, effort: Option<&str>| Who {
            role: self.say(role),
            agent: self.say("built-in agent"),
            model: self.say(model),
            effort: effort.map(|e| self.say(e)),
        };
        View {
            run: RunId::from_u128(0x0196_1f3e_0b7a_7cc1_9d53_5e2b_7f00_1a42),
            heading: Heading {
                repository: self.say("tidewater/ledger"),
                title: self.say("Rounding loses a cent when a refund is split three ways"),
                base: self.say("main"),
                commit: Some(self.hash("8f31c02d41f0e2d3c4b5a69788796a5b4c3d2e10")),
                delegated: When::ago(TEN, TEN + 7_300),
            },
            badges: vec![self.badge(tone, outcome), self.badge(Tone::Plain, "Second reader")],
            canned: true,
            summary: Summary { tone, sentence: self.line(sentence) },
            now: None,
            hand_over: None,
            issue: Issue {
                body: self.say("`split(10_00, 3)` gives 3.33 + 3.33 + 3.33.\n\nThe cent has to go to the first part.\n\n\ttabs and   spaces stay"),
                done: vec![self.say("The parts always add up to the total"), self.say("Negative totals too")],
            },
            groups: Vec::new(),
            budget: Budget {
                passes: self.meter("2", "3", 667, Tone::Plain),
                money: self.meter("$0.63", "$5.00", 126, Tone::Plain),
                clock: self.meter("5 min 03 s", "30 min", 168, Tone::Plain),
            },
            result: Outcome {
                delivery: self.badge(Tone::Good, "delivered"),
                note: None,
                branch: Some(self.say("countersign/42-rounding-loses-a-cent")),
                label: Some(self.say("countersigned")),
            },
            who: vec![who("Implementer", "claude-sonnet-4-5", Some("medium")), who("Reviewer", "claude-opus-4-1", Some("high"))],
        }
    }
}
