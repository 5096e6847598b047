//! Made-up runs, one of each kind, for judging the page's looks and its escaping.

use crate::cycle::id::RunId;
use crate::web::diff::{Change, Diff, File, Hunk, Kind, Note as FileNote};
use crate::web::output::Output;
use crate::web::prose::{Line, Prose};
use crate::web::view::{Badge, Claim, Hash, Meter, Tone};
use crate::web::words::When;

use super::timeline::{
    Answer, Check, Discarded, Fact, Facts, Finding, Group, Note, Part, Printed, Remark, Ruling, Step,
};
use super::{Budget, HandOver, Heading, Issue, Now, Outcome, Summary, View, Who};

/// 10:00 on the day of the samples.
const TEN: i64 = 1_772_618_400;

/// Makes every text of a sample.
type Say<'a> = &'a dyn Fn(&str) -> String;

/// One run of each kind; `say` makes every text.
#[must_use]
pub fn samples(say: Say<'_>) -> Vec<(&'static str, View)> {
    let of = Sample { say };
    vec![
        ("run-accepted", of.accepted()),
        ("run-needs-review", of.needs_review()),
        ("run-failed", of.failed()),
        ("run-running", of.running()),
        ("run-waiting", of.waiting()),
        ("run-cancelled", of.cancelled()),
        ("run-crashed", of.crashed()),
    ]
}

struct Sample<'a> {
    say: Say<'a>,
}

