//! Countersign turns an issue into a reviewed pull request.
//!
//! Facts in a log, one pure [`cycle::plan`] that derives the next step from them, one short loop
//! ([`runner`]) that performs it. `docs/ARCHITECTURE.md` is the map.

pub mod agent;
pub mod app;
pub mod checks;
pub mod clock;
pub mod config;
pub mod connections;
pub mod cycle;
pub mod demo;
pub mod forge;
pub mod gateway;
pub mod git;
pub mod hidden;
pub mod model_server;
mod nearest;
pub mod run_repository;
pub mod runner;
pub mod sandbox;
pub mod service;
pub mod store;
pub mod telemetry;
pub mod web;
