//! Handing an issue over.

use std::time::Duration;

use super::App;
use crate::clock;
use crate::cycle::id::{IssueId, RepositoryId, RunId};
use crate::cycle::money::Money;
use crate::cycle::policy::{BadPolicy, Policy};
use crate::cycle::preset::second_reader;
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
    #[error("the provider {provider} is not set up on this machine; set its key and start the service again")]
    NoProvider {
        /// The provider.
        provider: String,
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

    fn policy(&self, delegation: &Delegation) -> Result<Policy, Refused> {
        let policy = Policy {
            passes: delegation.passes,
            money: delegation.money,
            clock: delegation.clock,
            ..second_reader(self.agents.implementer.clone(), self.agents.reviewer.clone())
        };
        policy.check()?;
        for agent in policy.agents.values() {
            if !self.offers.providers.contains(&agent.provider.as_str()) {
                return Err(Refused::NoProvider { provider: agent.provider.clone() });
            }
            if self.offers.prices.get(&agent.model).is_none() {
                return Err(Refused::NoPrice { model: agent.model.clone() });
            }
        }
        Ok(policy)
    }
}
