//! The dashboard: the files of `web/`, embedded in the binary. A debug build reads them from the disk for each request.

use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::core::secret::hex;
use crate::http::error::{ApiError, Code};

#[derive(RustEmbed)]
#[folder = "../web"]
struct Web;

/// The Content-Security-Policy: the page runs its own scripts and calls its own hub, nothing else. Trusted Types keep
/// text from becoming code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The policy of the document that registers the service worker. `register` takes a script's URL as text, which the
/// Trusted Types of the page refuse; so the page loads this document in a frame, and it runs one constant script.
const WORKER_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'self'";

/// The header that separates the page from the windows of other sites.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Bytes of the hash in an entity tag: half of a SHA-256 is enough to distinguish versions of a file.
const TAG_BYTES: usize = 16;

/// `GET /`: the start page.
pub(super) async fn page(headers: HeaderMap) -> Result<Response, ApiError> {
    answer("index.html", &headers)
}

/// `GET /assets/{path}`: one file of the dashboard.
pub(super) async fn asset(
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&path, &headers)
}

/// `GET /service-worker.js`: the service worker. It controls the pages below its own path, so it is not in `/assets/`.
pub(super) async fn service_worker(headers: HeaderMap) -> Result<Response, ApiError> {
    answer("service-worker.js", &headers)
}

fn answer(path: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let (kind, file) = find(path).ok_or(Code::NotFound)?;
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()[..TAG_BYTES]));
    let is_current = is_current(&tag, headers);
    let about: [(HeaderName, &str); 5] = [
        (CONTENT_SECURITY_POLICY, policy(path)),
        // Without this, a page that opened this one could keep a handle to its window.
        (OPENER_POLICY, "same-origin"),
        (REFERRER_POLICY, "no-referrer"),
        // The browser revalidates each time, so that an updated hub is never used with a page of the old version.
        (CACHE_CONTROL, "no-cache"),
        (ETAG, &tag),
    ];
    if is_current {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    Ok((about, [(CONTENT_TYPE, kind)], file.data.into_owned()).into_response())
}

/// Finds a file by its plain path and returns it with its media type. A file whose extension has no type here is not
/// served.
fn find(path: &str) -> Option<(&'static str, EmbeddedFile)> {
    let plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('\\');
    if !path.split('/').all(plain) {
        return None;
    }
    let (_, extension) = path.rsplit_once('.')?;
    Some((media_type(extension)?, Web::get(path)?))
}

fn policy(path: &str) -> &'static str {
    match path {
        "register-worker.html" => WORKER_POLICY,
        _ => POLICY,
    }
}

fn media_type(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}

/// Whether the client has this version already (RFC 9110, weak comparison).
fn is_current(tag: &str, headers: &HeaderMap) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|given| given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_has_this_version_gets_not_modified() {
        let is_current_for = |given: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, given.parse().unwrap());
            is_current("\"ab\"", &headers)
        };
        for current in ["\"ab\"", "W/\"ab\"", "\"x\", \"ab\"", "*"] {
            assert!(is_current_for(current), "{current}");
        }
        for other in ["\"abc\"", "ab", ""] {
            assert!(!is_current_for(other), "{other}");
        }
        assert!(!is_current("\"ab\"", &HeaderMap::new()));
    }
}
