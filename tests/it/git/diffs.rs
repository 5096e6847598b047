//! diffs
