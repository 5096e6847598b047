//! Made-up runs, one of each kind, for judging the page's looks and its escaping.

mod parts;

use crate::web::diff::Diff;
use crate::web::output::Output;
use crate::web::view::{Meter, Tone};
use crate::web::words::When;

use super::timeline::{Check, Facts, Finding, Group, Part, Printed, Ruling, Step};
use parts::{Sample, Say, TEN};

use super::{Budget, HandOver, Heading, Issue, Now, Outcome, View};

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

impl Sample<'_> {
    fn accepted(&self) -> View {
        let sentence = "Two passes: the first change fixed the split, but the reviewer showed that negative refunds still lose a cent (`src/split.rs:41`); \
                        the second closed it. 3 of 4 checks pass on the delivered tree; the fourth failed before anyone changed anything.";
        let checks = || {
            vec![
                self.passed("build", "21 s"),
                self.passed("lint", "9 s"),
                self.passed("test", "34 s"),
                self.failed_before(),
            ]
        };
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
            parts: vec![
                Part::Rulings(vec![ruling]),
                self.claim("reviewer", "The sum is exact for both signs. Nothing else stands out."),
            ],
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
            kind: self.say("check"),
            cites: self.say("test"),
            raised: self.say("check, pass 2"),
            fate: self.badge(Tone::Bad, "still open"),
            text: self.prose("`split::negative_refund` passed on the base and fails now."),
            evidence: None,
            answer: None,
            ruling: None,
        };
        let could_not_run = Check {
            note: Some(self.line("The sandbox ended before the check did; it was tried again in a fresh one.")),
            output: None,
            ..self.check("lint", self.badge(Tone::Warn, "could not run"), "", "—")
        };
        let flaky = Check { required: false, ..self.check("e2e", self.badge(Tone::Warn, "flaky"), "exit 0", "12 s") };
        View {
            hand_over: Some(HandOver {
                stands: self.line(
                    "The branch is pushed and its pull request is open, marked Needs review: nobody signed it off.",
                ),
                open: vec![check_raised, self.finding(self.badge(Tone::Bad, "still open"))],
                next: vec![
                    self.line("Read the pull request: what is open is at its top."),
                    self.line("Take the branch `countersign/42-rounding-loses-a-cent` and finish it by hand."),
                    self.line("Delegate the issue again with more passes or a narrower title."),
                ],
            }),
            groups: vec![
                self.prepare(),
                self.pass(
                    1,
                    self.badge(Tone::Warn, "no verdict"),
                    None,
                    vec![
                        self.did_the_work(10, 2),
                        self.ran_the_checks(15, 4, Tone::Good, vec![self.passed("build", "21 s"), could_not_run]),
                        unread,
                    ],
                ),
                self.pass(
                    2,
                    self.badge(Tone::Bad, "sent back"),
                    Some("`F1` and `test` went back"),
                    vec![self.first_review(self.badge(Tone::Bad, "still open"))],
                ),
                self.pass(
                    3,
                    self.badge(Tone::Bad, "not accepted"),
                    Some("approved, but `test` regressed"),
                    vec![
                        self.ran_the_checks(
                            30,
                            7,
                            Tone::Bad,
                            vec![self.regressed(), self.passed("build", "21 s"), flaky],
                        ),
                        contradiction,
                    ],
                ),
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
        let printed = Printed {
            title: self.say("What git said"),
            output: Output::new(&self.say("reference 'refs/heads/relase/2' not found"), 0),
        };
        let step = Step {
            parts: vec![
                self.note(Tone::Bad, "No branch `relase/2`. The repository has `main` and `release/2`."),
                Part::Printed(printed),
            ],
            ..self.step(1, Tone::Bad, "Prepared the work tree", 0, "40 ms", &[])
        };
        let group = Group {
            badge: self.badge(Tone::Bad, "failed"),
            steps: vec![step],
            gist: None,
            tree: None,
            open: true,
            ..self.prepare()
        };
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
        let steps = vec![
            self.did_the_work(10, 2),
            self.ran_the_checks(15, 4, Tone::Good, vec![self.passed("build", "21 s"), self.passed("test", "34 s")]),
            reviewing,
        ];
        let base =
            self.base(Tone::Live, "Going on", "Pass 1 is written and its checks pass; the second agent is reading it.");
        View {
            now: Some(Now {
                doing: self.say("Reviewing the work of pass 1"),
                since: When::clock(TEN + 320),
                waiting: None,
                as_of: When::clock(TEN + 370),
            }),
            groups: vec![
                self.prepare(),
                Group { tree: None, ..self.pass(1, self.badge(Tone::Live, "going on"), None, steps) },
            ],
            budget: Budget {
                money: Meter { used: self.say("—"), thousandths: None, ..base.budget.money },
                ..base.budget
            },
            result: Outcome { delivery: self.badge(Tone::Plain, "not yet"), note: None, branch: None, label: None },
            ..base
        }
    }

    fn waiting(&self) -> View {
        let running = self.running();
        let waiting = Some(self.say("the provider answered 529 (overloaded); tried again at 10:07:30"));
        View { now: running.now.map(|now| Now { waiting, ..now }), canned: false, ..running }
    }

    fn cancelled(&self) -> View {
        let cut = Step {
            badge: Some(self.badge(Tone::Plain, "cancelled")),
            parts: vec![self.note(
                Tone::Plain,
                "Ended 0.4 s after it was asked for. The tree that it left is kept and was not pushed.",
            )],
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
            ..self.base(
                Tone::Plain,
                "Cancelled",
                "Cancelled in pass 1 while the work was being done; nothing was pushed.",
            )
        }
    }

    fn crashed(&self) -> View {
        let printed = Printed {
            title: self.say("The end of what it printed"),
            output: Output::new(&self.say("thread 'main' panicked: connection reset"), 0),
        };
        let crash = Step {
            badge: Some(self.badge(Tone::Bad, "crashed")),
            parts: vec![
                self.note(
                    Tone::Bad,
                    "The agent's answer broke off three times: `connection reset by peer`. No pass is charged for it.",
                ),
                Part::Printed(printed),
                Part::Diff(Diff { title: self.say("What it had changed"), files: Vec::new(), open: false }),
            ],
            ..self.step(10, Tone::Bad, "Did the work", 2, "12 s", &["—"])
        };
        let base = self.base(
            Tone::Bad,
            "Failed · first_pass_crashed",
            "The first writing step crashed before anything was kept; there is nothing to deliver.",
        );
        View {
            groups: vec![
                self.prepare(),
                Group {
                    tree: None,
                    ..self.pass(1, self.badge(Tone::Bad, "crashed"), Some("not reviewed"), vec![crash])
                },
            ],
            result: Outcome {
                delivery: self.badge(Tone::Plain, "nothing to deliver"),
                note: None,
                branch: None,
                label: None,
            },
            ..base
        }
    }
}
