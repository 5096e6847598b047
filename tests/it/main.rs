//! All integration tests, as one binary: it links once.

#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]
#![expect(clippy::disallowed_methods, reason = "tests start programs, read the clock and the environment themselves")]

mod agent;
mod architecture;
mod checks;
mod gateway;
mod git;
mod real_source;
mod sandbox;
mod web;
mod world;
mod worlds;
