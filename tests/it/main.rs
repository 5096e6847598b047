//! All integration tests, as one binary: it links once.

mod web;
