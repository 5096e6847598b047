//! All integration tests, as one binary: it links once.

mod agent;
mod architecture;
mod checks;
mod gateway;
mod git;
mod sandbox;
mod web;
mod worlds;
