//! A run that is played: each call is one step of the run, named after it.

use super::*;
use crate::cycle::answers::{Answer, Claim};
use crate::cycle::checks::{Attempt, AttemptEnd, Check, CheckRun, Kind, Source};
use crate::cycle::event::Event;
use crate::cycle::id::{CommitId, RunId, TreeId};
use crate::cycle::issue::Issue;
use crate::cycle::policy::{AgentChoice, Effort, Policy};
use crate::cycle::preset::second_reader;
use crate::cycle::step::{Change, Citation, Preparation, Rules, StepResult};
use crate::cycle::verdict::{Citation as Cites, Finding, Ruling, RulingKind, Severity};

/// A run under way. The base is tree 0.
#[derive(Clone)]
pub(super) struct Play {
    pub(super) run: Run,
    /// The path that every change touches and nobody may change and be accepted.
    protected: Vec<String>,
}

/// What a run is played over.
pub(super) struct Setting {
    pub(super) policy: Policy,
    pub(super) rules: Rules,
    pub(super) checks: Vec<Check>,
    /// How the required check goes on the base, as in [`Play::verify`].
    pub(super) base: &'static str,
}

impl Default for Setting {
    fn default() -> Self {
        let agent = AgentChoice { provider: "p".into(), model: "m".into(), effort: Effort::Low };
        Self {
            policy: second_reader(agent.clone(), agent),
            rules: Rules::default(),
            checks: vec![check("test", true)],
            base: "0",
        }
    }
}

pub(super) fn check(name: &str, required: bool) -> Check {
    Check {
        name: name.into(),
        kind: Kind::Test,
        command: "true".into(),
        directory: String::new(),
        time_limit_s: 60,
        required,
        source: Source::File,
    }
}

fn tree(n: u8) -> TreeId {
    format!("{n:040x}").parse().unwrap()
}

fn commit(n: u8) -> CommitId {
    format!("{n:040x}").parse().unwrap()
}

/// `0` passed, `1` exit status 1 and so on, `1:a,b` with these failing tests, `clock` cut by the run's clock, `fault`
/// the sandbox broke.
fn attempt(text: &str) -> Attempt {
    let (end, names) = text.split_once(':').map_or((text, None), |(end, names)| (end, Some(names)));
    let failing = names.map(|names| names.split(',').map(str::to_owned).collect());
    let end = match end {
        "clock" => AttemptEnd::CutByClock,
        "fault" => AttemptEnd::SandboxFault("gone".into()),
        code => AttemptEnd::Exit(code.parse().unwrap()),
    };
    Attempt { end, duration_ms: 1, failing, digest: text.into(), tail: String::new(), log: None }
}

impl Play {
    /// A run that was just delegated.
    pub(super) fn delegated(policy: Policy) -> Self {
        let issue = Issue { number: 1, title: "t".into(), body: String::new(), done: vec![], base: "main".into() };
        Self { run: Run::new(RunId::from_u128(1), issue, policy), protected: Vec::new() }
    }

    /// A run that is about to write, over this setting.
    pub(super) fn over(setting: Setting) -> Self {
        let Setting { policy, rules, checks, base } = setting;
        let mut play = Self::delegated(policy);
        let preparation =
            Preparation { base: commit(0), tree: tree(0), branch: "b".into(), checks, why: Vec::new(), rules };
        play.step(StepResult::Prepared(Box::new(preparation)));
        let runs = play.runs(base);
        play.step(StepResult::Measured(runs));
        play
    }

    /// An ordinary run with so many passes.
    pub(super) fn passes(passes: u8) -> Self {
        let ordinary = Setting::default();
        Self::over(Setting { policy: Policy { passes, ..ordinary.policy }, ..ordinary })
    }

    /// All changes from now on touch a protected path.
    pub(super) fn touching_what_is_protected(mut self) -> Self {
        self.protected = vec!["ci/x".into()];
        self
    }

