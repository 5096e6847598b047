//! From what the provider counted to what the call cost.

use super::super::prices::Price;
use super::{Basis, Quote, Settlement, Tokens};

/// What the provider counted, as far as it said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// The input by kind, with no output; absent where it was not stated.
    pub input: Option<Tokens>,
    /// The output so far; absent where it was not stated.
    pub output: Option<u64>,
    /// Whether the answer came to its end, so that the count of output is final.
    pub is_final: bool,
}

impl Settlement {
    /// What a call cost that was reserved by `quote` with the output limit `limit`.
    ///
    /// Each half that the provider did not state counts at its worst case: the input at the quote's bound, the output at
    /// its limit (or at what was already counted, if the provider passed the limit).
    #[must_use]
    pub fn of(counted: Counted, price: &Price, quote: &Quote, limit: u64) -> Self {
        let (output, output_known) = match counted.output {
            Some(output) if counted.is_final => (output, true),
            Some(output) => (output.max(limit), false),
            None => (limit, false),
        };
        match counted.input {
            Some(input) => {
                let tokens = Tokens { output, ..input };
                let basis = if output_known { Basis::Measured } else { Basis::Bound };
                Self { cost: tokens.cost(price), tokens, basis }
            }
            None => {
                let tokens = Tokens { input: quote.input_bound, output, ..Tokens::default() };
                Self { cost: quote.cost(output), tokens, basis: Basis::Bound }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::prices::Rates;
    use super::*;
    use crate::cycle::money::Money;

    const PRICE: Price = Price::flat(Rates::per_million([1_000, 4_000, 100, 2_000, 3_000]));

    #[test]
    fn what_is_not_counted_is_charged_at_its_bound_and_never_at_zero() {
        let quote = Quote::new(&PRICE, 1_000, false, 2_000);
        let input = Some(Tokens { input: 100, cache_read: 500, ..Tokens::default() });
        let nano = |amount: i64| Money::from_picodollars(amount * 1_000);
        let table = [
            (input, Some(50), true, 150_000 + 200_000, Basis::Measured),
            (input, Some(2_500), true, 150_000 + 10_000_000, Basis::Measured),
            (input, Some(50), false, 150_000 + 8_000_000, Basis::Bound),
            (input, Some(2_500), false, 150_000 + 10_000_000, Basis::Bound),
            (input, None, true, 150_000 + 8_000_000, Basis::Bound),
            (None, Some(50), true, 2_000_000 + 200_000, Basis::Bound),
            (None, None, false, 2_000_000 + 8_000_000, Basis::Bound),
        ];
        for (input, output, is_final, cost, basis) in table {
            let counted = Counted { input, output, is_final };
            let settlement = Settlement::of(counted, &PRICE, &quote, 2_000);
            assert_eq!((settlement.cost, settlement.basis), (nano(cost), basis), "{counted:?}");
        }
    }

    #[test]
    fn an_honest_provider_never_costs_more_than_was_reserved() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..20_000 {
            let (bound, limit) = (random.u64(..100_000), random.u64(..100_000));
            let quote = Quote::new(&PRICE, bound, true, limit);
            let [a, b, c] = [random.u64(..=bound), random.u64(..=bound), random.u64(..=bound)];
            let input =
                Tokens { input: a / 4, cache_read: b / 4, cache_write_5m: c / 4, cache_write_1h: bound / 4, output: 0 };
            let counted = Counted {
                input: random.bool().then_some(input),
                output: random.bool().then_some(random.u64(..=limit)),
                is_final: random.bool(),
            };
            assert!(Settlement::of(counted, &PRICE, &quote, limit).cost <= quote.cost(limit), "{counted:?}");
        }
    }
}
