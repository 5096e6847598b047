//! All integration tests, as one binary: it links once.

mod agent;
mod checks;
mod sandbox;
mod worlds;
