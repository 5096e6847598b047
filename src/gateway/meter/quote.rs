//! The worst case of a call, and the output limit that fits what is left.

use super::super::prices::Price;
use crate::cycle::money::Money;

/// The smallest output limit that a call is lowered to. Less is of no use to an agent, so the call is refused.
pub const LEAST_OUTPUT: u64 = 1_024;

/// A call as it can be priced before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// The most input tokens that it can have.
    pub input_bound: u64,
    /// The most that all of that input can cost.
    input_cost: Money,
    /// What one token of output costs at most.
    output_rate: Money,
    /// The output limit that was asked for.
    pub asked: u64,
}

/// What fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// With this output limit the worst case is within what is left; it is never more than was asked for.
    Limit(u64),
    /// Not even a useful part of it fits.
    Nothing,
}

impl Quote {
    /// Prices a call of at most `input_bound` input tokens that asks for `asked` output tokens.
    ///
    /// `cached_for_an_hour` says that some of the input may be written to the cache at the dearer price.
    #[must_use]
    pub fn new(price: &Price, input_bound: u64, cached_for_an_hour: bool, asked: u64) -> Self {
        let rates = price.rates_for(input_bound);
        let hour = if cached_for_an_hour { rates.cache_write_1h } else { Money::ZERO };
        let input_rate = rates.dearest_input().max(hour);
        Self { input_bound, input_cost: input_rate.times(input_bound), output_rate: rates.output, asked }
    }

    /// The worst case with this output limit.
    #[must_use]
    pub fn cost(&self, limit: u64) -> Money {
        self.input_cost.plus(self.output_rate.times(limit))
    }

    /// The largest output limit whose worst case is within `left`.
    #[must_use]
    pub fn fit(&self, left: Money) -> Fit {
        if self.cost(self.asked) <= left {
            return Fit::Limit(self.asked);
        }
        let for_output = left.minus(self.input_cost).picodollars();
        // The rate is not zero where some of the output does not fit; if the input alone does not, the quotient is negative.
        let limit = for_output.checked_div(self.output_rate.picodollars()).and_then(|limit| u64::try_from(limit).ok());
        match limit {
            Some(limit) if limit >= LEAST_OUTPUT => Fit::Limit(limit.min(self.asked)),
            Some(_) | None => Fit::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::prices::Rates;
    use super::*;

    /// $1 for a million of input, $2 to write it for five minutes, $3 for an hour, $4 for output.
    const PRICE: Price = Price::flat(Rates::per_million([1_000, 4_000, 100, 2_000, 3_000]));

    fn micro(dollars: i64) -> Money {
        Money::from_picodollars(dollars * 1_000_000)
    }

    #[test]
    fn the_worst_case_takes_the_dearest_input_and_the_whole_output() {
        let table = [(1_000, false, 10, 2_000 + 40), (1_000, true, 10, 3_000 + 40), (0, false, 0, 0)];
        for (input, hour, output, expected) in table {
            assert_eq!(
                Quote::new(&PRICE, input, hour, output).cost(output),
                micro(expected),
                "{input} {hour} {output}"
            );
        }
    }

    #[test]
    fn the_limit_is_lowered_to_what_is_left_and_never_under_the_least() {
        let quote = Quote::new(&PRICE, 1_000, false, 8_000);
        let table = [
            (2_000 + 32_000, Fit::Limit(8_000)),
            (2_000 + 31_999, Fit::Limit(7_999)),
            (2_000 + 4 * 1_024, Fit::Limit(1_024)),
            (2_000 + 4 * 1_024 - 1, Fit::Nothing),
            (2_000, Fit::Nothing),
            (0, Fit::Nothing),
            (-5, Fit::Nothing),
        ];
        for (left, expected) in table {
            assert_eq!(quote.fit(micro(left)), expected, "{left}");
        }
    }

    #[test]
    fn a_small_answer_that_fits_whole_is_not_refused_for_being_small() {
        let quote = Quote::new(&PRICE, 0, false, 10);
        assert_eq!(quote.fit(micro(40)), Fit::Limit(10));
        assert_eq!(quote.fit(micro(39)), Fit::Nothing);
    }

    #[test]
    fn what_costs_nothing_always_fits() {
        let quote = Quote::new(&Price::free(), u64::MAX, true, u64::MAX);
        assert_eq!(quote.fit(Money::ZERO), Fit::Limit(u64::MAX));
    }

    #[test]
    fn no_numbers_make_it_overflow_or_fit_wrongly() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let shift = |random: &mut fastrand::Rng| random.u64(..) >> random.u32(..64);
            let quote = Quote::new(&PRICE, shift(&mut random), random.bool(), shift(&mut random));
            let left = Money::from_picodollars(random.i64(..) >> random.u32(..64));
            if let Fit::Limit(limit) = quote.fit(left) {
                assert!(quote.cost(limit) <= left && limit <= quote.asked, "{quote:?} {left:?} {limit}");
            } else {
                assert!(quote.cost(LEAST_OUTPUT.min(quote.asked)) > left, "{quote:?} {left:?} was refused");
            }
        }
    }
}
