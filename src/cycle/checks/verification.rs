//! The result of a verify step: every check's outcome on one tree.

use serde::{Deserialize, Serialize};

use super::{Check, CheckRun, Kind, Outcome, StrictBaseline, judge};
use crate::cycle::id::TreeId;

/// One check with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The check's name.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Whether its outcome can stand in the way of acceptance.
    pub required: bool,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether it changed files that are part of the tree.
    pub changed_tracked_files: bool,
}

/// What the checks of a run said about one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The tree that was checked.
    pub tree: TreeId,
    /// Whether pre-existing failures block.
    pub strict: StrictBaseline,
    /// Every check of the run, in the order in which they run.
    pub outcomes: Vec<Judged>,
}

/// What ran, before and now.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// On the base commit.
    pub baseline: &'a [CheckRun],
    /// On the tree that is judged.
    pub now: &'a [CheckRun],
}

/// An outcome as far as it tells passes apart: a flake counts as passed, and names do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Passed or flaky.
    Passed,
    /// Regressed.
    Regressed,
    /// Fails as it did at the baseline.
    PreExisting,
    /// Nothing is known.
    CouldNotRun,
}

/// The list of (check, outcome) that makes, with the tree, the fingerprint of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VerificationResult(pub Vec<(String, Standing)>);

impl Verification {
    /// Judges every check of `checks` on `tree`; one without attempts could not run.
    #[must_use]
    pub fn judge(tree: TreeId, strict: StrictBaseline, checks: &[Check], runs: Runs<'_>) -> Self {
        let outcomes = checks.iter().map(|check| judged(check, runs)).collect();
        Self { tree, strict, outcomes }
    }

    /// What is compared between passes.
    #[must_use]
    pub fn result(&self) -> VerificationResult {
        let standing = |judged: &Judged| match judged.outcome {
            Outcome::Passed | Outcome::Flaky => Standing::Passed,
            Outcome::Regressed { .. } => Standing::Regressed,
            Outcome::PreExisting => Standing::PreExisting,
            Outcome::CouldNotRun { .. } => Standing::CouldNotRun,
        };
        VerificationResult(self.outcomes.iter().map(|j| (j.name.clone(), standing(j))).collect())
    }

    /// Whether no required check stands in the way. True also where there is none: see
    /// [`Self::any_required_ran`].
    #[must_use]
    pub fn passes(&self) -> bool {
        !self.outcomes.iter().any(|j| j.outcome.blocks(j.required, self.strict))
    }

    /// The required checks that fail and block: what goes back to be fixed.
    pub fn regressed(&self) -> impl Iterator<Item = &Judged> {
        self.blocking(|outcome| matches!(outcome, Outcome::Regressed { .. } | Outcome::PreExisting))
    }

    /// The required checks of which nothing is known.
    pub fn could_not_run(&self) -> impl Iterator<Item = &Judged> {
        self.blocking(|outcome| matches!(outcome, Outcome::CouldNotRun { .. }))
    }

    /// Whether at least one required check told something about this tree.
    #[must_use]
    pub fn any_required_ran(&self) -> bool {
        self.outcomes.iter().any(|j| j.required && !matches!(j.outcome, Outcome::CouldNotRun { .. }))
    }

    fn blocking(&self, of: fn(&Outcome) -> bool) -> impl Iterator<Item = &Judged> {
        self.outcomes.iter().filter(move |j| of(&j.outcome) && j.outcome.blocks(j.required, self.strict))
    }
}

fn judged(check: &Check, runs: Runs<'_>) -> Judged {
    let not_run = CheckRun { check: check.name.clone(), attempts: Vec::new(), changed_tracked_files: false };
    let now = run_of(check, runs.now).unwrap_or(&not_run);
    Judged {
        name: check.name.clone(),
        kind: check.kind,
        required: check.required,
        outcome: judge(check.required, run_of(check, runs.baseline), now),
        changed_tracked_files: now.changed_tracked_files,
    }
}

fn run_of<'a>(check: &Check, runs: &'a [CheckRun]) -> Option<&'a CheckRun> {
    runs.iter().find(|run| run.check == check.name)
}

#[cfg(test)]
mod tests {
    use super::super::{Attempt, AttemptEnd, Cause, Source};
    use super::*;

    fn check(name: &str, kind: Kind, required: bool) -> Check {
        Check {
            name: name.to_owned(),
            kind,
            command: "true".to_owned(),
            directory: String::new(),
            time_limit_s: 60,
            required,
            source: Source::File,
        }
    }

    fn run(name: &str, ends: &[AttemptEnd]) -> CheckRun {
        let attempt = |end: &AttemptEnd| Attempt {
            end: end.clone(),
            duration_ms: 1,
            failing: None,
            digest: "same".to_owned(),
            tail: String::new(),
            log: None,
        };
        let attempts = ends.iter().map(attempt).collect();
        CheckRun { check: name.to_owned(), attempts, changed_tracked_files: false }
    }

    fn verification(checks: &[Check], base: &[CheckRun], now: &[CheckRun], strict: StrictBaseline) -> Verification {
        let tree = "0123456789abcdef0123456789abcdef01234567".parse().expect("forty digits");
        Verification::judge(tree, strict, checks, Runs { baseline: base, now })
    }

