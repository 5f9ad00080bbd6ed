//! The web page of a remote.

/// The web page of a remote: `git@host:path.git`, `ssh://host/path` and `https://host/path` all have it at
/// `https://host/path`. A user, a password and the port of ssh are left out.
pub(super) fn web_address(remote: &str) -> Option<String> {
    let (scheme, rest) = remote.split_once("://").unwrap_or(("scp", remote));
    let (host, path) = match scheme {
        "scp" => rest.split_once(':')?,
        "ssh" | "git" | "http" | "https" => rest.split_once('/')?,
        _ => return None,
    };
    let host = host.rsplit('@').next()?;
    let host = match scheme {
        "http" | "https" => host,
        _ => host.split(':').next()?,
    };
    let path = path.trim_matches('/').trim_end_matches(".git");
    let is_name = |text: &str| text.contains(|c: char| c.is_ascii_alphanumeric());
    let is_plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._~:/".contains(c))
    };
    let is_page = host.contains('.') && is_name(path) && is_plain(host) && is_plain(path);
    is_page.then(|| format!("https://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_web_page_of_a_remote_contains_no_secret() {
        for remote in [
            "git@git.example.org:shop/api.git",
            "ssh://git@git.example.org:2222/shop/api",
            "https://me:secret@git.example.org/shop/api.git",
        ] {
            let page = web_address(remote);
            assert_eq!(page.as_deref(), Some("https://git.example.org/shop/api"));
        }
        for remote in [
            "/srv/api.git",
            "../api",
            "C:/src/api",
            "file:///srv/api",
            "https://a.b/<i>",
            "",
        ] {
            assert_eq!(web_address(remote), None, "{remote}");
        }
    }
}
