//! Who may speak to a service without sign-in: only this machine, and for changes only its own pages.
//!
//! A page anywhere on the web can make a browser send requests to this machine. Two things stop it: the request
//! must be addressed to a name of this machine, which defeats a foreign name that resolves to it (DNS rebinding),
//! and a request that changes something must come from a page of this service (cross-site request forgery).

use axum::extract::Request;
use axum::http::{HeaderMap, Method, header, request::Parts};
use axum::middleware::Next;
use axum::response::Response;

use super::error::Error;

/// Lets a request pass or refuses it.
///
/// # Errors
/// [`Error::ForeignHost`], [`Error::ForeignOrigin`].
pub async fn guard(request: Request, next: Next) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    judge(&parts)?;
    Ok(next.run(Request::from_parts(parts, body)).await)
}

fn judge(request: &Parts) -> Result<(), Error> {
    let host = host(request)?;
    let changes = !matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE);
    if changes && !comes_from(&request.headers, host) { Err(Error::ForeignOrigin) } else { Ok(()) }
}

/// The host that the request is addressed to, once in the header and, in the absolute form, again in the target.
fn host(request: &Parts) -> Result<&str, Error> {
    let header = only(&request.headers, header::HOST).unwrap_or_default();
    let target = request.uri.authority().map(axum::http::uri::Authority::as_str);
    for given in target.into_iter().chain([header]) {
        if !is_loopback(given) {
            return Err(Error::ForeignHost { given: given.chars().take(80).collect() });
        }
    }
    Ok(header)
}

/// `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Whether the browser says that the request comes from a page of the origin it is sent to.
///
/// `Sec-Fetch-Site` cannot be set by a page; `none` is a request that no page made, which is believed only with our
/// own `Origin`. A browser without it always sends `Origin` with a change. A request with neither is no browser's.
fn comes_from(headers: &HeaderMap, host: &str) -> bool {
    let own = |origin: &str| origin.strip_prefix("http://").is_some_and(|o| o.eq_ignore_ascii_case(host));
    let origin = match headers.contains_key(header::ORIGIN) {
        true => only(headers, header::ORIGIN).or(Some("unreadable")),
        false => None,
    };
    let site = match headers.contains_key("sec-fetch-site") {
        true => only(headers, "sec-fetch-site").or(Some("unreadable")),
        false => None,
    };
    match (site, origin) {
        // A browser that hides the origin of our own page says `null`.
        (Some("same-origin"), None | Some("null")) => true,
        (Some("same-origin" | "none") | None, Some(origin)) => own(origin),
        (Some(_), Some(_) | None) | (None, None) => false,
    }
}

/// The value of a header that is there exactly once and is plain text.
fn only(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a well-formed request").into_parts().0
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in ["localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8080"] {
            assert!(judge(&parts("GET", "/", &[("host", host)])).is_ok(), "{host}");
        }
        let foreign = [
            "",
            "evil.example",
            "localhost.evil.example",
            "evil.localhost",
            "localhost.",
            "127.0.0.1.nip.io",
            "127.0.0.2",
            "0.0.0.0",
            "[::]",
            "::1",
            "[::ffff:127.0.0.1]",
            "2130706433",
            "0x7f.1",
            "localhost:",
            "localhost:80:80",
            "localhost:8o",
            "localhost@evil",
            "user@localhost",
            " localhost",
            "localhost,evil",
        ];
        for host in foreign {
            assert!(judge(&parts("GET", "/", &[("host", host)])).is_err(), "{host}");
        }
    }

    #[test]
    fn a_missing_a_doubled_and_a_contradicted_host_are_foreign() {
        assert!(judge(&parts("GET", "/", &[])).is_err());
        assert!(judge(&parts("GET", "/", &[("host", "localhost"), ("host", "localhost")])).is_err());
        assert!(judge(&parts("GET", "http://evil.example/", &[("host", "localhost")])).is_err());
        assert!(judge(&parts("GET", "http://localhost/", &[("host", "evil.example")])).is_err());
        assert!(judge(&parts("GET", "http://localhost/", &[("host", "localhost")])).is_ok());
    }

    /// Every combination of the two headers, for a change sent to `localhost:8080`.
    #[test]
    fn a_change_comes_from_a_page_of_this_service_or_is_refused() {
        let own = Some("http://localhost:8080");
        let foreign = [
            "null",
            "https://localhost:8080",
            "http://localhost:3000",
            "http://localhost",
            "http://evil.example",
            "http://localhost:8080.evil",
            "",
        ];
        let judged = |method: &str, site: Option<&str>, origin: Option<&str>| {
            let given = [("host", Some("localhost:8080")), ("sec-fetch-site", site), ("origin", origin)];
            let headers: Vec<_> = given.into_iter().filter_map(|(n, v)| Some((n, v?))).collect();
            judge(&parts(method, "/delegate", &headers)).is_ok()
        };
        for method in ["POST", "PUT", "PATCH", "DELETE", "PURGE"] {
            assert!(judged(method, Some("same-origin"), own));
            assert!(judged(method, Some("same-origin"), None));
            assert!(judged(method, Some("same-origin"), Some("null")));
            assert!(judged(method, Some("none"), own));
            assert!(judged(method, None, own));
            assert!(!judged(method, None, None), "neither header");
            assert!(!judged(method, Some("none"), None));
            for site in ["same-site", "cross-site", "", "Same-Origin", "same-origin, same-origin", "other"] {
                assert!(!judged(method, Some(site), own), "{site}");
                assert!(!judged(method, Some(site), None), "{site}");
            }
            for origin in foreign {
                assert!(!judged(method, None, Some(origin)), "{origin}");
                assert!(!judged(method, Some("none"), Some(origin)), "{origin}");
                assert!(!judged(method, Some("cross-site"), Some(origin)), "{origin}");
                assert!(origin == "null" || !judged(method, Some("same-origin"), Some(origin)), "{origin}");
            }
        }
        assert!(judged("GET", Some("cross-site"), None), "a link from elsewhere may be followed");
    }

    #[test]
    fn a_doubled_origin_is_foreign() {
        let doubled = [
            ("host", "localhost"),
            ("sec-fetch-site", "same-origin"),
            ("origin", "http://localhost"),
            ("origin", "http://evil"),
        ];
        assert!(judge(&parts("POST", "/delegate", &doubled)).is_err());
        let doubled = [
            ("host", "localhost"),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "cross-site"),
            ("origin", "http://localhost"),
        ];
        assert!(judge(&parts("POST", "/delegate", &doubled)).is_err());
    }
}
