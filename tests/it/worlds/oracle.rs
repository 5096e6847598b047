//! The rules of acceptance and hand-over restated from the facts alone.
//!
//! Reads events, never a folded run, and shares no code with `plan`, `apply` or the ledger: it keeps its
//! own short list of what is open and its own idea of what a failing check means.

use std::collections::BTreeMap;

use countersign::cycle::answers::Claim;
use countersign::cycle::checks::{Attempt, AttemptEnd, CheckRun};
use countersign::cycle::event::Event;
use countersign::cycle::id::TreeId;
use countersign::cycle::policy::LateFindings;
use countersign::cycle::policy::Policy;
use countersign::cycle::step::{Change, Citation, Cited, Preparation, Reviewed, Step, StepResult, Written};
use countersign::cycle::verdict::{RulingKind, Severity};

/// What one check's attempts mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    Passed,
    Regressed,
    PreExisting,
    Flaky,
    CouldNotRun,
}

impl Means {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Regressed => "regressed",
            Self::PreExisting => "pre_existing",
            Self::Flaky => "flaky",
            Self::CouldNotRun => "could_not_run",
        }
    }
}

/// The situation after a review, as the table's rows name it.
#[derive(Debug, Clone)]
pub(super) struct Situation {
    pub(super) row: &'static str,
    /// Outcomes, or `revise`, that this row may lead to when none of the earlier stops applies.
    pub(super) then: &'static [&'static str],
}

/// Stops that come before the table.
pub(super) const BEFORE_THE_TABLE: &[&str] =
    &["needs_review(disputed)", "needs_review(stalled)", "needs_review(oscillating)"];

#[derive(Debug, Default)]
struct Entry {
    is_open: bool,
    /// Raised by a person.
    is_remark: bool,
    /// The last writing step said `fixed`.
    called_fixed: bool,
    /// This review ruled it met with evidence.
    met: bool,
}

/// The facts as the oracle keeps them.
pub(super) struct Oracle {
    policy: Policy,
    step: Option<Step>,
    preparation: Option<Preparation>,
    base: Vec<CheckRun>,
    change: Option<Change>,
    wrote_whole: bool,
    /// Checks' meanings on the tree of the last verify step.
    meanings: Option<(TreeId, Vec<Means>)>,
    review: Option<Reviewed>,
    /// Open things by id: findings, remarks.
    open: BTreeMap<String, Entry>,
    opened_now: Vec<String>,
    found: usize,
    remarked: usize,
    pass: u8,
    /// All trees that writing steps left, and those of them that were verified.
    trees: Vec<TreeId>,
    verified: Vec<TreeId>,
    pub(super) delivering: bool,
}

