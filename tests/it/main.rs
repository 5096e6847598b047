//! All integration tests, as one binary: it links once.
mod agent;
mod sandbox;
