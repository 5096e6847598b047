use sizes::parse;

#[test]
fn units_are_powers_of_1024() {
    assert_eq!(parse("3"), Ok(3));
    assert_eq!(parse("10 KiB"), Ok(10_240));
    assert_eq!(parse("2MiB"), Ok(2_097_152));
}

#[test]
fn what_is_no_size_is_refused_in_words() {
    assert!(parse("many")
        .unwrap_err()
        .contains("does not begin with a number"));
    assert!(parse("3 lb").unwrap_err().contains("`lb` is no unit"));
}

#[test]
fn sizes_above_four_gibibytes_are_read() {
    assert_eq!(parse("5 GiB"), Ok(5_368_709_120));
}
