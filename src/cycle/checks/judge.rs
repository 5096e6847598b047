//! The five outcomes of a check, told from what it did now and what it did at the baseline.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Attempt, AttemptEnd, Check, CheckRun, StrictBaseline};

/// What a check's attempts mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It passed at the first attempt.
    Passed,
    /// It fails, and nothing at the baseline explains it.
    Regressed {
        /// The failing tests that did not fail at the baseline, where names could be read.
        new: BTreeSet<String>,
    },
    /// It fails in no other way than it did at the baseline.
    PreExisting,
    /// It failed and then passed on the same tree.
    Flaky,
    /// Nothing is known about it.
    CouldNotRun {
        /// Why.
        cause: Cause,
    },
}

impl Outcome {
    /// Whether this stands in the way of acceptance.
    #[must_use]
    pub fn blocks(&self, required: bool, strict: StrictBaseline) -> bool {
        required
            && match self {
                Self::Passed | Self::Flaky => false,
                Self::Regressed { .. } | Self::CouldNotRun { .. } => true,
                Self::PreExisting => strict == StrictBaseline::On,
            }
    }
}

/// Why a check could not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The run's wall clock was used up.
    Clock,
    /// The sandbox failed.
    Sandbox {
        /// In the sandbox's words.
        fault: String,
    },
    /// The shell could not find or execute the command.
    CommandMissing {
        /// 126 or 127.
        code: i32,
    },
    /// There is no attempt at all.
    NotRun,
    /// A required check failed once, and there is no second attempt to tell a failure from a flake.
    NotRepeated,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock => f.write_str("the run's wall clock was used up"),
            Self::Sandbox { fault } => write!(f, "the sandbox failed: {fault}"),
            Self::CommandMissing { code: 126 } => f.write_str("its command cannot be executed (exit status 126)"),
            Self::CommandMissing { code } => {
                write!(f, "its command was not found (exit status {code})")
            }
            Self::NotRun => f.write_str("it was not run"),
            Self::NotRepeated => f.write_str("it failed once and was not run a second time"),
        }
    }
}

/// What the attempts of one check say by themselves, before anything is compared.
enum Said<'a> {
    Passed,
    Flaky,
    /// At least one, and two for a required check; none of them passed or was cut.
    Failed(Vec<&'a Attempt>),
    Nothing(Cause),
}

fn said(required: bool, run: Option<&CheckRun>) -> Said<'_> {
    let attempts = run.map_or(&[][..], |run| &run.attempts);
    let told: Vec<&Attempt> = attempts.iter().filter(|a| a.told_nothing().is_none()).collect();
    let cut = attempts.iter().rev().find_map(Attempt::told_nothing);
    match told.as_slice() {
        [] => Said::Nothing(cut.unwrap_or(Cause::NotRun)),
        [first, ..] if first.passed() => Said::Passed,
        [_, later @ ..] if later.iter().any(|a| a.passed()) => {
            // What passes on a tree that it changed has repaired it; the tree to deliver still fails.
            let changed = run.is_some_and(|run| run.changed_tracked_files);
            if changed { Said::Failed(told.into_iter().filter(|a| !a.passed()).collect()) } else { Said::Flaky }
        }
        [_] if required => Said::Nothing(cut.unwrap_or(Cause::NotRepeated)),
        [_, ..] => Said::Failed(told),
    }
}

/// The exit status, if the command was missing at every attempt.
fn missing_each_time(attempts: &[&Attempt]) -> Option<i32> {
    let codes = attempts.iter().map(|a| match a.end {
        AttemptEnd::Exit(code @ (126 | 127)) => Some(code),
        AttemptEnd::Exit(_)
        | AttemptEnd::Signal(_)
        | AttemptEnd::TimedOut
        | AttemptEnd::OutOfMemory { .. }
        | AttemptEnd::CutByClock
        | AttemptEnd::SandboxFault(_) => None,
    });
    codes.collect::<Option<Vec<_>>>()?.last().copied()
}

/// What the baseline excuses: only what failed there at every attempt.
struct Excuse<'a> {
    attempts: &'a [&'a Attempt],
    names: Option<BTreeSet<&'a String>>,
}

