//! What comes next: the rules, and nothing else.
//!
//! [`plan`] is a pure function of a run's recorded facts. No model takes part in it and no clock is read
//! in it, so replaying the same facts gives the same answer; that is also how a run goes on after a crash.

use std::time::Duration;

use super::apply::DEATHS;
use super::checks::{Cause, Verification, baseline_problems};
use super::money::Money;
use super::outcome::{Assurance, Ceiling, Failure, Outcome, Stop};
use super::policy::LateFindings;
use super::run::{Delivery, Pass, Phase, Run, Verified};
use super::step::{Allowance, Cited, Reviewed, Step, Written};
use super::verdict::Verdict;

/// How often a verify step is performed in which a required check could not run.
const VERIFY_TRIES: u8 = 2;
/// How long one delivery may take; it is outside the run's clock.
const DELIVERY_CLOCK: Duration = Duration::from_secs(120);

/// What comes next for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Begin this step, after the pause.
    Begin {
        /// Which one.
        step: Step,
        /// What it may use.
        allowance: Allowance,
        /// How long to wait first, because it never really ran when it was tried before.
        pause: Duration,
    },
    /// Settle the outcome.
    Decide(Outcome),
    /// Nothing: a step is in flight.
    InFlight,
    /// Nothing, for good.
    Over,
}

/// What a run does after a decision point: a step, or its end.
enum Turn {
    Step(Step),
    End(Outcome),
}

/// What stands in the way of accepting the last pass (the numbered conditions of acceptance).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    NotApproved,
    NoRequiredCheck,
    ChecksBlock,
    OpenObligation,
    OpenRemark,
    ProtectedPath,
    /// The tree that would go out is another one: this pass went back to the base.
    NotDelivered,
}

/// Derives what comes next.
#[must_use]
pub fn plan(run: &Run) -> Next {
    if matches!(run.phase, Phase::Busy { .. }) {
        return Next::InFlight;
    }
    if run.cancel.is_some() && !run.deliver_began && run.outcome != Some(Outcome::Cancelled) {
        return Next::Decide(Outcome::Cancelled);
    }
    match &run.outcome {
        Some(outcome) => after_decision(run, outcome),
        None => match turn(run) {
            Turn::Step(step) => begin(run, step),
            Turn::End(outcome) => Next::Decide(outcome),
        },
    }
}

fn after_decision(run: &Run, outcome: &Outcome) -> Next {
    let confirmed = *outcome == Outcome::NeedsReview(Stop::RemarkUnconfirmed) && last_obstacles(run).is_empty();
    if confirmed {
        return Next::Decide(Outcome::Accepted(Assurance::Countersigned));
    }
    match run.delivery {
        Delivery::Pending => begin_delivery(run),
        Delivery::None | Delivery::Done { .. } | Delivery::Failed { .. } => Next::Over,
    }
}

fn begin_delivery(run: &Run) -> Next {
    let allowance = Allowance { money: Money::ZERO, clock: DELIVERY_CLOCK };
    Next::Begin { step: Step::Deliver, allowance, pause: pause(run, Step::Deliver) }
}

/// Begins a step if the ceilings still allow it.
fn begin(run: &Run, step: Step) -> Next {
    let is_writing = matches!(step, Step::Implement | Step::Revise(_));
    let policy = &run.policy;
    let (money, clock) =
        if is_writing { (policy.writing_money(), policy.writing_clock()) } else { (policy.money, policy.clock) };
    if run.setback.as_ref().is_some_and(|s| s.step == step && s.deaths >= DEATHS) {
        return Next::Decide(hand_over(run, Stop::InternalError));
    }
    let pause = pause(run, step);
    let left = clock.saturating_sub(run.used).saturating_sub(pause);
    if left.is_zero() {
        return Next::Decide(hand_over(run, Stop::BudgetClock));
    }
    if step.is_paid() && run.spent >= money {
        return Next::Decide(hand_over(run, Stop::BudgetMoney));
    }
    let money = if step.is_paid() { money.minus(run.spent) } else { Money::ZERO };
    Next::Begin { step, allowance: Allowance { money, clock: left }, pause }
}

/// How long to wait before a step that was set back: 2 s, doubled each time, at most a minute, and never
/// less than what was asked for.
fn pause(run: &Run, step: Step) -> Duration {
    run.setback.as_ref().filter(|s| s.step == step && s.tries > 0).map_or(Duration::ZERO, |s| {
        let doubled = Duration::from_secs(1 << s.tries.min(6)).min(Duration::from_secs(60));
        doubled.max(s.wait)
    })
}

/// A stop hands the work over; where there is none, the run has failed.
fn hand_over(run: &Run, stop: Stop) -> Outcome {
    match run.deliverable() {
        Some(_) => Outcome::NeedsReview(stop),
        None => Outcome::Failed(Failure::Stopped(stop)),
    }
}

