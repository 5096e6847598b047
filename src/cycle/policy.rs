//! The frozen rules of one run: every setting of a review mode, and the ceilings.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::money::Money;

/// How the work is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A second agent reads every pass.
    SecondReader,
    /// One conversation: draft, self-review, revise.
    LowHigh,
    /// The first attempt is delivered as it stands.
    Off,
}

/// Whether a role keeps its conversation from pass to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// A new conversation each pass.
    Fresh,
    /// One conversation for the whole run.
    Kept,
}

/// How the reviewer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// Weighs what speaks for and against.
    Balanced,
    /// Tries to prove the work not ready.
    Adversarial,
}

/// Where acceptance criteria come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criteria {
    /// There are none.
    None,
    /// The reviewer makes them with its first review.
    PostHoc,
    /// Made before the first draft, then never changed.
    Fixed,
    /// A later evaluator may replace them.
    Revisable,
}

/// What counts as the reviewer's approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApproveBy {
    /// A structured verdict.
    Verdict,
    /// This word alone on a line.
    Word(String),
}

/// When a self-review's findings hold the result (shape *low–high*).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// They never do.
    Never,
    /// Anything above medium does.
    Always,
}

/// What a rejection does that rests on late findings alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateFindings {
    /// It needs a person: the run stops.
    Person,
    /// They hold like others.
    Hold,
}

/// Who performs a step. Each role has its own agent, model, effort and instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Writes the change.
    Implementer,
    /// Reads the result.
    Reviewer,
    /// Restates the issue and writes the closing report.
    Moderator,
    /// Judges an accepted result afresh.
    Auditor,
    /// Derives criteria and judges by them.
    Evaluator,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Implementer => "implementer",
            Self::Reviewer => "reviewer",
            Self::Moderator => "moderator",
            Self::Auditor => "auditor",
            Self::Evaluator => "evaluator",
        })
    }
}

/// How much a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as it can.
    Low,
    /// The usual amount.
    Medium,
    /// As much as it can.
    High,
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// Which agent performs a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChoice {
    /// Name of an entry in the provider table.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// How much it thinks.
    pub effort: Effort,
}

/// One run's rules, frozen when the issue is delegated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How the work is checked.
    pub shape: Shape,
    /// What each role remembers; a role that is not named starts fresh.
    pub memory: BTreeMap<Role, Memory>,
    /// How the reviewer reads.
    pub stance: Stance,
    /// Where criteria come from.
    pub criteria: Criteria,
    /// Whether an evaluator may accept before anyone wrote anything.
    pub evaluate_first: bool,
    /// What counts as approval.
    pub approve_by: ApproveBy,
    /// Whether the moderator writes the summary for the pull request.
    pub closing_report: bool,
    /// How many goal audits may send an accepted result back; 0 is off.
    pub goal_audits: u8,
    /// Who performs which role.
    pub agents: BTreeMap<Role, AgentChoice>,
    /// When a self-review holds the result.
    pub gate: Gate,
    /// How many passes in a row without movement stop the run; at least 2.
    pub stall_limit: u8,
    /// How often an upheld dispute may come back before a person is needed; at least 1.
    pub dispute_limit: u8,
    /// What a rejection does that rests on late findings alone.
    pub late_findings: LateFindings,
    /// Ceiling of passes, 1–20.
    pub passes: u8,
    /// Ceiling of money for the whole run.
    pub money: Money,
    /// Ceiling of wall-clock time for the whole run.
    #[serde(with = "millis")]
    pub clock: Duration,
    /// Hundredths of money and clock that a writing step leaves for the review.
    pub review_reserve: u8,
}

/// A policy that cannot be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadPolicy {
    /// The ceiling of passes is outside 1–20.
    Passes,
    /// The ceiling of money is outside $0.01–$1,000.
    Money,
    /// The ceiling of time is outside 1 minute–24 hours.
    Clock,
    /// The stall limit is below 2, the dispute limit below 1 or the reserve above 90 %.
    Limits,
    /// A setting that this version does not perform.
    NotOffered(&'static str),
    /// Nobody was chosen for this role.
    NoAgent(Role),
}

impl fmt::Display for BadPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passes => f.write_str("passes must be a whole number from 1 to 20"),
            Self::Money => f.write_str("the money ceiling must be between $0.01 and $1,000"),
            Self::Clock => f.write_str("the time ceiling must be between 1 minute and 24 hours"),
            Self::Limits => {
                f.write_str("the stall limit starts at 2, the dispute limit at 1, and the review reserve ends at 90 %")
            }
            Self::NotOffered(what) => write!(f, "{what} is not offered by this version; choose Second reader"),
            Self::NoAgent(role) => write!(f, "no agent is chosen for the {role}"),
        }
    }
}

impl std::error::Error for BadPolicy {}

