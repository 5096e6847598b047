//! imports
