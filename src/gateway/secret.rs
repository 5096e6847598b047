//! What must not be seen: a provider's key, and the token that a session is known by.

use std::fmt;

use sha2::{Digest, Sha256};

use super::tls;

/// A provider's key. It is sent to that provider and goes nowhere else; `Debug` does not show it.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// Takes a key as the provider gave it; `None` where it is empty or could not stand in a header.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        plain.then_some(Self(text))
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// The text with every occurrence of the key blacked out: a provider may quote it in an error.
    pub(super) fn redact(&self, text: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        text.replace(&self.0, "[key]").into_bytes()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

/// What an agent holds in place of a key: 256 random bits, as 64 hexadecimal digits. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// The form in which the gateway remembers a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TokenDigest([u8; 32]);

impl Token {
    /// A new token.
    pub(super) fn random() -> Result<Self, rustls::crypto::GetRandomFailed> {
        let mut bytes = [0; 32];
        tls::random(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The token's text, to be handed to the one agent that it was made for.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn digest(&self) -> TokenDigest {
        TokenDigest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

impl TokenDigest {
    pub(super) fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let (key, token) = (Key::new("sk-very-secret").unwrap(), Token::random().unwrap());
        assert!(!format!("{key:?} {token:?}").contains("secret"));
        assert!(!format!("{token:?}").contains(token.expose()));
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.expose().len(), 64);
        assert_ne!(one, other);
        assert_eq!(one.digest(), TokenDigest::of(one.expose().as_bytes()));
    }

    #[test]
    fn a_quoted_key_is_blacked_out() {
        let key = Key::new("sk-1").unwrap();
        assert_eq!(key.redact(b"bad key sk-1, sk-1!"), b"bad key [key], [key]!");
        assert!(Key::new("").is_none() && Key::new("a b").is_none() && Key::new("a\r\nb").is_none());
    }
}
