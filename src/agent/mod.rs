//! The agent port.

pub mod brief;
pub mod text;
