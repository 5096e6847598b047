use saytime::say;

#[test]
fn hours_minutes_and_seconds_are_said() {
    assert_eq!(say(3_905), "1h 5m 5s");
}

#[test]
fn parts_that_are_zero_are_left_out() {
    assert_eq!(say(3_600), "1h");
    assert_eq!(say(65), "1m 5s");
}

#[test]
fn no_time_at_all_is_said_too() {
    assert_eq!(say(0), "0s");
}

#[test]
fn a_day_has_24_hours() {
    assert_eq!(say(90_061), "1d 1h 1m 1s");
    assert_eq!(say(172_800), "2d");
}
