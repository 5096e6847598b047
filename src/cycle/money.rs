//! Money as an integer: one unit is a picodollar, so a price per million tokens is a whole number per token.

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const PICO: i64 = 1_000_000_000_000;

/// An amount of US dollars in picodollars (10⁻¹² $); range ±9.2 million dollars.
///
/// Sums saturate at the ends of the range: an amount that large is over every ceiling anyway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(i64);

/// A text that is not an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotMoney;

impl fmt::Display for NotMoney {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an amount like 5 or 0.25 (dollars, a point before the cents, at most 12 decimals)")
    }
}

impl std::error::Error for NotMoney {}

impl Money {
    /// Nothing spent.
    pub const ZERO: Self = Self(0);

    /// The amount of this many picodollars.
    #[must_use]
    pub const fn from_picodollars(pico: i64) -> Self {
        Self(pico)
    }

    /// The amount of this many cents.
    #[must_use]
    pub const fn from_cents(cents: i64) -> Self {
        Self(cents.saturating_mul(PICO / 100))
    }

    /// The amount in picodollars.
    #[must_use]
    pub const fn picodollars(self) -> i64 {
        self.0
    }

    /// The sum, held at the end of the range.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, held at the end of the range; may be negative.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This many times the amount, held at the end of the range.
    #[must_use]
    pub fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX)))
    }

    /// `percent` hundredths of the amount, rounded down.
    #[must_use]
    pub const fn percent(self, percent: u8) -> Self {
        let (whole, rest) = (self.0 / 100, self.0 % 100);
        Self(whole.saturating_mul(percent as i64).saturating_add(rest * percent as i64 / 100))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::plus)
    }
}

/// `$0.63`: two decimals, rounded half up, and four where the amount is under a cent but not zero.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let pico = self.0.unsigned_abs();
        let cent = PICO.unsigned_abs() / 100;
        let (unit, width) = if pico > 0 && pico < cent { (cent / 100, 4) } else { (cent, 2) };
        let rounded = (pico + unit / 2) / unit;
        let scale = 10_u64.pow(width);
        let width = width as usize;
        if pico > 0 && rounded == 0 {
            return write!(f, "{sign}<$0.0001");
        }
        write!(f, "{sign}${}.{:0width$}", rounded / scale, rounded % scale)
    }
}

impl FromStr for Money {
    type Err = NotMoney;

    /// Reads `5`, `5.25`, `$0.000001`: digits with at most one point and at most 12 decimals, never negative.
    fn from_str(text: &str) -> Result<Self, NotMoney> {
        let text = text.trim();
        let text = text.strip_prefix('$').unwrap_or(text);
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 12 {
            return Err(NotMoney);
        }
        let whole: i64 = whole.parse().map_err(|_| NotMoney)?;
        let part: i64 = format!("{part:0<12}").parse().map_err(|_| NotMoney)?;
        whole.checked_mul(PICO).and_then(|w| w.checked_add(part)).map(Self).ok_or(NotMoney)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_and_print_as_people_write_them() {
        for (text, shown) in
            [("5", "$5.00"), ("0.63", "$0.63"), ("$1000", "$1000.00"), ("0.0042", "$0.0042"), ("0", "$0.00")]
        {
            assert_eq!(text.parse::<Money>().map(|m| m.to_string()), Ok(shown.to_owned()));
        }
        assert_eq!("0.000000000001".parse::<Money>().map(Money::picodollars), Ok(1));
        assert_eq!("0.005".parse::<Money>().map(|m| m.to_string()), Ok("$0.0050".to_owned()));
        assert_eq!(Money::from_picodollars(1).to_string(), "<$0.0001");
    }

    #[test]
    fn what_is_not_an_amount_is_refused() {
        for text in ["", "-1", "1,50", "NaN", "1e3", "1.", ".5", "1.0000000000001", "9999999999999999999", "５"] {
            assert_eq!(text.parse::<Money>(), Err(NotMoney), "{text} was taken");
        }
    }

    #[test]
    fn arithmetic_stays_in_range() {
        let most = Money::from_picodollars(i64::MAX);
        assert_eq!(most.plus(Money::from_cents(1)), most);
        assert_eq!(most.times(u64::MAX), most);
        assert_eq!(Money::from_cents(500).percent(80), Money::from_cents(400));
        assert_eq!(most.percent(100), most);
    }
}