impl<'a> Excuse<'a> {
    fn of(attempts: &'a [&'a Attempt]) -> Self {
        let sets: Option<Vec<_>> = attempts.iter().map(|a| a.named_failures()).collect();
        let names = sets.and_then(|sets| {
            let (first, rest) = sets.split_first()?;
            Some(first.iter().filter(|name| rest.iter().all(|set| set.contains(*name))).collect())
        });
        Self { attempts, names }
    }

    fn covers(&self, now: &Attempt) -> bool {
        if now.command_missing() {
            return false;
        }
        match (now.named_failures(), &self.names) {
            (Some(now), Some(base)) => now.iter().all(|name| base.contains(name)),
            (None, _) => self
                .attempts
                .iter()
                .any(|base| base.named_failures().is_none() && base.end == now.end && base.digest == now.digest),
            (Some(_), None) => false,
        }
    }

    fn knows(&self, name: &String) -> bool {
        self.names.as_ref().is_some_and(|names| names.contains(name))
    }
}

/// What `now` means, given what the same check did at the baseline.
///
/// A required check counts as failed only after two attempts, here and at the baseline; a test that
/// failed in only one of the baseline's attempts was flaky there and excuses nothing. It is enough
/// that one attempt now shows nothing but what the baseline explains: the other one was a flake.
/// Without a baseline nothing is excused.
#[must_use]
pub fn judge(required: bool, baseline: Option<&CheckRun>, now: &CheckRun) -> Outcome {
    let failed = match said(required, Some(now)) {
        Said::Passed => return Outcome::Passed,
        Said::Flaky => return Outcome::Flaky,
        Said::Nothing(cause) => return Outcome::CouldNotRun { cause },
        Said::Failed(attempts) => attempts,
    };
    let before = match said(required, baseline) {
        Said::Failed(attempts) => attempts,
        Said::Passed | Said::Flaky | Said::Nothing(_) => Vec::new(),
    };
    if let (Some(code), Some(_)) = (missing_each_time(&failed), missing_each_time(&before)) {
        return Outcome::CouldNotRun { cause: Cause::CommandMissing { code } };
    }
    let excuse = Excuse::of(&before);
    if failed.iter().any(|attempt| excuse.covers(attempt)) {
        return Outcome::PreExisting;
    }
    let named = failed.iter().rev().find_map(|a| a.named_failures());
    let new = named.into_iter().flatten().filter(|name| !excuse.knows(name)).cloned().collect();
    Outcome::Regressed { new }
}

