//! The fold: what each fact does to a run.

use std::time::Duration;

use super::answers::{Answer, Claim};
use super::checks::{CheckRun, Judged, Outcome as CheckOutcome, Runs, StrictBaseline, Verification};
use super::event::Event;
use super::id::TreeId;
use super::ledger::{Raised, Raiser, Remark, Why};
use super::money::Money;
use super::outcome::{Failure, Outcome};
use super::policy::LateFindings;
use super::run::{Delivery, Illegal, Pass, Phase, Run, Setback, Verified};
use super::step::{Citation, Cited, Delivered, Reviewed, Step, StepResult, Written};
use super::verdict::Severity;

/// How often a delivery is tried before it is given up.
pub const DELIVERY_TRIES: u32 = 8;

/// How often a node may die under one step before the run ends as an internal error, or its delivery as failed.
pub const DEATHS: u32 = 3;

fn illegal(event: &'static str, why: &'static str) -> Illegal {
    Illegal { event, why }
}

impl Run {
    /// Applies the next fact.
    ///
    /// # Errors
    /// [`Illegal`] if it cannot follow; the run is then as it was before.
    pub fn apply(&mut self, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::Delegated { .. } => return Err(illegal("delegated", "the run was delegated before")),
            Event::StepBegan { step, allowance, used } => {
                self.begin(*step)?;
                self.phase = Phase::Busy { step: *step, allowance: *allowance, seq: self.version + 1 };
                self.read_clock(*used);
            }
            Event::StepFinished { result, spent, used } => {
                let Phase::Busy { step, .. } = self.phase else {
                    return Err(illegal("step_finished", "no step is in flight"));
                };
                self.finish(step, result)?;
                self.phase = Phase::Ready;
                self.charge(step, *spent);
                self.read_clock(*used);
            }
            Event::Remarked { by, text } => self.remark(by, text),
            Event::RemarkConfirmed { id } => {
                let pass = self.pass().map_or(0, |p| p.number);
                if !self.ledger.confirm(id, pass) {
                    return Err(illegal("remark_confirmed", "there is no such remark"));
                }
            }
            Event::CancelAsked { by } => {
                if !self.deliver_began && !self.is_over() {
                    self.cancel = Some(by.clone());
                }
            }
            Event::Decided { outcome } => {
                if self.phase != Phase::Ready {
                    return Err(illegal("decided", "a step is in flight"));
                }
                self.delivery = Delivery::after(outcome);
                self.outcome = Some(outcome.clone());
            }
        }
        self.version += 1;
        Ok(())
    }

    fn read_clock(&mut self, used: Duration) {
        self.used = self.used.max(used);
    }

    fn charge(&mut self, step: Step, spent: Money) {
        self.spent = self.spent.plus(spent);
        if let Some(pass) = step.pass().and_then(|n| self.passes.iter_mut().find(|p| p.number == n)) {
            pass.spent = pass.spent.plus(spent);
        }
    }

    fn begin(&mut self, step: Step) -> Result<(), Illegal> {
        if self.phase != Phase::Ready {
            return Err(illegal("step_began", "another step is in flight"));
        }
        if (step == Step::Deliver) != self.outcome.is_some() {
            return Err(illegal("step_began", "delivery, and nothing else, follows the decision"));
        }
        match step {
            Step::Deliver => self.deliver_began = true,
            Step::Implement | Step::Revise(_) => self.begin_pass(step.pass().unwrap_or(1))?,
            Step::Verify(pass) | Step::Review(pass) => {
                if self.pass().is_none_or(|p| p.number != pass) {
                    return Err(illegal("step_began", "it belongs to the pass under way"));
                }
            }
            Step::Prepare | Step::Baseline => {}
        }
        Ok(())
    }

    fn begin_pass(&mut self, number: u8) -> Result<(), Illegal> {
        let is_retry = self.pass().is_some_and(|p| p.number == number && p.written.is_none());
        if is_retry {
            return Ok(());
        }
        if usize::from(number) != self.passes.len() + 1 {
            return Err(illegal("step_began", "passes count one by one"));
        }
        self.passes.push(Pass::new(number));
        self.ledger.reopen_met();
        Ok(())
    }

    fn finish(&mut self, step: Step, result: &StepResult) -> Result<(), Illegal> {
        match (step, result) {
            (Step::Prepare, StepResult::Prepared(found)) => self.preparation = Some((**found).clone()),
            (Step::Prepare, StepResult::PrepareFailed(cause)) => {
                self.failure = Some(Failure::PrepareFailed(cause.clone()));
            }
            (Step::Baseline, StepResult::Measured(runs)) => self.baseline = Some(runs.clone()),
            (Step::Implement | Step::Revise(_), StepResult::Written(written)) => self.written(written),
            (Step::Verify(_), StepResult::Verified { tree, runs }) => self.verified(tree, runs)?,
            (Step::Review(_), StepResult::Reviewed(reviewed)) => self.reviewed(reviewed),
            (Step::Deliver, StepResult::Delivered(delivered)) => return self.delivered(delivered),
            (_, StepResult::NotRun { cause, wait_ms }) => {
                self.set_back(step, cause, Duration::from_millis(*wait_ms));
                return Ok(());
            }
            (_, StepResult::Stopped) => return Ok(()),
            (_, StepResult::Interrupted) => {
                self.interrupted(step);
                return Ok(());
            }
            _ => return Err(illegal("step_finished", "the result is not one of the step in flight")),
        }
        self.setback = None;
        Ok(())
    }

    fn set_back(&mut self, step: Step, cause: &str, wait: Duration) {
        let before = self.setback.take().filter(|s| s.step == step);
        let (tries, deaths) = before.map_or((0, 0), |s| (s.tries, s.deaths));
        self.setback = Some(Setback { step, cause: cause.to_owned(), tries: tries + 1, wait, deaths });
    }

    fn interrupted(&mut self, step: Step) {
        let before = self.setback.take().filter(|s| s.step == step);
        let (tries, deaths) = before.map_or((0, 0), |s| (s.tries, s.deaths));
        let cause = "the service died while it ran".to_owned();
        // Whatever was decided stays decided: only the delivery has failed.
        if step == Step::Deliver && deaths + 1 >= DEATHS {
            self.delivery = Delivery::Failed { cause: format!("{cause}, {DEATHS} times") };
        }
        self.setback = Some(Setback { step, cause, tries, wait: Duration::ZERO, deaths: deaths + 1 });
    }

    fn written(&mut self, written: &Written) {
        let before = self.passes.len().checked_sub(2).and_then(|i| self.passes[i].change()).map(|c| c.tree.clone());
        let Some(pass) = self.passes.last_mut() else { return };
        pass.written = Some(written.clone());
        let Written::Done { change, answers, .. } = written else { return };
        self.ledger.answer(pass.number, answers, &mut pass.movement);
        let is_only_disputes = before.as_ref() == Some(&change.tree) && answers.iter().all(is_dispute);
        if is_only_disputes && !pass.movement.disputed.is_empty() {
            pass.is_free = self.ledger.take_free_pass(&pass.movement.disputed);
        }
    }

    fn verified(&mut self, tree: &TreeId, runs: &[CheckRun]) -> Result<(), Illegal> {
        let strict = self.strictness();
        let checks = self.checks().to_vec();
        let baseline = self.baseline.clone().unwrap_or_default();
        let Some(pass) = self.passes.last_mut() else { return Err(illegal("step_finished", "no pass is under way")) };
        if pass.change().is_none_or(|c| c.tree != *tree) {
            return Err(illegal("step_finished", "the checks ran on another tree"));
        }
        let result = Verification::judge(tree.clone(), strict, &checks, Runs { baseline: &baseline, now: runs });
        let known =
            result.outcomes.iter().filter(|j| j.required && !matches!(j.outcome, CheckOutcome::CouldNotRun { .. }));
        for judged in known {
            let blocking = judged.outcome.blocks(true, strict).then(|| raised_by_check(judged));
            self.ledger.check(pass.number, blocking, &judged.name, &mut pass.movement);
        }
        let tries = pass.verification.as_ref().map_or(0, |v| v.tries) + 1;
        pass.verification = Some(Verified { runs: runs.to_vec(), result, tries });
        Ok(())
    }

    fn strictness(&self) -> StrictBaseline {
        let is_strict = self.preparation.as_ref().is_some_and(|p| p.rules.strict_baseline);
        if is_strict { StrictBaseline::On } else { StrictBaseline::Off }
    }

    fn reviewed(&mut self, reviewed: &Reviewed) {
        let holds_late = self.policy.late_findings == LateFindings::Hold;
        let Some(pass) = self.passes.last_mut() else { return };
        pass.review = Some(reviewed.clone());
        let Reviewed::Verdict { verdict, findings, read_the_diff, .. } = reviewed else { return };
        // Whoever did not read the diff cannot tell what became of anything; a finding is looked up, whoever made it.
        if *read_the_diff {
            self.ledger.rule(pass.number, &verdict.rulings, &mut pass.movement);
        }
        for cited in findings.iter().filter(|c| c.holds()) {
            let why = remark_only(verdict.approved, cited, pass.number, holds_late);
            if let Some(why) = why {
                self.remarks.push(Remark { pass: pass.number, finding: cited.finding.clone(), why });
            } else {
                let id = self.ledger.raise(pass.number, raised_by_reviewer(cited));
                pass.movement.opened.push(id);
            }
        }
    }

    fn delivered(&mut self, delivered: &Delivered) -> Result<(), Illegal> {
        self.delivery.take(delivered);
        match delivered {
            Delivered::Failed { cause, again: true } => {
                self.set_back(Step::Deliver, cause, Duration::ZERO);
                let tries = self.setback.as_ref().map_or(0, |s| s.tries);
                if tries >= DELIVERY_TRIES {
                    self.delivery = Delivery::Failed { cause: cause.clone() };
                }
            }
            Delivered::Done { .. } | Delivered::Failed { again: false, .. } => self.setback = None,
        }
        Ok(())
    }

    /// A remark before the cut-off withdraws an acceptance that was decided and not yet delivered.
    fn remark(&mut self, by: &str, text: &str) {
        if self.deliver_began || self.is_over() {
            return;
        }
        let pass = self.pass().map_or(0, |p| p.number);
        let raised = Raised {
            raiser: Raiser::Person(by.to_owned()),
            severity: Severity::High,
            cites: String::new(),
            text: text.to_owned(),
            evidence: String::new(),
        };
        self.ledger.raise(pass, raised);
        if matches!(self.outcome, Some(Outcome::Accepted(_))) {
            self.outcome = None;
            self.delivery = Delivery::None;
        }
    }
}

