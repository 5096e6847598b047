//! One file a page, beside its template of the same name.

pub mod delegate;
pub mod error;
pub mod home;
pub mod pull_request;
pub mod run;
