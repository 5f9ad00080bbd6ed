//! The form of the table of routes, and how the other parts look into it.

use std::sync::LazyLock;

use axum::http::Method;
use hub_protocol::PhoneAccess;

use super::ROUTES;

/// A path with its methods.
pub struct Endpoint {
    /// The path, as axum's router writes it.
    pub path: &'static str,
    /// The methods in lower case, each with its properties.
    pub methods: &'static [(&'static str, &'static [Property])],
}

/// How the requests of one method and path differ from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// They need no token.
    Public,
    /// They may be answered late, on purpose or because the answer is expensive. Meanwhile, the end of the client's input
    /// counts as a disconnect, because nothing else shows that the client is gone.
    Late,
    /// In a cluster, each hub answers them for itself. Others are forwarded to the active hub.
    Local,
    /// In a cluster, each hub answers them from its own copy of the log.
    InCopy,
    /// They are judged by the process that makes them. In a cluster, only the hub that takes them can inspect it.
    Origin,
    /// So are they if the process is an agent's: it could end by them what another session has for the person.
    AgentsOrigin,
    /// They change nothing but the device that asks, though their method may.
    Reads,
    /// They change something, though their method is GET.
    Takes,
    /// A paired phone that may answer may make them.
    Answers,
}

/// Defines `ROUTES`, and their router `handlers`. A row is a path with its methods, each with a handler of this crate and
/// properties in brackets.
macro_rules! routes {
    ($($path:literal => $($method:ident $(($handler:expr))? $([$($property:ident),+])?),+;)+) => {
        /// The routes of a hub.
        pub const ROUTES: &[Endpoint] = &[$(Endpoint {
            path: $path,
            methods: &[$((stringify!($method), &[$($(Property::$property),+)?])),+],
        }),+];

        fn handlers() -> Router<ApiState> {
            Router::new()$(.route($path, MethodRouter::new()$($(.$method($handler))?)+))+
        }
    };
}

pub(super) use routes;

/// Returns the properties of the requests of this method and path; HEAD has those of GET.
pub fn properties(method: &Method, path: &str) -> &'static [Property] {
    // The matcher of axum's router, so that both understand a path alike.
    static PATHS: LazyLock<matchit::Router<&Endpoint>> = LazyLock::new(|| {
        let mut paths = matchit::Router::new();
        for route in ROUTES {
            let added = paths.insert(route.path, route);
            added.expect("axum's router refuses the same paths");
        }
        paths
    });
    let method = match *method {
        Method::HEAD => Method::GET.as_str(),
        _ => method.as_str(),
    };
    let found = PATHS.at(path).map_or(&[][..], |it| it.value.methods);
    let mut methods = found.iter();
    let named = methods.find(|(name, _)| name.eq_ignore_ascii_case(method));
    named.map_or(&[], |(_, properties)| properties)
}

/// Whether a paired phone may make the requests of this method and path.
pub(crate) fn is_for_phones(access: PhoneAccess, method: &Method, path: &str) -> bool {
    let properties = properties(method, path);
    let is = |it| properties.contains(&it);
    let reads = is(Property::Reads) || method.is_safe() && !is(Property::Takes);
    reads || access == PhoneAccess::Answers && is(Property::Answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_reads_and_answers_only() {
        use PhoneAccess::{Answers, Reads};
        let (get, post, put, delete) = (Method::GET, Method::POST, Method::PUT, Method::DELETE);
        for (method, path, expected) in [
            (&get, "/dashboard", [true, true]),
            (&Method::HEAD, "/needs", [true, true]),
            (&post, "/markdown", [true, true]),
            (&put, "/login/push", [true, true]),
            (&post, "/needs/1/answer", [false, true]),
            (&delete, "/needs/1/done", [false, true]),
            (&post, "/notify", [false, true]),
            (&put, "/preferences", [false, true]),
            (&get, "/wait", [false, false]),
            (&delete, "/sessions/a", [false, false]),
            (&post, "/projects/a/reset", [false, false]),
            (&post, "/hooks/claude", [false, false]),
            (&delete, "/login/devices/all", [false, false]),
            (&post, "/mcp", [false, false]),
            (&post, "/nowhere", [false, false]),
        ] {
            let may = [Reads, Answers].map(|it| is_for_phones(it, method, path));
            assert_eq!(may, expected, "{method} {path}");
        }
    }

    #[test]
    fn a_request_has_the_properties_of_its_method_and_path_only() {
        let of = |method, path| properties(&method, path);
        let file = [Property::Public, Property::Local];
        assert_eq!(of(Method::GET, "/assets/style/a.css"), file);
        assert_eq!(of(Method::HEAD, "/assets/style/a.css"), file);
        assert_eq!(of(Method::POST, "/assets/style/a.css"), []);
        assert_eq!(of(Method::GET, "/assets/"), []);
        assert_eq!(of(Method::GET, "/nowhere"), []);
        assert_eq!(of(Method::GET, "/notifications/1"), [Property::InCopy]);
        assert_eq!(of(Method::DELETE, "/notifications/1"), [Property::Origin]);
        assert_eq!(of(Method::POST, "/notifications/1"), []);
        assert_eq!(of(Method::GET, "/notifications/1/trace"), [Property::Late]);
    }
}
