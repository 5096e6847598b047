//! Logs: a message that stands alone, and fields to search by.

use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;

/// Sends log lines to standard error, as text.
pub fn start(level: LevelFilter) {
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // A second start in one process (tests) keeps the first.
    drop(lines.try_init());
}
