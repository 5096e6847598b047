//! What a token costs, by model.
//!
//! The shipped table is Anthropic's public price list (<https://platform.claude.com/docs/en/about-claude/pricing>), as
//! of [`LISTED`]: standard speed, global routing. A person can replace any line. A model that is not in the table has
//! no known price, which is something else than the price zero.

use std::collections::BTreeMap;

use crate::cycle::money::Money;

/// The day on which the shipped table was compared with the public list.
pub const LISTED: &str = "2026-11-10";

/// What one token costs, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Input that is neither read from nor written to the cache.
    pub input: Money,
    /// Output, thoughts included.
    pub output: Money,
    /// Input read from the cache.
    pub cache_read: Money,
    /// Input written to the cache for five minutes.
    pub cache_write_5m: Money,
    /// Input written to the cache for an hour.
    pub cache_write_1h: Money,
}

impl Rates {
    /// Rates from thousandths of a dollar per million tokens, in the order input, output, cache read, cache write for
    /// five minutes, cache write for an hour. `[3_000, 15_000, 300, 3_750, 6_000]` is $3.00 for a million input tokens.
    #[must_use]
    pub const fn per_million([input, output, cache_read, cache_write_5m, cache_write_1h]: [u32; 5]) -> Self {
        Self {
            input: milli(input),
            output: milli(output),
            cache_read: milli(cache_read),
            cache_write_5m: milli(cache_write_5m),
            cache_write_1h: milli(cache_write_1h),
        }
    }

    /// The most that one input token can cost where nothing is cached for an hour.
    #[must_use]
    pub fn dearest_input(&self) -> Money {
        self.input.max(self.cache_write_5m).max(self.cache_read)
    }
}

/// A thousandth of a dollar per million tokens is a thousand picodollars a token.
const fn milli(thousandths: u32) -> Money {
    Money::from_picodollars(thousandths as i64 * 1_000)
}

/// A model's price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// What a call costs.
    pub rates: Rates,
    /// What every token of a call costs instead, output included, once its prompt is longer.
    pub long: Option<LongPrompt>,
}

/// The dearer rates of a long prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongPrompt {
    /// The longest prompt, in tokens of every kind, that is not long yet.
    pub over: u64,
    /// The rates from there on.
    pub rates: Rates,
}

impl Price {
    /// The same rates whatever the prompt's length.
    #[must_use]
    pub const fn flat(rates: Rates) -> Self {
        Self { rates, long: None }
    }

    /// A price of zero: known, and nothing.
    #[must_use]
    pub const fn free() -> Self {
        Self::flat(Rates::per_million([0; 5]))
    }

    /// The rates of a call whose prompt has this many tokens of every kind.
    #[must_use]
    pub fn rates_for(&self, prompt_tokens: u64) -> Rates {
        match self.long {
            Some(long) if prompt_tokens > long.over => long.rates,
            Some(_) | None => self.rates,
        }
    }
}

/// The table, by the model's exact id: `claude-opus-4.8` is not `claude-opus-4-8`, and has no price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// A table without a line.
    #[must_use]
    pub const fn empty() -> Self {
        Self(BTreeMap::new())
    }

    /// The table that comes with the product.
    #[must_use]
    pub fn shipped() -> Self {
        let flat = SHIPPED.iter().map(|(model, rates)| (*model, Price::flat(Rates::per_million(*rates))));
        let tiered = [("claude-haiku-5-5", HAIKU_5_5)];
        Self(flat.chain(tiered).map(|(model, price)| (model.to_owned(), price)).collect())
    }

    /// The model's price, where it is known.
    #[must_use]
    pub fn get(&self, model: &str) -> Option<Price> {
        self.0.get(model).copied()
    }

    /// Sets a model's price.
    pub fn set(&mut self, model: impl Into<String>, price: Price) {
        self.0.insert(model.into(), price);
    }

    /// Every line, by model.
    pub fn list(&self) -> impl Iterator<Item = (&str, Price)> {
        self.0.iter().map(|(model, price)| (model.as_str(), *price))
    }
}

