//! The only reader of time: wall-clock stamps for people, and a stopwatch for budgets.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(pub i64);

impl Stamp {
    /// Whole seconds since 1970.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0 / 1_000_000
    }
}

/// The wall clock. It may jump; nothing that decides reads it.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
pub fn now() -> Stamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Stamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A run's clock while a worker holds the run: what was used before, and the monotonic time since.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    before: Duration,
    since: Instant,
}

impl Stopwatch {
    /// Goes on from what was used before. Time while no worker held the run does not count.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the monotonic clock")]
    pub fn go_on(before: Duration) -> Self {
        Self { before, since: Instant::now() }
    }

    /// The run's clock now.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.before + self.since.elapsed()
    }
}
