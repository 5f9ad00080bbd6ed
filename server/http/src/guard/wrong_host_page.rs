//! The page for a browser at an address that is not the hub's, usually a port that was forwarded under another number.
//!
//! It is the same for every client, names only the port, and may load and run nothing. So a foreign page whose name
//! resolves to this machine learns no more from it than from the error.

use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::error::{ApiError, Code};
use crate::peer::Peer;

/// The page to send instead of `error`, if a browser asked for the start page at a Host that is not served.
pub(super) fn page(request: &Request, error: &ApiError) -> Option<Response> {
    let accept = request.headers().get(ACCEPT)?.to_str().ok()?;
    let wants_page = request.method() == Method::GET && request.uri().path() == "/";
    let Some(Peer::Tcp { local, .. }) = request.extensions().get::<Peer>() else {
        return None;
    };
    if error.code() != Code::WrongHost || !wants_page || !accept.contains("text/html") {
        return None;
    }
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'"),
    ];
    Some((StatusCode::MISDIRECTED_REQUEST, headers, text(local.port())).into_response())
}

fn text(port: u16) -> String {
    format!(
        "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>hub: another address</title>
<h1>This hub answers at http://127.0.0.1:{port} only</h1>
<p>Is it on another machine? Forward its port under the same number, and open the link that this prints:</p>
<pre>ssh -t -L {port}:127.0.0.1:{port} HOST 'hubctl dashboard --print; exec $SHELL'</pre>
<p>Does it have another name on purpose (a tunnel)? Put the name into <code>allowed_hosts</code> of its settings.</p>
</html>
"
    )
}
