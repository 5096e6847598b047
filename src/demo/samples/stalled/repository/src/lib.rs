//! Splits bills among friends.

/// Splits an amount in cents into one share for each person.
///
/// # Panics
/// If there is nobody to pay.
pub fn split(cents: u64, people: usize) -> Vec<u64> {
    vec![cents / people as u64; people]
}