impl Policy {
    /// Checks ranges, and that every setting is one that this version performs.
    ///
    /// # Errors
    /// The first setting that cannot be run.
    pub fn check(&self) -> Result<(), BadPolicy> {
        if !(1..=20).contains(&self.passes) {
            return Err(BadPolicy::Passes);
        }
        if self.money < Money::from_cents(1) || self.money > Money::from_cents(100_000) {
            return Err(BadPolicy::Money);
        }
        if self.clock < Duration::from_secs(60) || self.clock > Duration::from_secs(24 * 3600) {
            return Err(BadPolicy::Clock);
        }
        if self.stall_limit < 2 || self.dispute_limit < 1 || self.review_reserve > 90 {
            return Err(BadPolicy::Limits);
        }
        self.check_offered()?;
        let needed = [Role::Implementer, Role::Reviewer];
        needed
            .into_iter()
            .find(|role| !self.agents.contains_key(role))
            .map_or(Ok(()), |role| Err(BadPolicy::NoAgent(role)))
    }

    fn check_offered(&self) -> Result<(), BadPolicy> {
        let refused = [
            (self.shape != Shape::SecondReader, "this shape"),
            (self.memory.values().any(|m| *m == Memory::Kept), "kept memory"),
            (self.stance != Stance::Balanced, "the adversarial stance"),
            (self.criteria != Criteria::None, "judging by criteria"),
            (self.evaluate_first, "evaluating first"),
            (self.approve_by != ApproveBy::Verdict, "approval by a word"),
            (self.closing_report, "the closing report"),
            (self.goal_audits != 0, "the goal audit"),
        ];
        refused.into_iter().find(|(is, _)| *is).map_or(Ok(()), |(_, what)| Err(BadPolicy::NotOffered(what)))
    }

    /// What a writing step may bring the run's money to.
    #[must_use]
    pub fn writing_money(&self) -> Money {
        self.money.percent(100 - self.review_reserve)
    }

    /// What a writing step may bring the run's clock to.
    #[must_use]
    pub fn writing_clock(&self) -> Duration {
        self.clock * u32::from(100 - self.review_reserve) / 100
    }
}

/// Durations as whole milliseconds: the form in which they are stored.
pub(crate) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::super::preset::second_reader;
    use super::*;

    fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
        let agent = AgentChoice { provider: "p".into(), model: "m".into(), effort: Effort::Low };
        let mut policy = second_reader(agent.clone(), agent);
        change(&mut policy);
        policy
    }

    #[test]
    fn each_ceiling_and_limit_has_a_range_whose_ends_are_in_it() {
        let seconds = Duration::from_secs;
        for good in [
            policy(|_| ()),
            policy(|p| p.passes = 1),
            policy(|p| p.passes = 20),
            policy(|p| p.money = Money::from_cents(1)),
            policy(|p| p.money = Money::from_cents(100_000)),
            policy(|p| p.clock = seconds(60)),
            policy(|p| p.clock = seconds(86_400)),
            policy(|p| (p.stall_limit, p.dispute_limit) = (2, 1)),
            policy(|p| p.review_reserve = 90),
            policy(|p| p.memory = BTreeMap::from([(Role::Reviewer, Memory::Fresh)])),
        ] {
            assert_eq!(good.check(), Ok(()));
        }
        for (bad, why) in [
            (policy(|p| p.passes = 0), BadPolicy::Passes),
            (policy(|p| p.passes = 21), BadPolicy::Passes),
            (policy(|p| p.money = Money::ZERO), BadPolicy::Money),
            (policy(|p| p.money = Money::from_cents(100_001)), BadPolicy::Money),
            (policy(|p| p.clock = seconds(59)), BadPolicy::Clock),
            (policy(|p| p.clock = seconds(86_401)), BadPolicy::Clock),
            (policy(|p| p.stall_limit = 1), BadPolicy::Limits),
            (policy(|p| p.dispute_limit = 0), BadPolicy::Limits),
            (policy(|p| p.review_reserve = 91), BadPolicy::Limits),
            (policy(|p| drop(p.agents.remove(&Role::Implementer))), BadPolicy::NoAgent(Role::Implementer)),
            (policy(|p| drop(p.agents.remove(&Role::Reviewer))), BadPolicy::NoAgent(Role::Reviewer)),
        ] {
            assert_eq!(bad.check(), Err(why));
        }
    }

    #[test]
    fn a_setting_that_is_not_performed_is_refused_by_its_own_name() {
        let others = [
            policy(|p| p.shape = Shape::LowHigh),
            policy(|p| p.shape = Shape::Off),
            policy(|p| p.memory = BTreeMap::from([(Role::Implementer, Memory::Kept)])),
            policy(|p| p.stance = Stance::Adversarial),
            policy(|p| p.criteria = Criteria::Fixed),
            policy(|p| p.evaluate_first = true),
            policy(|p| p.approve_by = ApproveBy::Word("LGTM".into())),
            policy(|p| p.closing_report = true),
            policy(|p| p.goal_audits = 1),
        ];
        let named = |p: Policy| p.check().map_err(|why| why.to_string()).err();
        let told: std::collections::BTreeSet<Option<String>> = others.into_iter().map(named).collect();
        assert_eq!(told.len(), 8, "the two shapes share a name: {told:?}");
        assert!(told.iter().all(|t| t.as_ref().is_some_and(|t| t.contains("is not offered"))), "{told:?}");
    }

    #[test]
    fn a_writing_step_may_use_what_is_not_reserved() {
        let policy = policy(|p| {
            (p.money, p.clock, p.review_reserve) = (Money::from_cents(200), Duration::from_secs(100), 30);
        });
        assert_eq!((policy.writing_money(), policy.writing_clock()), (Money::from_cents(140), Duration::from_secs(70)));
    }
}
