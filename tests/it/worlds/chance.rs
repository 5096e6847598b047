//! What may happen in a world: agents that are good, bad or absurd, checks that pass, fail and flake.

use std::collections::BTreeSet;
use std::time::Duration;

use countersign::cycle::answers::{Answer, Claim};
use countersign::cycle::checks::{Attempt, AttemptEnd, Check, CheckRun, Kind, Source};
use countersign::cycle::id::{CommitId, RunId, TreeId};
use countersign::cycle::issue::Issue;
use countersign::cycle::money::Money;
use countersign::cycle::outcome::Ceiling;
use countersign::cycle::policy::{AgentChoice, Effort, LateFindings, Policy};
use countersign::cycle::preset::second_reader;
use countersign::cycle::run::Run;
use countersign::cycle::step::{
    Allowance, Change, Citation, Cited, Delivered, Preparation, Reviewed, Rules, Step, StepResult, Written,
};
use countersign::cycle::verdict::{Citation as Cites, Finding, Ruling, RulingKind, Severity, Verdict};
use fastrand::Rng;

/// One world: its dice and its character.
pub(super) struct World {
    pub(super) dice: Rng,
    /// Hundredths: how often things go wrong that are nobody's judgement (crashes, cuts, faults).
    trouble: u8,
    /// How many different trees the implementer can come up with.
    trees: u8,
    /// Hundredths: how often a check passes.
    green: u8,
    /// Hundredths: how often the reviewer approves.
    kind: u8,
    /// Hundredths: how often findings cite something that holds.
    careful: u8,
    /// Hundredths: how often a finding that holds could have been made before.
    late: u8,
    /// Hundredths: how often the sandbox of a check fails.
    faulty: u8,
    /// The step that kills its node whenever it is performed.
    deadly: Option<&'static str>,
    checks: Vec<Check>,
    rules: Rules,
}

fn base() -> TreeId {
    tree(0)
}

fn tree(n: u8) -> TreeId {
    format!("{n:040x}").parse().expect("forty digits")
}

