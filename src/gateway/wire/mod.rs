//! The providers' wire formats, one module each, and the bounded parsing that they share.
//!
//! Whatever a provider sends is untrusted: every size, depth and number of parts has a limit, and a limit that is
//! passed is an error value, never a panic.

pub mod anthropic;
pub mod json;
pub mod sse;