    pub(super) fn take(&mut self, event: &Event) {
        self.run.apply(event).unwrap();
    }

    /// What is next, in words: a step, or the outcome.
    pub(super) fn next(&self) -> String {
        match plan(&self.run) {
            Next::Begin { step, .. } => step.to_string(),
            Next::Decide(outcome) => outcome.to_string(),
            Next::InFlight => "in flight".into(),
            Next::Over => "over".into(),
        }
    }

    /// The step that is next with its allowance and pause; there must be one.
    pub(super) fn due(&self) -> (Step, Allowance, Duration) {
        match plan(&self.run) {
            Next::Begin { step, allowance, pause } => (step, allowance, pause),
            other @ (Next::Decide(_) | Next::InFlight | Next::Over) => panic!("no step is due: {other:?}"),
        }
    }

    pub(super) fn begin(&mut self) {
        let (step, allowance, pause) = self.due();
        let used = if step == Step::Deliver { self.run.used } else { self.run.used + pause };
        self.take(&Event::StepBegan { step, allowance, used });
    }

    /// The step that is next comes to this, costs a cent if it is a paid one, and takes a second.
    pub(super) fn step(&mut self, result: StepResult) {
        let (step, ..) = self.due();
        let cost = if step.is_paid() { Money::from_cents(1) } else { Money::ZERO };
        self.step_costing(result, cost, Duration::from_secs(1));
    }

    pub(super) fn step_costing(&mut self, result: StepResult, spent: Money, took: Duration) {
        self.begin();
        let used = self.run.used + took;
        self.take(&Event::StepFinished { result, spent, used });
    }

    pub(super) fn change(&self, n: u8) -> Change {
        Change {
            commit: commit(n),
            tree: tree(n),
            left_out: vec![],
            protected: self.protected.clone(),
            files: 1,
            added: 1,
            removed: 0,
        }
    }

    /// The agent leaves this tree, and answers `F1` for fixed, `!F1` for disputed.
    pub(super) fn write_answering(&mut self, n: u8, answers: &[&str]) -> &mut Self {
        let answer = |id: &&str| match id.strip_prefix('!') {
            Some(id) => Answer { id: id.into(), answer: Claim::Disputed { reason: "no".into() } },
            None => Answer { id: (*id).into(), answer: Claim::Fixed },
        };
        let answers = answers.iter().map(answer).collect();
        self.wrote(Written::Done { change: self.change(n), report: "done".into(), answers })
    }

    pub(super) fn write(&mut self, n: u8) -> &mut Self {
        self.write_answering(n, &[])
    }

    pub(super) fn wrote(&mut self, written: Written) -> &mut Self {
        let (step, ..) = self.due();
        assert!(matches!(step, Step::Implement | Step::Revise(_)), "{step} is due");
        self.step(StepResult::Written(Box::new(written)));
        self
    }

    fn runs(&self, attempts: &str) -> Vec<CheckRun> {
        let attempts: Vec<Attempt> = attempts.split_whitespace().map(attempt).collect();
        let run =
            |c: &Check| CheckRun { check: c.name.clone(), attempts: attempts.clone(), changed_tracked_files: false };
        self.run.checks().iter().map(run).collect()
    }

    /// The attempts of every check on the pass's tree: `0`, `1 1`, `1 0`, `clock`, `fault`.
    pub(super) fn verify(&mut self, attempts: &str) -> &mut Self {
        let (step, ..) = self.due();
        assert!(matches!(step, Step::Verify(_)), "{step} is due");
        let tree = self.run.pass().unwrap().change().unwrap().tree.clone();
        let runs = self.runs(attempts);
        self.step(StepResult::Verified { tree, runs });
        self
    }

    pub(super) fn review(&mut self, said: Said) -> &mut Self {
        self.reviewed(said.reviewed())
    }