fn commit(n: u8) -> CommitId {
    format!("{n:040x}").parse().expect("forty digits")
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Rng::with_seed(seed);
        let checks = (0..dice.u8(0..4)).map(|n| check(n, dice.u8(..100) < 80)).collect();
        let protected = if dice.u8(..100) < 15 { vec!["ci/**".to_owned()] } else { Vec::new() };
        let rules =
            Rules { accept_without_checks: dice.u8(..100) < 20, strict_baseline: dice.u8(..100) < 20, protected };
        Self {
            trouble: [0, 2, 12][dice.usize(..3)],
            trees: dice.u8(2..7),
            green: [25, 70, 95][dice.usize(..3)],
            kind: [10, 50, 85][dice.usize(..3)],
            careful: [10, 60, 95][dice.usize(..3)],
            late: [20, 90, 100][dice.usize(..3)],
            faulty: [0, 0, 0, 50][dice.usize(..4)],
            deadly: ["implement", "verify", "review", "revise"].get(dice.usize(..60)).copied(),
            checks,
            rules,
            dice,
        }
    }

    fn one_in_hundred(&mut self, hundredths: u8) -> bool {
        self.dice.u8(..100) < hundredths
    }

    fn trouble(&mut self) -> bool {
        let trouble = self.trouble;
        self.one_in_hundred(trouble)
    }

    pub(super) fn run(&mut self) -> Run {
        let agent = AgentChoice { provider: "p".into(), model: "m".into(), effort: Effort::Low };
        let policy = Policy {
            passes: self.dice.u8(1..7),
            stall_limit: self.dice.u8(2..4),
            dispute_limit: self.dice.u8(1..3),
            late_findings: if self.dice.bool() { LateFindings::Person } else { LateFindings::Hold },
            money: Money::from_cents([50, 500, 100_000][self.dice.usize(..3)]),
            clock: Duration::from_secs([240, 1800, 86_400][self.dice.usize(..3)]),
            ..second_reader(agent.clone(), agent)
        };
        let issue = Issue { number: 1, title: "t".into(), body: String::new(), done: vec![], base: "main".into() };
        Run::new(RunId::from_u128(1), issue, policy)
    }

    /// What a step comes to, what it costs and how long it takes.
    pub(super) fn perform(&mut self, run: &Run, step: Step, allowance: Allowance) -> (StepResult, Money, Duration) {
        let mut took = Duration::from_secs(self.dice.u64(1..40)).min(allowance.clock);
        let mut spent = Money::from_cents(i64::from(self.dice.u8(0..30))).min(allowance.money);
        let result = if self.deadly == Some(step.name()) {
            StepResult::Interrupted
        } else if self.trouble() {
            self.setback()
        } else {
            self.result(run, step)
        };
        if let StepResult::Written(written) = &result {
            let Written::Cut { ceiling, .. } = **written else { return (result, spent, took) };
            match ceiling {
                Ceiling::Clock => took = allowance.clock,
                Ceiling::Money => spent = allowance.money,
            }
        }
        (result, spent, took)
    }

    fn setback(&mut self) -> StepResult {
        match self.dice.u8(..4) {
            0 | 1 => StepResult::NotRun { cause: "away".into(), wait_ms: self.dice.u64(..90_000) },
            2 => StepResult::Interrupted,
            _ => StepResult::Stopped,
        }
    }

    fn result(&mut self, run: &Run, step: Step) -> StepResult {
        match step {
            Step::Prepare => self.prepared(),
            Step::Baseline => StepResult::Measured(self.check_runs(&tree(0))),
            Step::Implement | Step::Revise(_) => StepResult::Written(Box::new(self.written(run))),
            Step::Verify(_) => {
                let tree = run.pass().and_then(|p| p.change()).expect("there is a tree").tree.clone();
                StepResult::Verified { runs: self.check_runs(&tree), tree }
            }
            Step::Review(pass) => StepResult::Reviewed(Box::new(self.reviewed(run, pass))),
            Step::Deliver => StepResult::Delivered(if self.trouble() {
                Delivered::Failed { cause: "refused".into(), again: self.dice.bool() }
            } else {
                Delivered::Done { commit: commit(1), pull_request: 1 }
            }),
        }
    }

    fn prepared(&mut self) -> StepResult {
        if self.trouble() {
            return StepResult::PrepareFailed("the repository has no commit yet".into());
        }
        StepResult::Prepared(Box::new(Preparation {
            base: commit(0),
            tree: tree(0),
            branch: "countersign/1-t".into(),
            checks: self.checks.clone(),
            why: vec![],
            rules: self.rules.clone(),
        }))
    }

    fn check_runs(&mut self, tree: &TreeId) -> Vec<CheckRun> {
        let checks = self.checks.clone();
        checks.iter().map(|check| self.check_run(check, tree)).collect()
    }

    /// Mostly a function of tree and check, so that trees that come back bring their results back.
    fn check_run(&mut self, check: &Check, tree: &TreeId) -> CheckRun {
        let (green, faulty) = (self.green, self.faulty);
        let mut fixed = Rng::with_seed(fnv(&[tree.as_str(), &check.name]) ^ u64::from(green));
        let attempts = if *tree != base() && self.one_in_hundred(faulty) {
            vec![attempt(AttemptEnd::SandboxFault("gone".into()), None, "")]
        } else if self.trouble() {
            let end = if self.dice.bool() { AttemptEnd::CutByClock } else { AttemptEnd::SandboxFault("gone".into()) };
            vec![attempt(end, None, "")]
        } else if fixed.u8(..100) < green {
            vec![attempt(AttemptEnd::Exit(0), None, "")]
        } else {
            let first = failure(&mut fixed);
            let second = if self.one_in_hundred(8) { attempt(AttemptEnd::Exit(0), None, "") } else { first.clone() };
            vec![first, second]
        };
        CheckRun { check: check.name.clone(), attempts, changed_tracked_files: false }
    }

    fn change(&mut self, run: &Run) -> Change {
        let stay =
            run.pass().and_then(|p| run.passes.get(usize::from(p.number).saturating_sub(2))).and_then(|p| p.change());
        let lowest = u8::from(self.dice.u8(..100) < 80);
        let tree = match stay {
            Some(change) if self.dice.u8(..100) < 25 => change.tree.clone(),
            _ => tree(self.dice.u8(lowest..self.trees)),
        };
        let protected =
            if self.rules.protected.is_empty() || self.dice.u8(..100) < 30 { vec![] } else { vec!["ci/x".into()] };
        Change { commit: commit(1), tree, left_out: vec![], protected, files: 1, added: 1, removed: 0 }
    }

    fn written(&mut self, run: &Run) -> Written {
        let change = self.change(run);
        if self.trouble() {
            let change = self.dice.bool().then_some(change);
            return match self.dice.u8(..3) {
                0 => Written::Crashed { cause: "broke".into(), change },
                1 => Written::Cut { ceiling: Ceiling::Clock, change },
                _ => Written::Cut { ceiling: Ceiling::Money, change },
            };
        }
        let mut ids: Vec<String> = run.ledger.all().iter().map(|o| o.id.clone()).collect();
        ids.push("F99".into());
        let disputes = [0, 30, 100][self.dice.usize(..3)];
        ids.retain(|_| self.dice.u8(..100) < 80);
        let answers = ids.into_iter().map(|id| {
            let disputed = self.dice.u8(..100) < disputes;
            let answer = if disputed { Claim::Disputed { reason: "no".into() } } else { Claim::Fixed };
            Answer { id, answer }
        });
        Written::Done { change, report: "done".into(), answers: answers.collect() }
    }

    fn reviewed(&mut self, run: &Run, pass: u8) -> Reviewed {
        if self.trouble() {
            return match self.dice.u8(..3) {
                0 => Reviewed::Crashed { cause: "broke".into() },
                1 => Reviewed::Cut(Ceiling::Money),
                _ => Reviewed::Cut(Ceiling::Clock),
            };
        }
        if self.one_in_hundred(4) {
            return Reviewed::Unreadable { why: "no verdict".into(), raw: "LGTM!".into() };
        }
        let kind = self.kind;
        let approved = self.one_in_hundred(kind);
        let many = if approved && self.dice.bool() { 0 } else { self.dice.usize(..4) };
        let findings: Vec<Cited> = (0..many).map(|_| self.cited(pass)).collect();
        let rulings = self.rulings(run, approved);
        let verdict = Verdict {
            approved,
            digest: "d".into(),
            summary: "s".into(),
            findings: findings.iter().map(|c| c.finding.clone()).collect(),
            rulings,
            criteria: vec![],
            score: None,
        };
        let read_the_diff = !self.one_in_hundred(3);
        Reviewed::Verdict { verdict, read_the_diff, findings, not_shown: vec![] }
    }

    fn cited(&mut self, pass: u8) -> Cited {
        let severity = [Severity::Blocker, Severity::High, Severity::Medium, Severity::Low][self.dice.usize(..4)];
        let cites = Cites::Lines { path: "a.rs".into(), base: false, from: 1, to: 1 };
        let finding = Finding { severity, citation: Ok(cites), text: format!("found in {pass}"), evidence: "e".into() };
        let careful = self.careful;
        let citation = if self.one_in_hundred(careful) {
            let late = self.late;
            Citation::Holds { new_ground: !self.one_in_hundred(late) }
        } else {
            Citation::Discarded { reason: "no such line".into() }
        };
        Cited { finding, citation }
    }

    fn rulings(&mut self, run: &Run, approved: bool) -> Vec<Ruling> {
        let mut ids: Vec<String> = run.ledger.all().iter().map(|o| o.id.clone()).collect();
        ids.push("F77".into());
        let often = if approved || self.late > 50 { 92 } else { 50 };
        let mut rulings = Vec::new();
        for id in ids {
            if self.dice.u8(..100) < 10 {
                continue;
            }
            let good = self.dice.u8(..100) < often;
            let ruling = match (id.starts_with('R'), good) {
                (true, true) => RulingKind::Met,
                (true, false) => {
                    [RulingKind::NotMet, RulingKind::CannotJudge, RulingKind::Closed][self.dice.usize(..3)]
                }
                (false, true) => RulingKind::Closed,
                (false, false) => [RulingKind::StillOpen, RulingKind::StillOpen, RulingKind::Met][self.dice.usize(..3)],
            };
            let note = if self.dice.u8(..100) < 95 { "seen".into() } else { String::new() };
            rulings.push(Ruling { id, ruling, note });
        }
        rulings
    }
}

fn check(n: u8, required: bool) -> Check {
    Check {
        name: format!("check-{n}"),
        kind: Kind::Test,
        command: "true".into(),
        directory: String::new(),
        time_limit_s: 60,
        required,
        source: Source::File,
    }
}

fn failure(fixed: &mut Rng) -> Attempt {
    let end = match fixed.u8(..20) {
        0 => AttemptEnd::TimedOut,
        1 => AttemptEnd::Signal(9),
        2 => AttemptEnd::OutOfMemory { limit: 1 << 30 },
        3 => AttemptEnd::Exit(127),
        _ => AttemptEnd::Exit(1),
    };
    let names: BTreeSet<String> = (0..3).filter(|_| fixed.bool()).map(|n| format!("test_{n}")).collect();
    attempt(end, fixed.bool().then_some(names), ["x", "y"][fixed.usize(..2)])
}

fn attempt(end: AttemptEnd, failing: Option<BTreeSet<String>>, digest: &str) -> Attempt {
    Attempt { end, duration_ms: 1, failing, digest: digest.into(), tail: String::new(), log: None }
}

/// FNV-1a, so that a tree and a check always come to the same result.
fn fnv(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|p| p.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
