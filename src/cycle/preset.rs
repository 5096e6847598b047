//! The named review modes: each a preset of the policy's settings.

use std::collections::BTreeMap;
use std::time::Duration;

use super::money::Money;
use super::policy::{AgentChoice, ApproveBy, Criteria, Gate, LateFindings, Policy, Role, Shape, Stance};

/// *Second reader*, the default: a fresh second agent each pass, verdict tool, ledger, no criteria;
/// three passes, five dollars, thirty minutes.
#[must_use]
pub fn second_reader(implementer: AgentChoice, reviewer: AgentChoice) -> Policy {
    Policy {
        shape: Shape::SecondReader,
        memory: BTreeMap::new(),
        stance: Stance::Balanced,
        criteria: Criteria::None,
        evaluate_first: false,
        approve_by: ApproveBy::Verdict,
        closing_report: false,
        goal_audits: 0,
        agents: BTreeMap::from([(Role::Implementer, implementer), (Role::Reviewer, reviewer)]),
        gate: Gate::Never,
        stall_limit: 2,
        dispute_limit: 1,
        late_findings: LateFindings::Person,
        passes: 3,
        money: Money::from_cents(500),
        clock: Duration::from_secs(30 * 60),
        review_reserve: 20,
    }
}