/// Input, output, cache read, cache write 5m, cache write 1h; thousandths of a dollar per million tokens.
const SHIPPED: &[(&str, [u32; 5])] = &[
    ("claude-fable-5-2", [8_000, 40_000, 200, 10_000, 16_000]),
    ("claude-fable-5-1", [10_000, 50_000, 250, 12_500, 20_000]),
    ("claude-fable-5", [10_000, 50_000, 1_000, 12_500, 20_000]),
    ("claude-opus-5-5", [4_000, 20_000, 200, 5_000, 8_000]),
    ("claude-opus-5", OPUS),
    ("claude-opus-4-8", OPUS),
    ("claude-opus-4-7", OPUS),
    ("claude-opus-4-6", OPUS),
    ("claude-opus-4-5", OPUS),
    ("claude-opus-4-5-20251101", OPUS),
    ("claude-sonnet-5-5", [2_000, 10_000, 100, 2_500, 4_000]),
    ("claude-sonnet-5", [2_000, 10_000, 200, 2_500, 4_000]),
    ("claude-sonnet-4-6", [3_000, 15_000, 300, 3_750, 6_000]),
    ("claude-sonnet-4-5", [3_000, 15_000, 300, 3_750, 6_000]),
    ("claude-sonnet-4-5-20250929", [3_000, 15_000, 300, 3_750, 6_000]),
    ("claude-haiku-4-5", [1_000, 5_000, 100, 1_250, 2_000]),
    ("claude-haiku-4-5-20251001", [1_000, 5_000, 100, 1_250, 2_000]),
];

const OPUS: [u32; 5] = [5_000, 25_000, 500, 6_250, 10_000];

const HAIKU_5_5: Price = Price {
    rates: Rates::per_million([100, 500, 10, 125, 200]),
    long: Some(LongPrompt { over: 100_000, rates: Rates::per_million([500, 2_500, 50, 625, 1_000]) }),
};

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_million_tokens_cost_what_the_list_says() {
        let price = Prices::shipped().get("claude-sonnet-4-6").unwrap();
        let million = |rate: Money| rate.times(1_000_000).to_string();
        let Rates { input, output, cache_read, cache_write_5m, cache_write_1h } = price.rates;
        let shown = [input, output, cache_read, cache_write_5m, cache_write_1h].map(million);
        assert_eq!(shown, ["$3.00", "$15.00", "$0.30", "$3.75", "$6.00"]);
    }

    #[test]
    fn an_unknown_name_has_no_price_and_zero_is_one() {
        let mut prices = Prices::shipped();
        assert_eq!(prices.get("claude-opus-4.8"), None);
        assert_eq!(prices.get(""), None);
        prices.set("house-model", Price::free());
        assert_eq!(prices.get("house-model").map(|price| price.rates.input), Some(Money::ZERO));
    }

    #[test]
    fn no_shipped_price_is_out_of_proportion() {
        for (model, price) in Prices::shipped().list() {
            for rates in [Some(price.rates), price.long.map(|long| long.rates)].into_iter().flatten() {
                assert!(rates.cache_read < rates.input && rates.input < rates.output, "{model}");
                assert_eq!(rates.cache_write_5m, rates.input.percent(125), "{model}");
                assert_eq!(rates.cache_write_1h, rates.input.times(2), "{model}");
            }
        }
    }

    #[test]
    fn a_long_prompt_makes_every_token_dearer() {
        let price = Prices::shipped().get("claude-haiku-5-5").unwrap();
        assert_eq!(price.rates_for(100_000).output, Rates::per_million([0, 500, 0, 0, 0]).output);
        assert_eq!(price.rates_for(100_001).output, Rates::per_million([0, 2_500, 0, 0, 0]).output);
    }
}
