//! The model gateway: the only way from an agent to a model.
//!
//! It holds the providers' keys, knows which run a call belongs to by the call's token, reserves the worst case of a
//! call before forwarding it, lowers the output limit to what still fits, passes bytes through and settles from the
//! provider's own usage. It knows nothing of steps, verdicts or agents.

pub mod meter;
pub mod prices;
pub mod providers;
pub mod secret;
pub mod tls;
pub mod wire;
