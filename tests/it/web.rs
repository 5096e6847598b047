//! The pages as a browser gets them: every sample renders, nothing from outside becomes markup, every route carries
//! its headers, and no foreign page can make this service do anything.

mod client;
pub(crate) mod escaping;
mod looks;
pub(crate) mod markup;
mod routes;
mod style;
