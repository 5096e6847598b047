//! The one TLS stack of the program: rustls with ring.

/// Makes ring the process-wide provider of cryptography; may be called any number of times.
pub fn install() {
    // An error only says that a provider is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Fills `bytes` from the operating system's source of randomness.
///
/// # Errors
/// The operating system has none to give.
pub(super) fn random(bytes: &mut [u8]) -> Result<(), rustls::crypto::GetRandomFailed> {
    rustls::crypto::ring::default_provider().secure_random.fill(bytes)
}