impl Oracle {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            step: None,
            preparation: None,
            base: vec![],
            change: None,
            wrote_whole: false,
            meanings: None,
            review: None,
            open: BTreeMap::new(),
            opened_now: vec![],
            found: 0,
            remarked: 0,
            pass: 0,
            trees: vec![],
            verified: vec![],
            delivering: false,
        }
    }

    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::StepBegan { step, .. } => {
                self.step = Some(*step);
                self.delivering |= *step == Step::Deliver;
            }
            Event::StepFinished { result, .. } => self.finished(result),
            Event::Remarked { .. } if !self.delivering => {
                self.remarked += 1;
                let entry = Entry { is_open: true, is_remark: true, ..Entry::default() };
                self.open.insert(format!("R{}", self.remarked), entry);
            }
            Event::Remarked { .. }
            | Event::Delegated { .. }
            | Event::RemarkConfirmed { .. }
            | Event::CancelAsked { .. }
            | Event::Decided { .. } => {}
        }
    }

    fn finished(&mut self, result: &StepResult) {
        match result {
            StepResult::Prepared(found) => self.preparation = Some((**found).clone()),
            StepResult::Measured(runs) => self.base.clone_from(runs),
            StepResult::Written(written) => self.written(written),
            StepResult::Verified { tree, runs } => self.checked(tree, runs),
            StepResult::Reviewed(reviewed) => self.reviewed(reviewed),
            StepResult::PrepareFailed(_)
            | StepResult::Delivered(_)
            | StepResult::NotRun { .. }
            | StepResult::Interrupted
            | StepResult::Stopped => {}
        }
    }

    fn written(&mut self, written: &Written) {
        self.pass += 1;
        (self.meanings, self.review) = (None, None);
        self.opened_now.clear();
        self.wrote_whole = matches!(written, Written::Done { .. });
        self.change = match written {
            Written::Done { change, .. } => Some(change.clone()),
            Written::Cut { change, .. } | Written::Crashed { change, .. } => change.clone(),
        };
        self.trees.extend(self.change.iter().map(|c| c.tree.clone()));
        let Written::Done { answers, .. } = written else { return };
        for entry in self.open.values_mut() {
            (entry.met, entry.called_fixed) = (false, false);
        }
        for answer in answers {
            if let Some(entry) = self.open.get_mut(&answer.id) {
                entry.called_fixed = answer.answer == Claim::Fixed;
            }
        }
    }

    fn checked(&mut self, tree: &TreeId, runs: &[CheckRun]) {
        let Some(preparation) = &self.preparation else { return };
        let of = |runs: &[CheckRun], name: &str| runs.iter().find(|r| r.check == name).map(|r| r.attempts.clone());
        let meanings: Vec<Means> = preparation
            .checks
            .iter()
            .map(|c| {
                means(&of(&self.base, &c.name).unwrap_or_default(), &of(runs, &c.name).unwrap_or_default(), c.required)
            })
            .collect();
        self.meanings = Some((tree.clone(), meanings));
        if !self.required().contains(&Means::CouldNotRun) {
            self.verified.push(tree.clone());
        }
    }

    fn reviewed(&mut self, reviewed: &Reviewed) {
        self.review = Some(reviewed.clone());
        let Reviewed::Verdict { verdict, findings, read_the_diff, .. } = reviewed else { return };
        for ruling in verdict.rulings.iter().filter(|_| *read_the_diff) {
            let Some(entry) = self.open.get_mut(&ruling.id).filter(|e| e.is_open) else { continue };
            match (entry.is_remark, ruling.ruling) {
                (false, RulingKind::Closed) => entry.is_open = false,
                (true, RulingKind::Met) => entry.met = entry.called_fixed && !ruling.note.trim().is_empty(),
                _ => {}
            }
        }
        let hold_late = self.policy.late_findings == LateFindings::Hold;
        for cited in findings.iter().filter(|c| holds(c)) {
            let spared = cited.finding.severity == Severity::Low || (self.late(cited) && !hold_late);
            if verdict.approved && spared {
                continue;
            }
            self.found += 1;
            let id = format!("F{}", self.found);
            self.opened_now.push(id.clone());
            self.open.insert(id, Entry { is_open: true, ..Entry::default() });
        }
    }

    fn late(&self, cited: &Cited) -> bool {
        self.pass > 1 && cited.citation == Citation::Holds { new_ground: false }
    }

    fn required(&self) -> Vec<Means> {
        let (Some(preparation), Some((_, meanings))) = (&self.preparation, &self.meanings) else { return vec![] };
        preparation.checks.iter().zip(meanings).filter(|(c, _)| c.required).map(|(_, m)| *m).collect()
    }

    /// The meanings of the last verify step, for counting.
    pub(super) fn meanings(&self) -> Vec<Means> {
        self.meanings.iter().flat_map(|(_, m)| m.clone()).collect()
    }

    fn checks_pass(&self) -> bool {
        let strict = self.preparation.as_ref().is_some_and(|p| p.rules.strict_baseline);
        self.required().iter().all(|m| match m {
            Means::Passed | Means::Flaky => true,
            Means::PreExisting => !strict,
            Means::Regressed | Means::CouldNotRun => false,
        })
    }

    fn may_go_unchecked(&self) -> bool {
        self.preparation.as_ref().is_some_and(|p| p.rules.accept_without_checks)
    }

    fn on_this_tree(&self) -> bool {
        let checked = self.meanings.as_ref().map(|(tree, _)| tree);
        checked.is_some() && checked == self.change.as_ref().map(|c| &c.tree) && self.wrote_whole
    }

    /// Findings (or checks, which follow from the checks themselves) that are open.
    fn open_findings(&self) -> impl Iterator<Item = &String> {
        self.open.iter().filter(|(_, e)| e.is_open && !e.is_remark).map(|(id, _)| id)
    }

    fn open_remarks(&self) -> usize {
        self.open.values().filter(|e| e.is_remark && !e.met).count()
    }

    fn is_protected(&self) -> bool {
        self.change.as_ref().is_some_and(|c| !c.protected.is_empty())
    }

    /// The conditions of acceptance, one by one.
    pub(super) fn may_accept(&self) -> bool {
        let signed =
            matches!(&self.review, Some(Reviewed::Verdict { verdict, read_the_diff: true, .. }) if verdict.approved);
        let some_ran = self.required().iter().any(|m| *m != Means::CouldNotRun) || self.may_go_unchecked();
        signed
            && self.on_this_tree()
            && some_ran
            && self.checks_pass()
            && self.open_findings().count() == 0
            && self.open_remarks() == 0
            && !self.is_protected()
            && !self.is_back_at_the_base()
    }

    /// Nothing of this pass would go out: an earlier tree would.
    fn is_back_at_the_base(&self) -> bool {
        self.must_deliver() != self.change.as_ref().map(|c| &c.tree)
    }

    /// The tree that must go out with a hand-over, if there is one.
    pub(super) fn must_deliver(&self) -> Option<&TreeId> {
        let base = self.preparation.as_ref().map(|p| &p.tree)?;
        let differs = |t: &&TreeId| *t != base;
        self.verified.iter().rev().find(differs).or_else(|| self.trees.iter().rev().find(differs))
    }

    /// Which row of the table the last review is in, if a review is what happened last.
    pub(super) fn situation(&self) -> Option<Situation> {
        let row = |row, then| Some(Situation { row, then });
        let (verdict, read, findings) = match self.review.as_ref()? {
            Reviewed::Verdict { verdict, read_the_diff, findings, .. } => (verdict, *read_the_diff, findings),
            Reviewed::Unreadable { .. } => return row("unreadable", &["needs_review(no_verdict)"]),
            Reviewed::Cut(_) | Reviewed::Crashed { .. } => return None,
        };
        if verdict.approved && !read {
            return row("approved without having read the diff", &["needs_review(no_verdict)"]);
        }
        let (pass, no_checks) = (self.checks_pass(), self.required().is_empty() && !self.may_go_unchecked());
        let (findings_open, remarks_open) = (self.open_findings().count(), self.open_remarks());
        if verdict.approved {
            return match pass {
                true if no_checks => row("approved/pass: no required check exists", &["needs_review(no_checks)"]),
                true if self.may_accept() => row("approved/pass: all conditions hold", &["accepted(countersigned)"]),
                true if self.is_back_at_the_base() => {
                    row("approved/pass: back at the base", &["revise", "needs_review(budget_passes)"])
                }
                true if findings_open == 0 && remarks_open > 0 && !self.is_protected() => {
                    row("approved/pass: all but a person's remarks", &["revise", "needs_review(remark_unconfirmed)"])
                }
                true if findings_open == 0 && remarks_open == 0 => {
                    row("approved/pass: only a protected path", &["needs_review(protected_paths)"])
                }
                true => row("approved/pass: some still open", &["revise", "needs_review(budget_passes)"]),
                false => row("approved/fail: contradiction", &["revise", "needs_review(budget_passes)"]),
            };
        }
        let held: Vec<&Cited> = findings.iter().filter(|c| holds(c)).collect();
        let all_late = !held.is_empty() && held.iter().all(|c| self.late(c));
        let others = self.open_findings().filter(|id| !self.opened_now.contains(id)).count() + remarks_open;
        if pass && all_late && others == 0 && self.policy.late_findings == LateFindings::Person {
            return row("rejected/pass: all late, nothing else", &["needs_review(late_findings_only)"]);
        }
        if !held.is_empty() || findings_open + remarks_open > 0 {
            return row("rejected/any: something holds or is open", &["revise", "needs_review(budget_passes)"]);
        }
        if !pass {
            return row("rejected/fail: no finding that holds", &["revise", "needs_review(budget_passes)"]);
        }
        row("rejected/pass: nothing holds, nothing open", &["needs_review(rejected_without_citation)"])
    }
}

