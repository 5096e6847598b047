//! Random worlds: seeded runs against chance and malice, judged by an oracle that restates the rules of
//! acceptance from the facts alone and shares no code with `plan`.
//!
//! `COUNTERSIGN_WORLDS` sets how many (24,000 by default), `COUNTERSIGN_SEED` the first seed. A world
//! that breaks a rule prints its seed, and running that one seed repeats it.

mod chance;
mod oracle;
mod visits;
mod walk;

use visits::Visits;

const WORLDS: u64 = 24_000;
/// Each situation that the rules name must come up at least this often, or the walk proves nothing about it.
const LEAST_VISITS: u64 = 100;

#[test]
fn no_random_world_breaks_a_rule_and_every_rule_is_met_often() {
    let worlds = setting("COUNTERSIGN_WORLDS").unwrap_or(WORLDS);
    let first = setting("COUNTERSIGN_SEED").unwrap_or(1);
    let mut visits = Visits::default();
    for seed in first..first + worlds {
        walk::walk(seed, &mut visits);
    }
    println!("{worlds} worlds from seed {first}\n{visits}");
    if worlds >= WORLDS {
        visits.insist(LEAST_VISITS);
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number")))
}
