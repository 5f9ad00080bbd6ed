//! The dashboard, as the bundler made it when the hub was built: files with a hash in their name, which browsers keep, and
//! files that browsers revalidate. A debug build reads the dashboard's sources from the directory `$HUB_WEB` instead,
//! for each request, if that is set.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path as FilePath;

use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY,
};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::error::{ApiError, Code};

/// A file in the binary.
struct Asset {
    path: &'static str,
    /// Whether the path has the hash, so that its content never changes.
    is_hashed: bool,
    hash: &'static str,
    content: &'static [u8],
    /// The content in other encodings, the smallest first.
    encoded: &'static [(&'static str, &'static [u8])],
}

/// The files that `build.rs` made.
const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

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

/// `GET /service-worker.js`: the service worker. It controls the pages below its own path, so it is not in `/assets/`. It is
/// always the one in the binary, because its sources are several files, and it must be one.
pub(super) async fn service_worker(headers: HeaderMap) -> Result<Response, ApiError> {
    let path = "service-worker.js";
    respond(path, &headers, embedded(path, &headers))
}

/// The content of a file as one client gets it.
struct Representation {
    content: Cow<'static, [u8]>,
    encoding: Option<&'static str>,
    /// The entity tag, if the content has one.
    tag: Option<String>,
    is_hashed: bool,
}

fn answer(path: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let found = match sources() {
        Some(directory) => source(&directory, path),
        None => embedded(path, headers),
    };
    respond(path, headers, found)
}

fn respond(
    path: &str,
    headers: &HeaderMap,
    found: Option<Representation>,
) -> Result<Response, ApiError> {
    let kind = media_type(path).ok_or(Code::NotFound)?;
    let found = found.ok_or(Code::NotFound)?;
    let cache = if found.is_hashed {
        "public, max-age=31536000, immutable"
    } else {
        // The browser revalidates each time, so that an updated hub is never used with a page of the old version.
        "no-cache"
    };
    let about = [
        (CONTENT_SECURITY_POLICY, policy(path)),
        // Without this, a page that opened this one could keep a handle to its window.
        (OPENER_POLICY, "same-origin"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, cache),
        (VARY, "accept-encoding"),
    ];
    let tag = found.tag.as_ref().map(|tag| [(ETAG, tag.clone())]);
    if found.tag.is_some_and(|tag| is_current(&tag, headers)) {
        return Ok((StatusCode::NOT_MODIFIED, about, tag, ()).into_response());
    }
    let encoding = found.encoding.map(|it| [(CONTENT_ENCODING, it)]);
    Ok((about, tag, encoding, [(CONTENT_TYPE, kind)], found.content).into_response())
}

/// Finds a file in the binary, in the smallest encoding that the client accepts.
fn embedded(path: &str, headers: &HeaderMap) -> Option<Representation> {
    let asset = ASSETS.iter().find(|it| it.path == path)?;
    let mut encoded = asset.encoded.iter();
    let encoded = encoded.find(|(encoding, _)| accepts(encoding, headers));
    let (encoding, content) = encoded.copied().unzip();
    // Each encoding of a file has a tag of its own (RFC 9110, section 8.8.3.3).
    let tag = match encoding {
        Some(encoding) => format!("\"{}-{encoding}\"", asset.hash),
        None => format!("\"{}\"", asset.hash),
    };
    Some(Representation {
        content: content.unwrap_or(asset.content).into(),
        encoding,
        tag: Some(tag),
        is_hashed: asset.is_hashed,
    })
}

/// The directory of the dashboard's sources, if this build is to serve these.
fn sources() -> Option<OsString> {
    cfg!(debug_assertions).then(|| std::env::var_os("HUB_WEB"))?
}

/// Reads a file of the dashboard's sources.
fn source(directory: &OsString, path: &str) -> Option<Representation> {
    let plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('\\');
    if !path.split('/').all(plain) {
        return None;
    }
    let content = std::fs::read(FilePath::new(directory).join(path)).ok()?;
    Some(Representation {
        content: content.into(),
        encoding: None,
        tag: None,
        is_hashed: false,
    })
}

fn policy(path: &str) -> &'static str {
    match path {
        "register-worker.html" => WORKER_POLICY,
        _ => POLICY,
    }
}

/// The media type of a file. A file whose extension has none here is not served.
fn media_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
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

/// Whether the client accepts a content encoding (RFC 9110, section 12.5.3).
fn accepts(encoding: &str, headers: &HeaderMap) -> bool {
    let given = || {
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        let values = values.filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(','))
    };
    let weight = |name: &str| {
        given().find_map(|it| {
            let (given, weight) = it.split_once(';').unwrap_or((it, "q=1"));
            let weight = weight
                .trim()
                .strip_prefix("q=")
                .and_then(|it| it.parse().ok());
            let is_this = given.trim().eq_ignore_ascii_case(name);
            is_this.then_some(weight.unwrap_or(0.0_f32))
        })
    };
    weight(encoding)
        .or_else(|| weight("*"))
        .is_some_and(|it| it > 0.0)
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

    #[test]
    fn an_encoding_is_accepted_if_its_weight_is_not_zero() {
        let accepts_br = |given: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, given.parse().unwrap());
            accepts("br", &headers)
        };
        for given in [
            "br",
            "gzip, deflate, br, zstd",
            "gzip;q=1, BR;q=0.1",
            "*",
            "br; q=1",
        ] {
            assert!(accepts_br(given), "{given}");
        }
        for given in [
            "",
            "gzip",
            "br;q=0",
            "br;q=0, *",
            "identity",
            "*;q=0",
            "br;q=x",
        ] {
            assert!(!accepts_br(given), "{given}");
        }
        assert!(!accepts("br", &HeaderMap::new()));
    }
}
