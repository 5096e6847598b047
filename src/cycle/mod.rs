//! The pure core: what a run is, and the rules that say what comes next.
//!
//! Nothing here does I/O, reads a clock or draws chance; time, ids and randomness arrive as values.
//! [`run::Run`] is a fold of [`event::Event`]s, and [`plan::plan`] is a function of it.

pub mod answers;
pub mod id;
pub mod money;
pub mod say;
pub mod verdict;
