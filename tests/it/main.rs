//! All integration tests, as one binary: it links once.

mod checks;
mod sandbox;
mod worlds;
