//! (being written)

pub mod body;
pub mod inert;