fn stop(run: &Run, reason: Stop) -> Turn {
    Turn::End(hand_over(run, reason))
}

fn over_ceiling(run: &Run, ceiling: Ceiling) -> Turn {
    match ceiling {
        Ceiling::Money => stop(run, Stop::BudgetMoney),
        Ceiling::Clock => stop(run, Stop::BudgetClock),
    }
}

fn turn(run: &Run) -> Turn {
    if let Some(failure) = &run.failure {
        return Turn::End(Outcome::Failed(failure.clone()));
    }
    let Some(preparation) = &run.preparation else { return Turn::Step(Step::Prepare) };
    let Some(baseline) = &run.baseline else { return Turn::Step(Step::Baseline) };
    let problems = baseline_problems(&preparation.checks, baseline);
    if problems.iter().any(|(_, cause)| *cause == Cause::Clock) {
        return stop(run, Stop::BudgetClock);
    }
    if let Some((check, cause)) = problems.first() {
        let command = preparation.checks.iter().find(|c| c.name == *check).map_or("", |c| c.command.as_str());
        let cause = format!("the required check {check} (`{command}`) cannot run on the base commit: {cause}");
        return Turn::End(Outcome::Failed(Failure::PrepareFailed(cause)));
    }
    match run.pass() {
        None => Turn::Step(Step::Implement),
        Some(pass) => in_pass(run, pass),
    }
}

fn in_pass(run: &Run, pass: &Pass) -> Turn {
    match &pass.written {
        None if pass.number == 1 => Turn::Step(Step::Implement),
        None => Turn::Step(Step::Revise(pass.number)),
        Some(Written::Crashed { .. }) if pass.number == 1 => Turn::End(Outcome::Failed(Failure::FirstPassCrashed)),
        Some(Written::Crashed { .. }) => stop(run, Stop::AgentCrashed),
        Some(Written::Cut { ceiling, .. }) => after_cut(run, pass, *ceiling),
        Some(Written::Done { change, .. }) => {
            if pass.number == 1 && run.base_tree() == Some(&change.tree) {
                return Turn::End(Outcome::Failed(Failure::NoChange));
            }
            after_writing(run, pass)
        }
    }
}

/// A ceiling that cuts a step decides at once; what was written is still verified, which costs no money.
fn after_cut(run: &Run, pass: &Pass, ceiling: Ceiling) -> Turn {
    let has_work = pass.change().is_some_and(|c| run.base_tree() != Some(&c.tree));
    let has_time = run.used < run.policy.clock;
    if has_work && has_time && is_to_be_verified(pass) {
        return Turn::Step(Step::Verify(pass.number));
    }
    over_ceiling(run, ceiling)
}

/// Whether the checks have not run on this pass's tree, or a required one could not and is tried once more.
fn is_to_be_verified(pass: &Pass) -> bool {
    pass.verification.as_ref().is_none_or(|v| !v.is_whole() && !v.was_cut() && v.tries < VERIFY_TRIES)
}

fn after_writing(run: &Run, pass: &Pass) -> Turn {
    if is_to_be_verified(pass) {
        return Turn::Step(Step::Verify(pass.number));
    }
    if pass.verification.as_ref().is_some_and(Verified::was_cut) {
        return stop(run, Stop::BudgetClock);
    }
    if pass.verified_change().is_none() {
        return stop(run, Stop::VerificationUnavailable);
    }
    match &pass.review {
        None => Turn::Step(Step::Review(pass.number)),
        Some(Reviewed::Cut(ceiling)) => over_ceiling(run, *ceiling),
        Some(Reviewed::Crashed { .. }) => stop(run, Stop::AgentCrashed),
        Some(Reviewed::Unreadable { .. }) => stop(run, Stop::NoVerdict),
        // An approval by somebody who did not read the diff is no approval, and not a rejection either.
        Some(Reviewed::Verdict { verdict, read_the_diff: false, .. }) if verdict.approved => stop(run, Stop::NoVerdict),
        Some(Reviewed::Verdict { verdict, findings, .. }) => after_verdict(run, pass, verdict, findings),
    }
}

