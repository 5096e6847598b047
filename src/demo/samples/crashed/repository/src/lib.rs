//! Says how long to wait before the next attempt.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

/// How long to wait before the given attempt, counted from 0: twice as long each time, at most a minute.
pub fn wait_before(attempt: u32) -> Duration {
    let factor = 2_u32.pow(attempt);
    (FIRST * factor).min(LONGEST)
}