fn is_dispute(answer: &Answer) -> bool {
    matches!(answer.answer, Claim::Disputed { .. })
}

/// Whether, and why, a finding that holds opens nothing. Severity matters only under approval.
fn remark_only(approved: bool, cited: &Cited, pass: u8, holds_late: bool) -> Option<Why> {
    if !approved {
        return None;
    }
    if cited.is_late(pass) && !holds_late {
        return Some(Why::Late);
    }
    (cited.finding.severity == Severity::Low).then_some(Why::Low)
}

fn raised_by_check(judged: &Judged) -> Raised {
    let name = &judged.name;
    let text = match &judged.outcome {
        CheckOutcome::Regressed { new } if !new.is_empty() => {
            let names: Vec<&str> = new.iter().map(String::as_str).collect();
            format!("The check `{name}` fails: {}.", names.join(", "))
        }
        CheckOutcome::PreExisting => format!("The check `{name}` fails, as it did on the base."),
        CheckOutcome::Regressed { .. }
        | CheckOutcome::Passed
        | CheckOutcome::Flaky
        | CheckOutcome::CouldNotRun { .. } => {
            format!("The check `{name}` fails.")
        }
    };
    Raised {
        raiser: Raiser::Check(name.clone()),
        severity: Severity::Blocker,
        cites: name.clone(),
        text,
        evidence: "run by the service".to_owned(),
    }
}

fn raised_by_reviewer(cited: &Cited) -> Raised {
    let finding = &cited.finding;
    Raised {
        raiser: Raiser::Reviewer,
        severity: finding.severity,
        cites: finding.cites(),
        text: finding.text.clone(),
        evidence: finding.evidence.clone(),
    }
}

impl Cited {
    /// Whether its citation held.
    #[must_use]
    pub fn holds(&self) -> bool {
        matches!(self.citation, Citation::Holds { .. })
    }

    /// Whether it holds, and a review before that of this pass could have made it.
    #[must_use]
    pub fn is_late(&self, pass: u8) -> bool {
        pass > 1 && self.citation == Citation::Holds { new_ground: false }
    }
}
