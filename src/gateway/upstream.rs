//! The line to one provider.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use reqwest::redirect;

use super::providers::Upstream;
use super::wire::anthropic::API_VERSION;

/// A provider and the connections to it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) upstream: Upstream,
    client: reqwest::Client,
}

/// What of a request's surroundings is passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Whether the client asked for the beta form of the address.
    pub(super) beta_address: bool,
    version: Option<HeaderValue>,
    beta: Option<HeaderValue>,
}

/// The longest header value that is passed on.
const MAX_HEADER: usize = 4 << 10;

impl Passed {
    /// Takes the format's own headers and nothing else: no credential, cookie or address of the client's.
    pub(super) fn from(headers: &HeaderMap, query: Option<&str>) -> Self {
        let take = |name: &str| headers.get(name).filter(|value| value.len() <= MAX_HEADER).cloned();
        Self {
            beta_address: query == Some("beta=true"),
            version: take("anthropic-version"),
            beta: take("anthropic-beta"),
        }
    }
}

impl Line {
    /// Prepares connections to a provider: redirects are not followed, and the environment's proxies are not used.
    pub(super) fn new(upstream: Upstream, connect: Duration) -> Result<Self, reqwest::Error> {
        let builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(connect)
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")));
        // Plain http is for this machine only, so the machine's certificates need not even be there.
        let builder = if upstream.is_encrypted() { builder } else { builder.tls_certs_only([]) };
        Ok(Self { client: builder.build()?, upstream })
    }

    /// Sends a call with the provider's key.
    pub(super) async fn messages(&self, passed: &Passed, body: Bytes) -> Result<reqwest::Response, reqwest::Error> {
        let query = if passed.beta_address { "?beta=true" } else { "" };
        let version = passed.version.clone().unwrap_or(HeaderValue::from_static(API_VERSION));
        let mut request = self
            .client
            .post(format!("{}/v1/messages{query}", self.upstream.base_url))
            .header(header::CONTENT_TYPE, "application/json")
            .header("anthropic-version", version)
            .body(body);
        if let Some(beta) = &passed.beta {
            request = request.header("anthropic-beta", beta);
        }
        if let Some(key) = &self.upstream.key {
            request = request.header("x-api-key", key.expose());
        }
        request.send().await
    }

    /// A text of the provider's without our key in it.
    pub(super) fn redact(&self, text: &[u8]) -> Vec<u8> {
        match &self.upstream.key {
            Some(key) => key.redact(text),
            None => text.to_vec(),
        }
    }
}