    pub(super) fn reviewed(&mut self, reviewed: Reviewed) -> &mut Self {
        let (step, ..) = self.due();
        assert!(matches!(step, Step::Review(_)), "{step} is due");
        self.step(StepResult::Reviewed(Box::new(reviewed)));
        self
    }

    pub(super) fn remark(&mut self) -> &mut Self {
        self.take(&Event::Remarked { by: "p".into(), text: "and this".into() });
        self
    }

    /// What is decided is recorded.
    pub(super) fn decide(&mut self) -> &mut Self {
        match plan(&self.run) {
            Next::Decide(outcome) => self.take(&Event::Decided { outcome }),
            other @ (Next::Begin { .. } | Next::InFlight | Next::Over) => panic!("nothing is decided: {other:?}"),
        }
        self
    }

    /// The ids of what is open.
    pub(super) fn open(&self) -> Vec<&str> {
        self.run.ledger.open().map(|o| o.id.as_str()).collect()
    }

    /// The number of the tree that would go out.
    pub(super) fn deliverable(&self) -> Option<CommitId> {
        self.run.deliverable().map(|c| c.commit.clone())
    }

    pub(super) fn goes_out(&self, n: u8) -> bool {
        self.deliverable() == Some(commit(n))
    }
}

/// A verdict, put together from what a test is about.
#[derive(Clone)]
pub(super) struct Said(Reviewed);

fn verdict(approved: bool) -> Said {
    let verdict = Verdict {
        approved,
        digest: "d".into(),
        summary: "s".into(),
        findings: vec![],
        rulings: vec![],
        criteria: vec![],
        score: None,
    };
    Said(Reviewed::Verdict { verdict, read_the_diff: true, findings: vec![], not_shown: vec![] })
}

pub(super) fn approves() -> Said {
    verdict(true)
}

pub(super) fn rejects() -> Said {
    verdict(false)
}

impl Said {
    fn with(mut self, change: impl FnOnce(&mut Verdict, &mut Vec<Cited>, &mut bool)) -> Self {
        if let Reviewed::Verdict { verdict, findings, read_the_diff, .. } = &mut self.0 {
            change(verdict, findings, read_the_diff);
        }
        self
    }

    fn found(self, severity: Severity, citation: Citation) -> Self {
        let cites = Cites::Lines { path: "a.rs".into(), base: false, from: 1, to: 1 };
        let finding = Finding { severity, citation: Ok(cites), text: "wrong".into(), evidence: "read".into() };
        self.with(|_, findings, _| findings.push(Cited { finding, citation }))
    }

    /// A finding of medium severity that holds and that no earlier review could have made.
    pub(super) fn finding(self) -> Self {
        self.found(Severity::Medium, Citation::Holds { new_ground: true })
    }

    /// The same of low severity.
    pub(super) fn low(self) -> Self {
        self.found(Severity::Low, Citation::Holds { new_ground: true })
    }

    /// A grave finding that holds and that an earlier review could have made.
    pub(super) fn late(self) -> Self {
        self.found(Severity::Blocker, Citation::Holds { new_ground: false })
    }

    /// A grave finding whose citation does not hold.
    pub(super) fn unfounded(self) -> Self {
        self.found(Severity::Blocker, Citation::Discarded { reason: "no such line".into() })
    }

    pub(super) fn rules(self, id: &str, ruling: RulingKind) -> Self {
        self.with(|verdict, _, _| verdict.rulings.push(Ruling { id: id.into(), ruling, note: "seen".into() }))
    }

    pub(super) fn closes(self, id: &str) -> Self {
        self.rules(id, RulingKind::Closed)
    }

    pub(super) fn upholds(self, id: &str) -> Self {
        self.rules(id, RulingKind::StillOpen)
    }

    pub(super) fn reviewed(self) -> Reviewed {
        self.0
    }

    /// It does not repeat the digest that stood in the diff.
    pub(super) fn unread(self) -> Self {
        self.with(|_, _, read| *read = false)
    }
}
