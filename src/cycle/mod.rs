//! The pure core: what a run is, and the rules that say what comes next.
//!
//! Nothing here does I/O, reads a clock or draws chance; time, ids and randomness arrive as values.
//! [`run::Run`] is a fold of [`event::Event`]s, and [`plan::plan`] is a function of it.

pub mod answers;
pub mod apply;
pub mod checks;
pub mod event;
pub mod id;
pub mod issue;
pub mod ledger;
pub mod money;
pub mod outcome;
pub mod plan;
pub mod policy;
pub mod preset;
pub mod run;
pub mod say;
pub mod step;
pub mod verdict;