/// The required checks that cannot run at the baseline, each with the reason: a run with one of
/// these ends before anything is paid for.
#[must_use]
pub fn baseline_problems(checks: &[Check], baseline: &[CheckRun]) -> Vec<(String, Cause)> {
    let problem = |check: &Check| match said(true, baseline.iter().find(|run| run.check == check.name)) {
        Said::Passed | Said::Flaky => None,
        Said::Nothing(cause) => Some((check.name.clone(), cause)),
        Said::Failed(attempts) => {
            missing_each_time(&attempts).map(|code| (check.name.clone(), Cause::CommandMissing { code }))
        }
    };
    checks.iter().filter(|check| check.required).filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Source};
    use super::*;

    /// One attempt in few letters: `0` passed, `1:a,b` exit status 1 with these failing tests, `1` with
    /// none readable, `1~x` likewise with the output `x`, `sig9`, `time`, `mem`, `clock`, `fault`.
    fn attempt(text: &str) -> Attempt {
        let (rest, digest) = text.split_once('~').unwrap_or((text, ""));
        let (end, names) = rest.split_once(':').map_or((rest, None), |(end, names)| (end, Some(names)));
        let end = match end {
            "sig9" => AttemptEnd::Signal(9),
            "time" => AttemptEnd::TimedOut,
            "mem" => AttemptEnd::OutOfMemory { limit: 1 },
            "clock" => AttemptEnd::CutByClock,
            "fault" => AttemptEnd::SandboxFault("broken".to_owned()),
            code => AttemptEnd::Exit(code.parse().expect("a number")),
        };
        let set = |names: &str| names.split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect();
        let failing = names.map(set);
        Attempt { end, duration_ms: 0, failing, digest: digest.to_owned(), tail: String::new(), log: None }
    }

    fn run(text: &str) -> CheckRun {
        let attempts = text.split_whitespace().map(attempt).collect();
        CheckRun { check: "test".to_owned(), attempts, changed_tracked_files: false }
    }

    fn told(required: bool, baseline: &str, now: &str) -> String {
        let baseline = (baseline != "none").then(|| run(baseline));
        match judge(required, baseline.as_ref(), &run(now)) {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Regressed { new } => format!("regressed {}", Vec::from_iter(new).join(",")).trim().to_owned(),
            Outcome::PreExisting => "pre-existing".to_owned(),
            Outcome::Flaky => "flaky".to_owned(),
            Outcome::CouldNotRun { cause } => match cause {
                Cause::Clock => "cut by the clock".to_owned(),
                Cause::Sandbox { .. } => "sandbox".to_owned(),
                Cause::CommandMissing { code } => format!("missing {code}"),
                Cause::NotRun => "not run".to_owned(),
                Cause::NotRepeated => "not repeated".to_owned(),
            },
        }
    }

    #[test]
    fn a_required_check_has_one_of_five_outcomes() {
        let table = [
            // What passes now has passed, whatever the baseline was.
            ("0", "0", "passed"),
            ("1:a 1:a", "0", "passed"),
            ("127 127", "0", "passed"),
            ("none", "0", "passed"),
            // Failed, then passed on the same tree.
            ("0", "1:a 0", "flaky"),
            ("1:a 1:a", "1:b 0", "flaky"),
            ("none", "time 0", "flaky"),
            // Passed at the baseline and fails twice now.
            ("0", "1:b,a 1:b,a", "regressed a,b"),
            ("0", "1 1", "regressed"),
            ("none", "1:a 1:a", "regressed a"),
            // It counts as failed only after a second attempt.
            ("0", "1:a", "not repeated"),
            ("0", "1:a clock", "cut by the clock"),
            ("0", "1:a fault", "sandbox"),
            ("0", "fault 1:a 1:a", "regressed a"),
            ("0", "fault 0", "passed"),
            ("0", "1:a fault 0", "flaky"),
            // (a) Names on both sides: now's are a subset.
            ("1:a,b 1:a,b", "1:a 1:a", "pre-existing"),
            ("1:a,b 1:a,b", "101:b,a 101:b,a", "pre-existing"),
            ("1:a 1:a", "1:a,b 1:a,b", "regressed b"),
            ("1:a 1:a", "1:b 1:b", "regressed b"),
            ("1:a~x 1:a~x", "1:b~x 1:b~x", "regressed b"),
            // One attempt that shows only old failures is enough; the other one was a flake.
            ("1:a 1:a", "1:a,b 1:a", "pre-existing"),
            ("1:a 1:a", "1:a,b 1:a,c", "regressed c"),
            // (b) No names on either side: equal exit status and equal output.
            ("1~x 1~x", "1~x 1~x", "pre-existing"),
            ("1~x 1~x", "2~x 2~x", "regressed"),
            ("1~x 1~x", "1~y 1~y", "regressed"),
            ("1~x 1~x", "sig9~x sig9~x", "regressed"),
            ("1~x 1~y", "1~y 1~y", "pre-existing"),
            // Names on one side only: neither (a) nor (b).
            ("1:a 1:a", "1 1", "regressed"),
            ("1 1", "1:a 1:a", "regressed a"),
            // An empty set of names says nothing, least of all that nothing failed.
            ("1:a 1:a", "1: 1:", "regressed"),
            ("1: 1:", "1: 1:", "pre-existing"),
            // A run that did not end by itself has no names, however many it printed.
            ("1:a 1:a", "sig9:a sig9:a", "regressed"),
            ("1:a 1:a", "time:a time:a", "regressed"),
            ("1:a 1:a", "mem:a mem:a", "regressed"),
            // Flaky at the baseline excuses nothing, of a check or of a test in it.
            ("1:a 0", "1:a 1:a", "regressed a"),
            ("1:a,b 1:a", "1:a,b 1:a,b", "regressed b"),
            ("1:a 1:b", "1:a 1:a", "regressed a"),
            ("1:a", "1:a 1:a", "regressed a"),
            // 126 and 127: could not run only if it was so at the baseline.
            ("127 127", "127 127", "missing 127"),
            ("127 127", "126 126", "missing 126"),
            ("126 126", "127 127", "missing 127"),
            ("0", "127 127", "regressed"),
            ("1:a 1:a", "127:a 127:a", "regressed"),
            ("none", "127 127", "regressed"),
            ("127 127", "1:a 1:a", "regressed a"),
            ("127 127", "127 1", "regressed"),
            ("1 127", "127 127", "regressed"),
            // Its own time limit, and memory, are failures.
            ("0", "time time", "regressed"),
            ("time~x time~x", "time~x time~x", "pre-existing"),
            ("0", "mem mem", "regressed"),
            ("0", "sig9 sig9", "regressed"),
            // The run's clock and a sandbox fault are not.
            ("0", "clock", "cut by the clock"),
            ("0", "fault", "sandbox"),
            ("0", "fault clock", "cut by the clock"),
            ("0", "", "not run"),
            // A baseline that told nothing excuses nothing.
            ("fault", "1:a 1:a", "regressed a"),
            ("", "1~x 1~x", "regressed"),
        ];
        for (baseline, now, outcome) in table {
            assert_eq!(told(true, baseline, now), outcome, "baseline [{baseline}], now [{now}]");
        }
    }

    #[test]
    fn an_optional_check_is_judged_by_one_attempt() {
        let table = [
            ("0", "1:a", "regressed a"),
            ("1:a", "1:a", "pre-existing"),
            ("1~x", "1~x", "pre-existing"),
            ("127", "127", "missing 127"),
            ("0", "clock", "cut by the clock"),
            ("fault", "1~x", "regressed"),
        ];
        for (baseline, now, outcome) in table {
            assert_eq!(told(false, baseline, now), outcome, "baseline [{baseline}], now [{now}]");
        }
    }

    #[test]
    fn a_check_that_repairs_the_tree_it_fails_on_is_not_flaky() {
        let repairing = CheckRun { changed_tracked_files: true, ..run("1:a 0") };
        let passing = CheckRun { changed_tracked_files: true, ..run("0") };
        assert!(matches!(judge(true, Some(&run("0")), &repairing), Outcome::Regressed { .. }));
        assert_eq!(judge(true, Some(&repairing), &repairing), Outcome::PreExisting);
        assert_eq!(judge(true, Some(&run("0")), &passing), Outcome::Passed, "changing files is reported, no failure");
    }

    #[test]
    fn only_what_is_required_blocks_and_old_failures_only_when_strict() {
        use StrictBaseline::{Off, On};
        let regressed = Outcome::Regressed { new: BTreeSet::new() };
        let unknown = Outcome::CouldNotRun { cause: Cause::Clock };
        let table = [
            (Outcome::Passed, false, false),
            (Outcome::Flaky, false, false),
            (regressed, true, true),
            (unknown, true, true),
            (Outcome::PreExisting, false, true),
        ];
        for (outcome, lenient, strict) in table {
            assert_eq!(outcome.blocks(true, Off), lenient, "{outcome:?}");
            assert_eq!(outcome.blocks(true, On), strict, "{outcome:?} under a strict baseline");
            assert!(!outcome.blocks(false, On) && !outcome.blocks(false, Off), "{outcome:?}, not required");
        }
    }

    #[test]
    fn a_required_check_that_cannot_run_at_the_baseline_is_a_problem() {
        let check = |name: &str, required| Check {
            name: name.to_owned(),
            kind: Kind::Test,
            command: "x".to_owned(),
            directory: String::new(),
            time_limit_s: 1,
            required,
            source: Source::Settings,
        };
        let run = |name: &str, text: &str| CheckRun { check: name.to_owned(), ..run(text) };
        let checks = ["passes", "fails", "flaky", "missing", "cut", "fault", "absent", "once"];
        let mut checks = checks.map(|name| check(name, true)).to_vec();
        checks.push(check("optional", false));
        let baseline = [
            run("passes", "0"),
            run("fails", "1:a 1:a"),
            run("flaky", "127 0"),
            run("missing", "127 127"),
            run("cut", "1:a clock"),
            run("fault", "fault"),
            run("once", "1"),
            run("optional", "127"),
        ];
        let problems: Vec<String> =
            baseline_problems(&checks, &baseline).into_iter().map(|(name, cause)| format!("{name}: {cause}")).collect();
        assert_eq!(
            problems,
            [
                "missing: its command was not found (exit status 127)",
                "cut: the run's wall clock was used up",
                "fault: the sandbox failed: broken",
                "absent: it was not run",
                "once: it failed once and was not run a second time",
            ]
        );
    }
}
