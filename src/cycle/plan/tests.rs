//! The rules, each as what follows a run's last fact.
//!
//! [`Play`] is a run that only ever takes the step that `plan` asks for; the tests say what came of it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod ceilings;
mod facts;
mod play;
mod rows;
mod stops;
mod troubles;

use super::*;
