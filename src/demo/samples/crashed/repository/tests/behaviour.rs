use std::time::Duration;

use backoff::wait_before;

#[test]
fn each_wait_is_twice_the_one_before() {
    assert_eq!(wait_before(0), Duration::from_millis(100));
    assert_eq!(wait_before(3), Duration::from_millis(800));
}

#[test]
fn no_wait_is_longer_than_a_minute() {
    assert_eq!(wait_before(10), Duration::from_secs(60));
}

#[test]
fn the_hundredth_attempt_still_has_a_wait() {
    assert_eq!(wait_before(100), Duration::from_secs(60));
}