impl Sample<'_> {
    fn say(&self, text: &str) -> String {
        (self.say)(text)
    }

    fn badge(&self, tone: Tone, word: &str) -> Badge {
        Badge::new(tone, self.say(word))
    }

    fn line(&self, text: &str) -> Line {
        Line::new(&self.say(text))
    }

    fn prose(&self, text: &str) -> Prose {
        Prose::new(&self.say(text))
    }

    fn hash(&self, digits: &str) -> Hash {
        Hash { short: self.say(&digits[..7]), full: self.say(digits) }
    }

    fn meter(&self, used: &str, ceiling: &str, thousandths: u32, tone: Tone) -> Meter {
        Meter { used: self.say(used), ceiling: self.say(ceiling), thousandths: Some(thousandths), tone }
    }

    fn fact(&self, text: &str, result: &str, tone: Tone) -> Fact {
        Fact { text: self.say(text), result: self.say(result), tone }
    }

    fn note(&self, tone: Tone, text: &str) -> Part {
        Part::Note(Note { tone, text: self.line(text) })
    }

    fn claim(&self, who: &str, text: &str) -> Part {
        Part::Claim(Claim { who: self.say(who), text: self.prose(text) })
    }

    fn step(&self, event: u64, tone: Tone, title: &str, minute: i64, took: &str, used: &[&str]) -> Step {
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

    fn check(&self, name: &str, outcome: Badge, end: &str, took: &str) -> Check {
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

    fn passed(&self, name: &str, took: &str) -> Check {
        self.check(name, self.badge(Tone::Good, "passed"), "exit 0", took)
    }

    fn failed_before(&self) -> Check {
        let note = self.line("Failed at the baseline with the same failing tests: no postgres on this machine.");
        Check { note: Some(note), ..self.check("test-postgres", self.badge(Tone::Warn, "failed before too"), "exit 101", "2 s") }
    }

    fn regressed(&self) -> Check {
        let printed = "running 14 tests\ntest split::negative_refund ... \u{1b}[31mFAILED\u{1b}[0m\n\nfailures:\n\n---- split::negative_refund stdout ----\n\
                       thread panicked at tests/split.rs:22:5:\nassertion `left == right` failed\n  left: -999\n right: -1000\n\ntest result: \u{1b}[31mFAILED\u{1b}[0m. 13 passed; 1 failed\n";
        Check {
            newly_failing: vec![self.say("split::negative_refund"), self.say("split::property::parts_always_add_up")],
            output: Some(Output::new(&self.say(printed), 48_211)),
            ..self.check("test", self.badge(Tone::Bad, "regressed"), "exit 101", "34 s")
        }
    }

    fn finding(&self, fate: Badge) -> Finding {
        Finding {
            id: self.say("F1"),
            severity: Some(self.say("high")),
            cites: self.say("src/split.rs:41"),
            raised: self.say("reviewer, pass 1"),
            fate,
            text: self.prose("A negative total takes the remainder from the wrong end: `split(-1000, 3)` hands out -999. `cargo test neg_split` exits 101."),
            evidence: Some(Output::new(&self.say("assertion `left == right` failed\n  left: -999\n right: -1000"), 0)),
            answer: Some(Answer { says: self.say("says it is fixed"), text: self.prose("The step now follows the sign of the rest (`rest.signum()`).") }),
        }
    }

    fn small_diff(&self, title: &str, open: bool) -> Diff {
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
            line(Kind::Added, "    assert_eq!(split(-1000, 3).iter().sum::<i64>(), -1000, \"the parts of a negative refund add up to the refund itself\");"),
            line(Kind::Added, "}"),
        ];
        let file = |path: &str, change, added, removed, hunks, note| File { path: self.say(path), change, added, removed, hunks, note };
        let files = vec![
            file("src/split.rs", Change::Modified, 2, 2, vec![Hunk::new(self.say("@@ -38,6 +38,6 @@ impl Refund"), 38, 38, lines)], None),
            file("tests/split.rs", Change::Modified, 4, 0, vec![Hunk::new(self.say("@@ -17,0 +18,4 @@"), 17, 17, tests)], None),
            file("docs/split.png", Change::Added, 0, 0, Vec::new(), Some(FileNote::Binary)),
            file("tests/fixtures/all.json", Change::Renamed { from: self.say("fixtures/all.json") }, 14_210, 3, Vec::new(), Some(FileNote::TooLong { lines: 14_213 })),
            file("scripts/check", Change::Modified, 0, 0, Vec::new(), Some(FileNote::Mode { from: self.say("100644"), to: self.say("100755") })),
        ];
        Diff { title: self.say(title), files, open }
    }

    fn prepare(&self) -> Group {
        let baseline = Step {
            parts: vec![Part::Checks(vec![
                self.passed("build", "24 s"),
                self.passed("test", "37 s"),
                self.check("test-postgres", self.badge(Tone::Warn, "failed"), "exit 101", "2 s"),
            ])],
            used: vec![self.say("service, not agent")],
            ..self.step(3, Tone::Good, "Ran the checks on the base", 0, "63 s", &[])
        };
        let facts = Facts::new(vec![self.fact("main", "8f31c02", Tone::Plain), self.fact("checks found in Cargo.toml", "3", Tone::Plain)]);
        let prepared = Step { parts: vec![Part::Facts(facts)], ..self.step(1, Tone::Good, "Prepared the work tree", 0, "210 ms", &[]) };
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

    fn pass(&self, number: u64, badge: Badge, gist: Option<&str>, steps: Vec<Step>) -> Group {
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

    fn did_the_work(&self, event: u64, minute: i64) -> Step {
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
            self.claim("implementer", "Splits now hand the remainder to the first parts, so the sum always matches. All tests pass."),
            Part::Diff(self.small_diff("Against the base", false)),
        ];
        Step { parts, ..self.step(event, Tone::Good, "Did the work", minute, "1 min 40 s", &["$0.28", "31k tokens"]) }
    }

    fn ran_the_checks(&self, event: u64, minute: i64, tone: Tone, checks: Vec<Check>) -> Step {
        Step { parts: vec![Part::Checks(checks)], ..self.step(event, tone, "Ran the checks", minute, "66 s", &["service, not agent"]) }
    }

    fn first_review(&self, fate: Badge) -> Step {
        let remark = Remark { why: self.say("low"), cites: self.say("src/split.rs:12"), text: self.prose("`n` could be named `parts`.") };
        let discarded = vec![
            Discarded { cites: String::new(), reason: self.say("cites nothing") },
            Discarded { cites: self.say("src/split.rs:412"), reason: self.say("the file has 96 lines, line 412 does not exist") },
        ];
        Step {
            badge: Some(self.badge(Tone::Bad, "rejected")),
            parts: vec![Part::Findings(vec![self.finding(fate)]), Part::Remarks(vec![remark]), Part::Discarded(discarded)],
            ..self.step(20, Tone::Bad, "Reviewed the work", 5, "48 s", &["$0.13", "12k tokens"])
        }
    }

    fn delivery(&self, note: &str) -> Group {
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

    fn base(&self, tone: Tone, outcome: &str, sentence: &str) -> View {
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
            scripted: true,
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

    fn accepted(&self) -> View {
        let sentence = "Two passes: the first change fixed the split, but the reviewer showed that negative refunds still lose a cent (`src/split.rs:41`); \
                        the second closed it. 3 of 4 checks pass on the delivered tree; the fourth failed before anyone changed anything.";
        let checks = || vec![self.passed("build", "21 s"), self.passed("lint", "9 s"), self.passed("test", "34 s"), self.failed_before()];
        let first = vec![
            self.did_the_work(10, 2),
            self.ran_the_checks(15, 4, Tone::Good, checks()),
            self.first_review(self.badge(Tone::Good, "closed in pass 2")),
        ];
        let fixed = Step {
            parts: vec![
                Part::Facts(Facts::new(vec![
                    self.fact("edit src/split.rs", "+3 −1", Tone::Plain),
                    self.fact("edit tests/split.rs", "+9", Tone::Plain),
                    self.fact("ran cargo test -p ledger", "exit 0", Tone::Plain),
                ])),
                self.claim("implementer", "F1 is fixed: the step follows the sign of the rest."),
                Part::Diff(self.small_diff("Against pass 1", true)),
                Part::Diff(self.small_diff("Against the base", false)),
            ],
            ..self.step(24, Tone::Good, "Fixed what the review found", 6, "40 s", &["$0.12", "14k tokens"])
        };
        let ruling = Ruling {
            id: self.say("F1"),
            ruled: self.badge(Tone::Good, "closed"),
            evidence: self.prose("`cargo test neg_split` exits 0 on this tree, and `rest.signum()` covers both signs."),
        };
        let approved = Step {
            badge: Some(self.badge(Tone::Good, "approved")),
            parts: vec![Part::Rulings(vec![ruling]), self.claim("reviewer", "The sum is exact for both signs. Nothing else stands out.")],
            ..self.step(34, Tone::Good, "Reviewed the work", 8, "10 s", &["$0.10", "9k tokens"])
        };
        let second = vec![fixed, self.ran_the_checks(30, 7, Tone::Good, checks()), approved];
        View {
            groups: vec![
                self.prepare(),
                self.pass(1, self.badge(Tone::Bad, "sent back"), Some("`F1` went back"), first),
                self.pass(2, self.badge(Tone::Good, "accepted"), None, second),
                self.delivery("The base has not moved since the run began."),
            ],
            ..self.base(Tone::Good, "Accepted · countersigned", sentence)
        }
    }

    fn needs_review(&self) -> View {
        let sentence = "Three passes used up: the reviewer approved pass 3, but `test` fails on that tree, so it is not accepted. \
                        The branch is delivered and marked; one check and one finding are still open.";
        let contradiction = Step {
            badge: Some(self.badge(Tone::Warn, "approved against failing checks")),
            parts: vec![
                self.note(Tone::Warn, "A contradiction: the reviewer approved a tree on which `test` regressed. What was executed beats what was said, so this is not an acceptance."),
                self.claim("reviewer", "All good now, every test passes. LGTM."),
            ],
            ..self.step(34, Tone::Warn, "Reviewed the work", 8, "10 s", &["$0.10", "9k tokens"])
        };
        let unread = Step {
            badge: Some(self.badge(Tone::Warn, "no verdict")),
            parts: vec![self.note(Tone::Warn, "The answer could not be read as a verdict, and two corrective prompts did not help: `verdict` is missing `approved`.")],
            ..self.step(20, Tone::Warn, "Reviewed the work", 5, "48 s", &["$0.13", "12k tokens"])
        };
        let check_raised = Finding {
            id: self.say("F2"),
            severity: None,
            cites: self.say("test"),
            raised: self.say("check, pass 2"),
            fate: self.badge(Tone::Bad, "still open"),
            text: self.prose("`split::negative_refund` passed on the base and fails now."),
            evidence: None,
            answer: None,
        };
        let could_not_run = Check {
            note: Some(self.line("The sandbox ended before the check did; it was tried again in a fresh one.")),
            output: None,
            ..self.check("lint", self.badge(Tone::Warn, "could not run"), "", "—")
        };
        let flaky = Check { required: false, ..self.check("e2e", self.badge(Tone::Warn, "flaky"), "exit 0", "12 s") };
        View {
            hand_over: Some(HandOver {
                reason: self.line("The last allowed pass was not accepted (`budget_passes`)."),
                open: vec![check_raised, self.finding(self.badge(Tone::Bad, "still open"))],
                next: vec![
                    self.line("Read the pull request: what is open is at its top."),
                    self.line("Take the branch `countersign/42-rounding-loses-a-cent` and finish it by hand."),
                    self.line("Delegate the issue again with more passes or a narrower title."),
                ],
            }),
            groups: vec![
                self.prepare(),
                self.pass(1, self.badge(Tone::Warn, "no verdict"), None, vec![self.did_the_work(10, 2), self.ran_the_checks(15, 4, Tone::Good, vec![self.passed("build", "21 s"), could_not_run]), unread]),
                self.pass(2, self.badge(Tone::Bad, "sent back"), Some("`F1` and `test` went back"), vec![self.first_review(self.badge(Tone::Bad, "still open"))]),
                self.pass(3, self.badge(Tone::Bad, "not accepted"), Some("approved, but `test` regressed"), vec![
                    self.ran_the_checks(30, 7, Tone::Bad, vec![self.regressed(), self.passed("build", "21 s"), flaky]),
                    contradiction,
                ]),
                self.delivery("Marked `needs-review`: the text says that nobody signed this off, and why."),
            ],
            budget: Budget {
                passes: self.meter("3", "3", 1_000, Tone::Warn),
                money: self.meter("$1.84", "$5.00", 368, Tone::Plain),
                clock: self.meter("17 min 40 s", "30 min", 589, Tone::Plain),
            },
            result: Outcome { label: Some(self.say("needs-review")), ..self.base(Tone::Warn, "", "").result },
            ..self.base(Tone::Warn, "Needs review", sentence)
        }
    }

    fn failed(&self) -> View {
        let sentence = "Nothing was started: the base branch `relase/2` does not exist in this repository.";
        let printed = Printed { title: self.say("What git said"), output: Output::new(&self.say("reference 'refs/heads/relase/2' not found"), 0) };
        let step = Step {
            parts: vec![self.note(Tone::Bad, "No branch `relase/2`. The repository has `main` and `release/2`."), Part::Printed(printed)],
            ..self.step(1, Tone::Bad, "Prepared the work tree", 0, "40 ms", &[])
        };
        let group = Group { badge: self.badge(Tone::Bad, "failed"), steps: vec![step], gist: None, tree: None, open: true, ..self.prepare() };
        let base = self.base(Tone::Bad, "Failed · prepare_failed", sentence);
        View {
            heading: Heading { commit: None, base: self.say("relase/2"), ..base.heading },
            issue: Issue { body: String::new(), done: Vec::new() },
            groups: vec![group],
            budget: Budget {
                passes: self.meter("0", "3", 0, Tone::Plain),
                money: self.meter("$0.00", "$5.00", 0, Tone::Plain),
                clock: self.meter("1 s", "30 min", 1, Tone::Plain),
            },
            result: Outcome {
                delivery: self.badge(Tone::Plain, "nothing to deliver"),
                note: Some(self.line("Name a branch that exists and delegate again.")),
                branch: None,
                label: None,
            },
            ..base
        }
    }

    fn running(&self) -> View {
        let reviewing = Step { took: None, ..self.step(20, Tone::Live, "Reviewing the work", 5, "", &[]) };
        let steps = vec![self.did_the_work(10, 2), self.ran_the_checks(15, 4, Tone::Good, vec![self.passed("build", "21 s"), self.passed("test", "34 s")]), reviewing];
        let base = self.base(Tone::Live, "Going on", "Pass 1 is written and its checks pass; the second agent is reading it.");
        View {
            now: Some(Now {
                doing: self.say("Reviewing the work of pass 1"),
                since: When::clock(TEN + 320),
                waiting: None,
                as_of: When::clock(TEN + 370),
            }),
            groups: vec![self.prepare(), Group { tree: None, ..self.pass(1, self.badge(Tone::Live, "going on"), None, steps) }],
            budget: Budget { money: Meter { used: self.say("—"), thousandths: None, ..base.budget.money }, ..base.budget },
            result: Outcome { delivery: self.badge(Tone::Plain, "not yet"), note: None, branch: None, label: None },
            ..base
        }
    }

    fn waiting(&self) -> View {
        let running = self.running();
        let waiting = Some(self.say("the provider answered 529 (overloaded); tried again at 10:07:30"));
        View { now: running.now.map(|now| Now { waiting, ..now }), scripted: false, ..running }
    }

    fn cancelled(&self) -> View {
        let cut = Step {
            badge: Some(self.badge(Tone::Plain, "cancelled")),
            parts: vec![self.note(Tone::Plain, "Ended 0.4 s after it was asked for. The tree that it left is kept and was not pushed.")],
            ..self.step(10, Tone::Plain, "Did the work", 2, "48 s", &["$0.07", "6k tokens"])
        };
        View {
            groups: vec![self.prepare(), self.pass(1, self.badge(Tone::Plain, "cancelled"), None, vec![cut])],
            result: Outcome {
                delivery: self.badge(Tone::Plain, "not pushed"),
                note: Some(self.line("A cancelled run pushes nothing.")),
                branch: None,
                label: None,
            },
            ..self.base(Tone::Plain, "Cancelled", "Cancelled in pass 1 while the work was being done; nothing was pushed.")
        }
    }

    fn crashed(&self) -> View {
        let printed = Printed { title: self.say("The end of what it printed"), output: Output::new(&self.say("thread 'main' panicked: connection reset"), 0) };
        let crash = Step {
            badge: Some(self.badge(Tone::Bad, "crashed")),
            parts: vec![
                self.note(Tone::Bad, "The agent's answer broke off three times: `connection reset by peer`. No pass is charged for it."),
                Part::Printed(printed),
                Part::Diff(Diff { title: self.say("What it had changed"), files: Vec::new(), open: false }),
            ],
            ..self.step(10, Tone::Bad, "Did the work", 2, "12 s", &["—"])
        };
        let base = self.base(Tone::Bad, "Failed · first_pass_crashed", "The first writing step crashed before anything was kept; there is nothing to deliver.");
        View {
            groups: vec![self.prepare(), Group { tree: None, ..self.pass(1, self.badge(Tone::Bad, "crashed"), Some("not reviewed"), vec![crash]) }],
            result: Outcome { delivery: self.badge(Tone::Plain, "nothing to deliver"), note: None, branch: None, label: None },
            ..base
        }
    }
}
