//! The git port against real repositories: the git program makes them and judges the results, and nothing else runs it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bench;
mod diffs;
mod hostile;
mod imports;
mod mirrors;
mod odd_remotes;
mod packs;
mod patches;
mod pushes;
mod trees;