    const PASS: &[AttemptEnd] = &[AttemptEnd::Exit(0)];
    const FAIL: &[AttemptEnd] = &[AttemptEnd::Exit(1), AttemptEnd::Exit(1)];
    const FLAKE: &[AttemptEnd] = &[AttemptEnd::Exit(1), AttemptEnd::Exit(0)];
    const CUT: &[AttemptEnd] = &[AttemptEnd::CutByClock];

    #[test]
    fn only_required_checks_stand_in_the_way() {
        let checks = [check("lint", Kind::Lint, false), check("test", Kind::Test, true)];
        let base = [run("lint", PASS), run("test", PASS)];
        let now = [run("lint", FAIL), run("test", PASS)];
        let verified = verification(&checks, &base, &now, StrictBaseline::Off);
        assert!(verified.passes() && verified.any_required_ran());
        assert_eq!(verified.regressed().count(), 0, "an optional failure went back to be fixed");
        assert_eq!(verified.outcomes[0].outcome, Outcome::Regressed { new: std::collections::BTreeSet::new() });
    }

    #[test]
    fn a_check_without_a_run_is_not_a_passed_one() {
        let checks = [check("test", Kind::Test, true), check("build", Kind::Build, true)];
        let verified = verification(&checks, &[], &[run("build", PASS)], StrictBaseline::Off);
        assert!(!verified.passes());
        let missing: Vec<_> = verified.could_not_run().map(|j| (j.name.as_str(), &j.outcome)).collect();
        assert_eq!(missing, [("test", &Outcome::CouldNotRun { cause: Cause::NotRun })]);
        assert!(verified.any_required_ran(), "the build ran");
    }

    #[test]
    fn nothing_to_run_is_neither_a_pass_that_ran_nor_a_failure() {
        let verified = verification(&[], &[], &[], StrictBaseline::Off);
        assert!(verified.passes() && !verified.any_required_ran());
        let optional = [check("lint", Kind::Lint, false)];
        let verified = verification(&optional, &[], &[run("lint", PASS)], StrictBaseline::Off);
        assert!(verified.passes() && !verified.any_required_ran());
        let cut = verification(&[check("test", Kind::Test, true)], &[], &[run("test", CUT)], StrictBaseline::Off);
        assert!(!cut.passes() && !cut.any_required_ran());
    }

    #[test]
    fn a_strict_baseline_sends_old_failures_back() {
        let checks = [check("test", Kind::Test, true)];
        let runs = [run("test", FAIL)];
        let lenient = verification(&checks, &runs, &runs, StrictBaseline::Off);
        assert!(lenient.passes() && lenient.regressed().count() == 0);
        let strict = verification(&checks, &runs, &runs, StrictBaseline::On);
        assert!(!strict.passes());
        assert_eq!(strict.regressed().map(|j| j.name.as_str()).collect::<Vec<_>>(), ["test"]);
        assert_eq!(strict.outcomes[0].outcome, Outcome::PreExisting, "its name stays what it is");
        assert_eq!(lenient.result(), strict.result());
    }

    #[test]
    fn a_flake_does_not_make_a_pass_look_different() {
        let checks = [check("test", Kind::Test, true)];
        let base = [run("test", PASS)];
        let passed = verification(&checks, &base, &[run("test", PASS)], StrictBaseline::Off);
        let flaky = verification(&checks, &base, &[run("test", FLAKE)], StrictBaseline::Off);
        let red = verification(&checks, &base, &[run("test", FAIL)], StrictBaseline::Off);
        assert_eq!(flaky.outcomes[0].outcome, Outcome::Flaky);
        assert!(flaky.passes());
        assert_eq!(passed.result(), flaky.result());
        assert_ne!(passed.result(), red.result());
    }

    #[test]
    fn checks_run_build_typecheck_lint_test_other_and_keep_their_order_within_a_kind() {
        let mut checks: Vec<Check> = [
            ("e2e", Kind::Other),
            ("unit", Kind::Test),
            ("fmt", Kind::Lint),
            ("compile", Kind::Build),
            ("slow", Kind::Test),
            ("tsc", Kind::Typecheck),
        ]
        .map(|(name, kind)| check(name, kind, true))
        .to_vec();
        super::super::in_running_order(&mut checks);
        let names: Vec<_> = checks.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["compile", "tsc", "fmt", "unit", "slow", "e2e"]);
    }

    #[test]
    fn a_verification_survives_being_stored() {
        let checks = [check("test", Kind::Test, true), check("build", Kind::Build, true)];
        let ends = [AttemptEnd::OutOfMemory { limit: 7 }, AttemptEnd::SandboxFault("gone".to_owned())];
        let runs = [run("test", FAIL), run("build", &ends)];
        let verified = verification(&checks, &[], &runs, StrictBaseline::On);
        let json = serde_json::to_string(&verified).expect("plain data");
        assert_eq!(serde_json::from_str::<Verification>(&json).ok(), Some(verified));
        let json = serde_json::to_string(&runs).expect("plain data");
        assert_eq!(serde_json::from_str::<Vec<CheckRun>>(&json).ok().as_deref(), Some(&runs[..]));
    }
}
