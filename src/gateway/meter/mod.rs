//! What a call may cost and what it did cost. Pure: no I/O, no clock.
//!
//! Before a call its worst case is reserved: a bound and not an estimate, as long as the provider honours the output
//! limit. Afterwards the reservation is replaced by the price of what the provider says was used; where the provider
//! does not say, by the bound.

mod ledger;
mod quote;
mod settle;

pub use ledger::{Ask, Basis, LedgerError, LedgerFuture, MoneyLedger, Reserve, Settlement};
pub use quote::{Fit, LEAST_OUTPUT, Quote};
pub use settle::Counted;

use super::prices::Price;
use crate::cycle::money::Money;

/// Tokens of one call, or of many, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input that is neither read from nor written to the cache.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Input written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Output, thoughts included.
    pub output: u64,
}

impl Tokens {
    /// Input of every kind: the prompt as the model saw it.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        [self.cache_read, self.cache_write_5m, self.cache_write_1h].into_iter().fold(self.input, u64::saturating_add)
    }

    /// The sum, kind by kind, held at the end of the range.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write_5m: self.cache_write_5m.saturating_add(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
            output: self.output.saturating_add(other.output),
        }
    }

    /// What these tokens cost as one call.
    #[must_use]
    pub fn cost(&self, price: &Price) -> Money {
        let rates = price.rates_for(self.prompt());
        let parts = [
            rates.input.times(self.input),
            rates.cache_read.times(self.cache_read),
            rates.cache_write_5m.times(self.cache_write_5m),
            rates.cache_write_1h.times(self.cache_write_1h),
            rates.output.times(self.output),
        ];
        parts.into_iter().sum()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::prices::{Prices, Rates};
    use super::*;

    #[test]
    fn every_kind_of_token_is_priced_as_its_kind() {
        let price = Price::flat(Rates::per_million([1_000, 2_000, 3_000, 4_000, 5_000]));
        let tokens = |[input, output, cache_read, cache_write_5m, cache_write_1h]: [u64; 5]| Tokens {
            input,
            cache_read,
            cache_write_5m,
            cache_write_1h,
            output,
        };
        let table = [
            ([1, 0, 0, 0, 0], 1),
            ([0, 1, 0, 0, 0], 2),
            ([0, 0, 1, 0, 0], 3),
            ([0, 0, 0, 1, 0], 4),
            ([0, 0, 0, 0, 1], 5),
            ([7, 7, 7, 7, 7], 7 * 15),
            ([0, 0, 0, 0, 0], 0),
        ];
        for (counts, micro) in table {
            assert_eq!(tokens(counts).cost(&price), Money::from_picodollars(micro * 1_000_000), "{counts:?}");
        }
    }

    #[test]
    fn absurd_counts_stay_in_range() {
        let price = Prices::shipped().get("claude-opus-5").unwrap();
        let most =
            Tokens { input: u64::MAX, cache_read: u64::MAX, cache_write_5m: 1, cache_write_1h: 1, output: u64::MAX };
        assert_eq!(most.cost(&price), Money::from_picodollars(i64::MAX));
        assert_eq!(most.plus(most).prompt(), u64::MAX);
    }

    #[test]
    fn the_length_of_a_prompt_counts_every_kind_of_input() {
        let price = Prices::shipped().get("claude-haiku-5-5").unwrap();
        let short = Tokens { input: 1, cache_read: 99_999, ..Tokens::default() };
        let long = Tokens { input: 1, cache_read: 100_000, ..Tokens::default() };
        assert!(long.cost(&price) > short.cost(&price).times(4));
    }
}
