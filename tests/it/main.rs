//! All integration tests, as one binary: it links once.

mod agent;
mod architecture;
mod checks;
mod sandbox;
mod worlds;
