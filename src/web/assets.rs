//! The style sheet and the icon: part of the program, addressed by their content.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::error::{Error, Missing};

/// Name, media type and content of each file.
const FILES: [(&str, &str, &[u8]); 2] = [
    ("app.css", "text/css; charset=utf-8", include_bytes!("../../static/app.css")),
    ("icon.svg", "image/svg+xml", include_bytes!("../../static/icon.svg")),
];

/// Twelve hexadecimal digits of the files' digest: part of their address, so that a browser may keep them for good.
#[must_use]
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut digest = Sha256::new();
        FILES.iter().for_each(|(_, _, content)| digest.update(content));
        digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    });
    &VERSION
}

/// Answers `GET /static/{version}/{name}`.
pub(super) async fn show(path: Result<Path<(String, String)>, PathRejection>) -> Result<Response, Error> {
    let Path((asked, name)) = path.map_err(|_| Error::NotFound(Missing::Page))?;
    let file = FILES.iter().find(|(own, _, _)| asked == version() && *own == name);
    let (_, media, content) = file.ok_or(Error::NotFound(Missing::Page))?;
    let headers = [(header::CONTENT_TYPE, *media), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, *content).into_response())
}
