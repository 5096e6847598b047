//! Handing an issue over.

use std::time::Duration;

use super::App;
use crate::clock;
use crate::cycle::id::{IssueId, RepositoryId, RunId};
use crate::cycle::money::Money;
use crate::cycle::policy::{AgentChoice, BadPolicy, Policy};
use crate::cycle::preset::second_reader;
use crate::gateway::providers;
use crate::store::{self, NewIssue};

/// What a person delegates, within the ranges that the fields name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The id that the issue is to have: sent twice, it is one issue and one run.
    pub issue: IssueId,
    /// For which repository.
    pub repository: RepositoryId,
    /// One line of 1–200 characters.
    pub title: String,
    /// At most 64 KiB.
    pub body: String,
    /// At most 50 items.
    pub done: Vec<String>,
    /// The branch that the change is for.
    pub base: String,
    /// 1–20.
    pub passes: u8,
    /// $0.01–$1,000.
    pub money: Money,
    /// 1 minute–24 hours.
    pub clock: Duration,
}

/// Why an issue was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A ceiling or a setting is out of range.
    #[error(transparent)]
    Policy(#[from] BadPolicy),
    /// A model without a price cannot be held under a ceiling.
    #[error("the model {model} has no known price, so no ceiling could hold it; set its price first (zero is a price)")]
    NoPrice {
        /// The model.
        model: String,
    },
    /// The provider is not set up.
    #[error("the provider {provider} is not set up on this machine; set {variable} and start the service again")]
    NoProvider {
        /// The provider.
        provider: String,
        /// What to set: the environment variable of its key.
        variable: &'static str,
    },
    /// The store's.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl App {
    /// Stores the issue with its first run and wakes the runner.
    ///
    /// # Errors
    /// See [`Refused`]: nothing was stored and nothing will be spent.
    pub async fn delegate(&self, delegation: Delegation) -> Result<RunId, Refused> {
        let policy = self.policy(&delegation)?;
        let repository = self.store.get_repository(delegation.repository).await?;
        let Delegation { issue, title, body, done, base, .. } = delegation;
        let new = NewIssue { id: issue, title, body, done, base };
        let run = self.store.delegate(&repository, new, policy, clock::now()).await?;
        self.signals.wake.notify_one();
        Ok(run)
    }

    /// Whether an issue could be delegated now, whatever it says.
    ///
    /// # Errors
    /// [`Refused::NoProvider`], [`Refused::NoPrice`].
    pub fn ready(&self) -> Result<(), Refused> {
        [&self.agents.implementer, &self.agents.reviewer].into_iter().try_for_each(|agent| self.offered(agent))
    }

    fn offered(&self, agent: &AgentChoice) -> Result<(), Refused> {
        if !self.offers.providers.contains(&agent.provider.as_str()) {
            let variable = providers::find(&agent.provider).and_then(|p| p.key_variable);
            return Err(Refused::NoProvider {
                provider: agent.provider.clone(),
                variable: variable.unwrap_or("its key"),
            });
        }
        if self.offers.prices.get(&agent.model).is_none() {
            return Err(Refused::NoPrice { model: agent.model.clone() });
        }
        Ok(())
    }

    /// Whether an agent's words are written beforehand, so that it can answer nothing else.
    #[must_use]
    pub fn is_canned(&self) -> bool {
        let canned = |agent: &AgentChoice| providers::find(&agent.provider).is_some_and(|p| p.canned);
        canned(&self.agents.implementer) || canned(&self.agents.reviewer)
    }

    fn policy(&self, delegation: &Delegation) -> Result<Policy, Refused> {
        let policy = Policy {
            passes: delegation.passes,
            money: delegation.money,
            clock: delegation.clock,
            ..second_reader(self.agents.implementer.clone(), self.agents.reviewer.clone())
        };
        policy.check()?;
        policy.agents.values().try_for_each(|agent| self.offered(agent))?;
        Ok(policy)
    }
}
