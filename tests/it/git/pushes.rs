//! pushes