fn holds(cited: &Cited) -> bool {
    matches!(cited.citation, Citation::Holds { .. })
}

fn told_nothing(attempt: &Attempt) -> bool {
    matches!(attempt.end, AttemptEnd::CutByClock | AttemptEnd::SandboxFault(_))
}

/// What a check's attempts mean against those on the base.
fn means(base: &[Attempt], now: &[Attempt], required: bool) -> Means {
    let Some(last) = now.last() else { return Means::CouldNotRun };
    let missing = |a: &Attempt| matches!(a.end, AttemptEnd::Exit(126 | 127));
    let green = |a: &Attempt| a.end == AttemptEnd::Exit(0);
    if told_nothing(last) {
        return Means::CouldNotRun;
    }
    if green(&now[0]) {
        return Means::Passed;
    }
    if now.iter().any(green) {
        return Means::Flaky;
    }
    if now.len() < 2 && required {
        return Means::CouldNotRun;
    }
    let base_failed = base.last().filter(|_| !base.iter().any(green) && !base.iter().any(told_nothing));
    let Some(before) = base_failed else { return Means::Regressed };
    if missing(last) {
        return if missing(before) { Means::CouldNotRun } else { Means::Regressed };
    }
    let names = |a: &Attempt| {
        let by_itself = matches!(a.end, AttemptEnd::Exit(code) if code != 0 && code != 126 && code != 127);
        a.failing.clone().filter(|n| by_itself && !n.is_empty())
    };
    let same = match (names(before), names(last)) {
        (Some(before), Some(now)) => now.is_subset(&before),
        (None, None) => before.end == last.end && before.digest == last.digest,
        _ => false,
    };
    if same { Means::PreExisting } else { Means::Regressed }
}
