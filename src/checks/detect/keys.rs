//! Unknown keys, and the known one that was probably meant.

/// The known key that was probably meant by `key`: one that it shortens, like `cmd`, or else the one
/// that differs in the fewest letters. `known` is never empty.
pub(super) fn nearest<'a>(key: &str, known: &[&'a str]) -> &'a str {
    let key: Vec<char> = key.to_lowercase().chars().take(64).collect();
    let far = |candidate: &&str| (!shortens(&key, candidate), distance(&key, candidate));
    known.iter().copied().min_by_key(far).unwrap_or_default()
}

/// Whether leaving letters out of `long` gives `short`.
fn shortens(short: &[char], long: &str) -> bool {
    let mut left = long.chars();
    short.len() > 1 && short.iter().all(|c| left.any(|d| d == *c))
}

/// Letters to add, drop or change to make one word the other (Levenshtein).
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
