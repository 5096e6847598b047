use fields::{join, split};

#[test]
fn plain_fields_are_split_at_commas() {
    assert_eq!(split("id,name,42"), ["id", "name", "42"]);
    assert_eq!(split("id,,42"), ["id", "", "42"]);
}

#[test]
fn an_empty_line_is_one_empty_field() {
    assert_eq!(split(""), [""]);
}

#[test]
fn a_comma_inside_quotes_does_not_split() {
    assert_eq!(split("7,\"Doe, Jane\",42"), ["7", "Doe, Jane", "42"]);
}

#[test]
fn fields_are_quoted_where_they_must_be() {
    assert_eq!(join(&["7", "Doe, Jane", "42"]), "7,\"Doe, Jane\",42");
    assert_eq!(join(&["say \"hi\""]), "\"say \"\"hi\"\"\"");
}
