//! The real application: a fresh database, a real git remote, real sandboxes, the built-in agent over HTTP to a model
//! server whose words are written beforehand. Each test says what the two agents do and reads what came of it as one
//! short text; the invariants are checked at the end of every one.

mod agents;
pub(crate) mod base;
mod checks;
mod database;
mod git;
mod hostile;
mod invariants;
mod nodes;
mod outside;
mod pages;
mod process;
mod provider;
mod refusals;
mod restart;
mod review;
mod story;
mod words;