/// The order of stops after a review: first match wins.
fn after_verdict(run: &Run, pass: &Pass, verdict: &Verdict, findings: &[Cited]) -> Turn {
    let obstacles = last_obstacles(run);
    if obstacles.is_empty() {
        return Turn::End(Outcome::Accepted(Assurance::Countersigned));
    }
    if run.ledger.is_disputed(run.policy.dispute_limit) {
        return stop(run, Stop::Disputed);
    }
    if is_stalled(run) {
        return stop(run, Stop::Stalled);
    }
    if is_oscillating(run) {
        return stop(run, Stop::Oscillating);
    }
    let checks_pass = !obstacles.contains(&Obstacle::ChecksBlock);
    match (verdict.approved, checks_pass) {
        (true, true) => approved_and_green(run, &obstacles),
        // A contradiction: the failing checks go back.
        (true, false) => revise(run, Stop::BudgetPasses),
        (false, true) => rejected_and_green(run, pass, findings),
        // Failing checks are specific enough, whatever the reviewer cited.
        (false, false) => revise(run, Stop::BudgetPasses),
    }
}

fn approved_and_green(run: &Run, obstacles: &[Obstacle]) -> Turn {
    if obstacles.contains(&Obstacle::NoRequiredCheck) {
        return stop(run, Stop::NoChecks);
    }
    match obstacles {
        [Obstacle::OpenRemark] => revise(run, Stop::RemarkUnconfirmed),
        [Obstacle::ProtectedPath] => stop(run, Stop::ProtectedPaths),
        _ => revise(run, Stop::BudgetPasses),
    }
}

fn rejected_and_green(run: &Run, pass: &Pass, findings: &[Cited]) -> Turn {
    let mut held = findings.iter().filter(|c| c.holds()).peekable();
    let found = held.peek().is_some();
    let all_late = found && held.all(|c| c.is_late(pass.number));
    let nothing_else = run.ledger.open().all(|o| pass.movement.opened.contains(&o.id));
    if all_late && nothing_else && run.policy.late_findings == LateFindings::Person {
        return stop(run, Stop::LateFindingsOnly);
    }
    if found || run.ledger.open().next().is_some() {
        return revise(run, Stop::BudgetPasses);
    }
    stop(run, Stop::RejectedWithoutCitation)
}

/// Goes round again, unless the last allowed pass was this one.
fn revise(run: &Run, at_the_last_pass: Stop) -> Turn {
    let next = run.passes.len() + 1;
    match u8::try_from(next) {
        Ok(next) if run.charged_passes() < usize::from(run.policy.passes) => Turn::Step(Step::Revise(next)),
        _ => stop(run, at_the_last_pass),
    }
}

/// What stands between the last pass and its acceptance, each kind once.
fn last_obstacles(run: &Run) -> Vec<Obstacle> {
    let Some(pass) = run.pass() else { return vec![Obstacle::NotApproved] };
    let approved =
        matches!(&pass.review, Some(Reviewed::Verdict { verdict, read_the_diff: true, .. }) if verdict.approved);
    let verified = pass.verified_change().and(pass.verification.as_ref()).map(|v| &v.result);
    let may_skip = run.preparation.as_ref().is_some_and(|p| p.rules.accept_without_checks);
    let (remarks, others): (Vec<_>, Vec<_>) = run.ledger.open().partition(|o| o.is_remark());
    let is_whole = matches!(pass.written, Some(Written::Done { .. }));
    let found = [
        (Obstacle::NotApproved, !approved || !is_whole),
        (Obstacle::NoRequiredCheck, !may_skip && !verified.is_some_and(Verification::any_required_ran)),
        (Obstacle::ChecksBlock, !verified.is_some_and(Verification::passes)),
        (Obstacle::OpenObligation, !others.is_empty()),
        (Obstacle::OpenRemark, !remarks.is_empty()),
        (Obstacle::ProtectedPath, pass.change().is_some_and(|c| !c.protected.is_empty())),
        (Obstacle::NotDelivered, run.deliverable().map(|c| &c.tree) != pass.change().map(|c| &c.tree)),
    ];
    found.into_iter().filter_map(|(obstacle, is)| is.then_some(obstacle)).collect()
}

/// Whether the last passes reproduced one tree and one result, and the last of them moved nothing.
fn is_stalled(run: &Run) -> bool {
    let limit = usize::from(run.policy.stall_limit);
    let Some(first) = run.passes.len().checked_sub(limit) else { return false };
    let Some(last) = run.pass().filter(|p| p.movement.is_still()) else { return false };
    let Some(print) = last.fingerprint() else { return false };
    run.passes[first..].iter().all(|p| p.fingerprint().as_ref() == Some(&print))
}

/// Whether the last pass reproduced one that is not the one before it; the base is pass 0.
fn is_oscillating(run: &Run) -> bool {
    let Some(print) = run.pass().and_then(Pass::fingerprint) else { return false };
    let (Some(base), Some(before_last)) = (run.base_fingerprint(), run.passes.len().checked_sub(1)) else {
        return false;
    };
    let earlier = std::iter::once(Some(base)).chain(run.passes.iter().map(Pass::fingerprint));
    earlier.take(before_last).any(|p| p.as_ref() == Some(&print))
}

#[cfg(test)]
mod tests;
