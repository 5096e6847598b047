//! When a model call is made again, and after how long.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::agent::{Error, Wait};
use crate::gateway::ClientError;

/// The first pause; each further one is about twice as long.
const FIRST: Duration = Duration::from_millis(250);
/// The longest pause that nobody asked for.
const LONGEST: Duration = Duration::from_secs(30);
/// How many answers in a row may be cut or unreadable: each of them may have cost money.
const BAD_ANSWERS: u32 = 4;

/// The failures of one model call so far.
#[derive(Debug, Default)]
pub(super) struct Failures {
    calls: u32,
    bad_answers: u32,
}

/// What follows a failed call.
#[derive(Debug)]
pub(super) enum Next {
    /// The same again, after this long.
    Again { cause: Wait, pause: Duration },
    /// Drop something from the conversation first.
    Shrink,
    /// It is over.
    Over(Error),
}

impl Failures {
    /// What follows this failure, if there is patience for `patience` more. `chance` is any number; two that wait for
    /// the same provider should not have the same.
    pub(super) fn next(&mut self, error: ClientError, patience: Duration, chance: u64) -> Next {
        self.calls += 1;
        let pause = pause(self.calls, chance);
        match error {
            ClientError::Refused(_) => Next::Over(Error::MoneyRefused(error)),
            ClientError::Denied { .. } => Next::Over(Error::Denied(error)),
            ClientError::BadRequest(ref text) if is_too_long(text) => Next::Shrink,
            ClientError::BadRequest(_) => Next::Over(Error::NotAccepted(error)),
            ClientError::RateLimited { retry_after } => {
                let pause = retry_after.map_or(pause, |least| least + pause);
                if pause > patience {
                    Next::Over(Error::RateLimited { retry_after })
                } else {
                    Next::Again { cause: Wait::RateLimit, pause }
                }
            }
            ClientError::Overloaded { .. } => again_or(Wait::Provider, pause, patience, Error::ProviderDown(error)),
            ClientError::Unreachable(_) => again_or(Wait::Gateway, pause, patience, Error::ProviderDown(error)),
            ClientError::Cut => self.after_bad_answer(Wait::Cut, pause, patience, Error::ProviderDown(error)),
            ClientError::Garbage(_) => self.after_bad_answer(Wait::Unreadable, pause, patience, Error::Garbage(error)),
        }
    }

    fn after_bad_answer(&mut self, cause: Wait, pause: Duration, patience: Duration, over: Error) -> Next {
        self.bad_answers += 1;
        if self.bad_answers < BAD_ANSWERS { again_or(cause, pause, patience, over) } else { Next::Over(over) }
    }
}

fn again_or(cause: Wait, pause: Duration, patience: Duration, over: Error) -> Next {
    if pause > patience { Next::Over(over) } else { Next::Again { cause, pause } }
}

/// Between half and the whole of 0.25 s, 0.5 s, 1 s … 30 s.
fn pause(failures: u32, chance: u64) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    let whole = FIRST.saturating_mul(doubled).min(LONGEST);
    let part = u32::try_from(chance % 1_000).unwrap_or(0);
    whole / 2 + whole / 2 * part / 1_000
}

/// A number that differs from call to call and from process to process.
pub(super) fn chance() -> u64 {
    RandomState::new().hash_one(())
}

/// Whether the provider refused a request for its length: the API's sentence, or the gateway's own.
fn is_too_long(text: &str) -> bool {
    ["prompt is too long", "exceed context limit", "a request has at most"].iter().any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn down() -> ClientError {
        ClientError::Overloaded { status: 529, text: "busy".to_owned() }
    }

    fn limited(seconds: Option<u64>) -> ClientError {
        ClientError::RateLimited { retry_after: seconds.map(Duration::from_secs) }
    }

    fn pauses(next: &Next) -> Duration {
        let Next::Again { pause, .. } = next else { panic!("{next:?}") };
        *pause
    }

    #[test]
    fn pauses_grow_to_a_bound_and_are_spread() {
        let mut failures = Failures::default();
        let lowest: Vec<_> = (0..9).map(|_| pauses(&failures.next(down(), HOUR, 0)).as_millis()).collect();
        assert_eq!(lowest, [125, 250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
        for chance in [1, 499, 999, u64::MAX] {
            let spread = pause(3, chance);
            assert!(spread > Duration::from_millis(500) && spread < Duration::from_secs(1), "{spread:?}");
        }
        assert_eq!(pause(u32::MAX, 0), Duration::from_secs(15));
        assert_ne!(chance(), chance());
    }

    #[test]
    fn each_way_in_which_a_call_fails_is_waited_for_under_its_own_name() {
        let cause = |error| match Failures::default().next(error, HOUR, 0) {
            Next::Again { cause, .. } => cause,
            other @ (Next::Shrink | Next::Over(_)) => panic!("{other:?}"),
        };
        assert_eq!(cause(limited(None)), Wait::RateLimit);
        assert_eq!(cause(down()), Wait::Provider);
        assert_eq!(cause(ClientError::Cut), Wait::Cut);
        assert_eq!(cause(ClientError::Garbage("no JSON".to_owned())), Wait::Unreadable);
    }

    #[test]
    fn a_provider_that_says_how_long_never_hears_from_us_earlier() {
        for chance in [0, 999] {
            assert!(pauses(&Failures::default().next(limited(Some(7)), HOUR, chance)) >= Duration::from_secs(7));
        }
        assert!(pauses(&Failures::default().next(limited(None), HOUR, 0)) < Duration::from_secs(1));
    }

    #[test]
    fn a_wait_beyond_the_patience_is_not_begun() {
        let minute = Duration::from_secs(60);
        let next = Failures::default().next(limited(Some(60)), minute, 0);
        assert!(matches!(next, Next::Over(Error::RateLimited { retry_after: Some(asked) }) if asked == minute));
        let next = Failures::default().next(down(), Duration::ZERO, 0);
        assert!(matches!(next, Next::Over(Error::ProviderDown(_))), "{next:?}");
    }

    #[test]
    fn answers_that_cannot_be_used_are_paid_for_only_so_often() {
        let garbage = || ClientError::Garbage("no JSON".to_owned());
        let mut failures = Failures::default();
        let tries: Vec<_> = (0..3).map(|_| pauses(&failures.next(garbage(), HOUR, 0))).collect();
        assert_eq!(tries.len(), 3);
        assert!(matches!(failures.next(garbage(), HOUR, 0), Next::Over(Error::Garbage(_))));
        let mut failures = Failures { bad_answers: 3, ..Failures::default() };
        assert!(matches!(failures.next(ClientError::Cut, HOUR, 0), Next::Over(Error::ProviderDown(_))));
    }

    #[test]
    fn what_no_repeat_can_help_is_over_at_once() {
        let next = |error| Failures::default().next(error, HOUR, 0);
        let text = || "no".to_owned();
        assert!(matches!(next(ClientError::Refused(text())), Next::Over(Error::MoneyRefused(_))));
        assert!(matches!(next(ClientError::Denied { status: 401, text: text() }), Next::Over(Error::Denied(_))));
        assert!(matches!(next(ClientError::BadRequest(text())), Next::Over(Error::NotAccepted(_))));
        let long = "prompt is too long: 210000 tokens > 200000 maximum".to_owned();
        assert!(matches!(next(ClientError::BadRequest(long)), Next::Shrink));
    }
}
