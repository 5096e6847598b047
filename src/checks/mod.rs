//! The checks port: which commands a repository has, running them, and reading what they printed.
//!
//! A result is only ever taken from how the sandbox says a command ended. What was printed is shown,
//! and tells old failures from new ones; it never turns red into green.

pub mod detect;
pub mod names;
pub mod normalise;
pub mod text;
pub mod trivial;
