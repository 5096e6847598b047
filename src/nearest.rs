//! The known name that somebody probably meant by an unknown one.

/// The known name that was probably meant by `given`: one that it shortens, like `cmd`, or else the one that differs
/// in the fewest letters, whatever their case. `known` is never empty.
#[must_use]
pub(crate) fn nearest<'a>(given: &str, known: &[&'a str]) -> &'a str {
    let given: String = given.to_lowercase().chars().take(64).collect();
    let far = |candidate: &&str| (!shortens(&given, candidate), strsim::levenshtein(&given, candidate));
    known.iter().copied().min_by_key(far).unwrap_or_default()
}

/// Whether leaving letters out of `long` gives `short`.
fn shortens(short: &str, long: &str) -> bool {
    let mut left = long.chars();
    short.len() > 1 && short.chars().all(|c| left.any(|d| d == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_was_probably_meant_is_named() {
        let known = ["name", "kind", "command", "directory", "timeout", "required"];
        let table = [
            ("cmd", "command"),
            ("dir", "directory"),
            ("time_out", "timeout"),
            ("Name", "name"),
            ("require", "required"),
        ];
        for (given, meant) in table {
            assert_eq!(nearest(given, &known), meant, "for {given}");
        }
        assert!(known.contains(&nearest("", &known)));
        assert!(known.contains(&nearest(&"x".repeat(100_000), &known)));
    }
}
