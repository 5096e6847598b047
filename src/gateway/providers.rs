//! The providers that the gateway can call.

use super::secret::Key;

/// How a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages API.
    AnthropicMessages,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// What settings and sessions call it.
    pub name: &'static str,
    /// What pages call it.
    pub label: &'static str,
    /// How it speaks.
    pub wire: Wire,
    /// Where it is, without a trailing slash; `None` where that is said at start.
    pub base_url: Option<&'static str>,
    /// The environment variable that holds its key; `None` where it needs none.
    pub key_variable: Option<&'static str>,
    /// Whether its answers are written beforehand, which every page of such a run must say.
    pub canned: bool,
}

/// Every provider that is known.
pub const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        label: "Anthropic",
        wire: Wire::AnthropicMessages,
        base_url: Some("https://api.anthropic.com"),
        key_variable: Some("ANTHROPIC_API_KEY"),
        canned: false,
    },
    Provider {
        name: "scripted",
        label: "Scripted model",
        wire: Wire::AnthropicMessages,
        base_url: None,
        key_variable: None,
        canned: true,
    },
];

/// The provider of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// A provider with what is needed to call it.
#[derive(Debug, Clone)]
pub struct Upstream {
    pub(super) provider: &'static Provider,
    pub(super) base_url: String,
    pub(super) key: Option<Key>,
}

/// Why a provider cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUpstream {
    /// The table has no address for it and none was given.
    #[error("no address is known for the provider {0}")]
    NoAddress(&'static str),
    /// The address is neither https nor plain http to this machine.
    #[error(
        "{0:?} is not an https:// address, and plain http:// is for this machine only (127.0.0.1, localhost, [::1])"
    )]
    Insecure(String),
    /// It needs a key and none was given.
    #[error("the provider {provider} needs a key in {variable}")]
    NoKey {
        /// The provider's name.
        provider: &'static str,
        /// The variable that should hold the key.
        variable: &'static str,
    },
}

impl Upstream {
    /// Puts together what is needed to call `provider`: `base_url` takes the place of the table's.
    ///
    /// # Errors
    /// See [`BadUpstream`].
    pub fn new(provider: &'static Provider, base_url: Option<&str>, key: Option<Key>) -> Result<Self, BadUpstream> {
        let base_url = base_url.or(provider.base_url).ok_or(BadUpstream::NoAddress(provider.name))?;
        check_address(base_url)?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        match (provider.key_variable, &key) {
            (Some(variable), None) => Err(BadUpstream::NoKey { provider: provider.name, variable }),
            (Some(_), Some(_)) | (None, _) => Ok(Self { provider, base_url, key }),
        }
    }

    /// The provider's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.provider.name
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

/// Refuses an address to which a key would be sent in the clear.
///
/// # Errors
/// [`BadUpstream::Insecure`].
pub fn check_address(base_url: &str) -> Result<(), BadUpstream> {
    if is_private(base_url) { Ok(()) } else { Err(BadUpstream::Insecure(base_url.to_owned())) }
}

/// Whether nobody between here and the address can read along.
fn is_private(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url) else { return false };
    let loopback = match url.host_str() {
        Some("localhost") => true,
        Some(host) => host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && loopback)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_sent_in_the_clear_over_a_network() {
        let anthropic = find("anthropic").unwrap();
        let key = || Key::new("k");
        assert!(Upstream::new(anthropic, None, key()).is_ok());
        for good in ["http://127.0.0.1:8080", "http://localhost:1/", "http://[::1]:9", "https://proxy.example"] {
            assert!(Upstream::new(anthropic, Some(good), key()).is_ok(), "{good}");
        }
        for bad in ["http://api.anthropic.com", "http://127.0.0.1.evil.example", "ftp://127.0.0.1", "nonsense", ""] {
            let given = Upstream::new(anthropic, Some(bad), key());
            assert!(matches!(given, Err(BadUpstream::Insecure(_))), "{bad}");
        }
    }

    #[test]
    fn a_provider_that_lacks_something_says_what() {
        let (anthropic, local) = (find("anthropic").unwrap(), find("scripted").unwrap());
        let missing = BadUpstream::NoKey { provider: "anthropic", variable: "ANTHROPIC_API_KEY" };
        assert_eq!(Upstream::new(anthropic, None, None).unwrap_err(), missing);
        assert_eq!(Upstream::new(local, None, None).unwrap_err(), BadUpstream::NoAddress("scripted"));
        assert!(Upstream::new(local, Some("http://127.0.0.1:1"), None).is_ok());
        assert!(find("nobody").is_none());
    }
}
