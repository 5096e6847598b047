//! Which situations came up, and how often.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by name.
#[derive(Debug, Default)]
pub(super) struct Visits(BTreeMap<String, u64>);

/// Every row of the table of what follows a review, in its order.
pub(super) const ROWS: &[&str] = &[
    "approved/pass: no required check exists",
    "approved/pass: all conditions hold",
    "approved/pass: back at the base",
    "approved/pass: all but a person's remarks",
    "approved/pass: only a protected path",
    "approved/pass: some still open",
    "approved/fail: contradiction",
    "rejected/pass: all late, nothing else",
    "rejected/any: something holds or is open",
    "rejected/fail: no finding that holds",
    "rejected/pass: nothing holds, nothing open",
    "unreadable",
    "approved without having read the diff",
];

/// Every outcome that this version can reach, as it prints itself.
pub(super) const OUTCOMES: &[&str] = &[
    "accepted(countersigned)",
    "needs_review(budget_passes)",
    "needs_review(budget_money)",
    "needs_review(budget_clock)",
    "needs_review(stalled)",
    "needs_review(oscillating)",
    "needs_review(disputed)",
    "needs_review(late_findings_only)",
    "needs_review(remark_unconfirmed)",
    "needs_review(no_verdict)",
    "needs_review(rejected_without_citation)",
    "needs_review(no_checks)",
    "needs_review(verification_unavailable)",
    "needs_review(agent_crashed)",
    "needs_review(protected_paths)",
    "needs_review(internal_error)",
    "failed(prepare_failed)",
    "failed(first_pass_crashed)",
    "failed(no_change)",
    "failed(budget_money)",
    "failed(budget_clock)",
    "failed(internal_error)",
    "cancelled",
];

/// Every outcome of a check.
pub(super) const CHECKS: &[&str] = &["passed", "regressed", "pre_existing", "flaky", "could_not_run"];

impl Visits {
    /// Counts one.
    pub(super) fn count(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    /// Fails unless everything that must come up came up at least so often.
    pub(super) fn insist(&self, least: u64) {
        let must = ROWS.iter().chain(OUTCOMES).chain(CHECKS);
        let rare: Vec<String> = must
            .map(|what| (what, self.0.get(*what).copied().unwrap_or(0)))
            .filter(|(_, times)| *times < least)
            .map(|(what, times)| format!("{what}: {times}"))
            .collect();
        assert!(rare.is_empty(), "these came up fewer than {least} times:\n{}", rare.join("\n"));
    }
}

impl fmt::Display for Visits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, times)| writeln!(f, "{times:>8}  {what}"))
    }
}
