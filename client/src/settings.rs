//! Where the hub is, and what proves who we are.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::env::{Env, Sourced};
use crate::error::Error;

/// Where to find the hub; every command takes these.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Finding the hub")]
pub(crate) struct Place {
    /// The hub's address, e.g. <http://127.0.0.1:4782> [env: `HUB_URL`]
    #[arg(long, global = true, value_name = "URL", conflicts_with = "socket")]
    pub url: Option<String>,
    /// The hub's Unix socket [env: `HUB_SOCKET`; default: hub.sock in the state directory]
    #[arg(long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The hub's state directory [env: `HUB_STATE_DIR`; default: `$XDG_STATE_HOME/hub`]
    #[arg(long, global = true, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// The file with the token, needed with --url only [env: `HUB_TOKEN_FILE`; default: token in the state directory]
    #[arg(long, global = true, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
}

/// How to reach the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// By its Unix socket, where the user id is the proof.
    Socket(PathBuf),
    /// By TCP, where the token is.
    Url(HubUrl),
}

/// An `http://` URL of nothing but a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HubUrl {
    /// What comes before a path: `http://127.0.0.1:4782`.
    pub base: String,
    /// The host and port, as in the `Host` header.
    pub authority: String,
}

/// Everything found out.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where the hub keeps its state, and this client its spool.
    pub state_dir: Sourced<PathBuf>,
    /// How to reach the hub.
    pub address: Sourced<Address>,
    /// Where the token is.
    pub token_file: Sourced<PathBuf>,
}

impl Settings {
    /// What `place` and the environment say; a flag goes before a variable, a variable before a default.
    pub(crate) fn resolve(place: &Place, env: &Env) -> Result<Self, Error> {
        let state_dir = state_dir(place, env)?;
        Ok(Self {
            address: address(place, env, &state_dir.value)?,
            token_file: first_path(
                env,
                (place.token_file.as_deref(), "--token-file"),
                "HUB_TOKEN_FILE",
            )
            .unwrap_or_else(|| Sourced::new(state_dir.value.join("token"), "state directory")),
            state_dir,
        })
    }
}

fn state_dir(place: &Place, env: &Env) -> Result<Sourced<PathBuf>, Error> {
    if let Some(found) = first_path(
        env,
        (place.state_dir.as_deref(), "--state-dir"),
        "HUB_STATE_DIR",
    ) {
        return Ok(found);
    }
    // As the base directory specification says, a relative XDG_STATE_HOME is ignored.
    if let Some(base) = env
        .var("XDG_STATE_HOME")
        .map(Path::new)
        .filter(|base| base.is_absolute())
    {
        return Ok(Sourced::new(base.join("hub"), "XDG_STATE_HOME"));
    }
    match &env.home {
        Some(home) => Ok(Sourced::new(home.join(".local/state/hub"), "default")),
        None => Err(Error::Usage("no home directory: set HUB_STATE_DIR".into())),
    }
}

fn address(place: &Place, env: &Env, state_dir: &Path) -> Result<Sourced<Address>, Error> {
    if let Some(url) = &place.url {
        return Ok(Sourced::new(Address::Url(url.parse()?), "--url"));
    }
    if let Some(path) = &place.socket {
        return Ok(Sourced::new(
            Address::Socket(env.absolute(path)),
            "--socket",
        ));
    }
    if let Some(url) = env.var("HUB_URL") {
        let url = url.to_string_lossy().parse()?;
        return Ok(Sourced::new(Address::Url(url), "HUB_URL"));
    }
    if let Some(path) = env.path("HUB_SOCKET") {
        return Ok(Sourced::new(Address::Socket(path), "HUB_SOCKET"));
    }
    let socket = state_dir.join("hub.sock");
    Ok(Sourced::new(Address::Socket(socket), "state directory"))
}

fn first_path(
    env: &Env,
    (given, flag): (Option<&Path>, &'static str),
    variable: &'static str,
) -> Option<Sourced<PathBuf>> {
    if let Some(given) = given {
        return Some(Sourced::new(env.absolute(given), flag));
    }
    env.path(variable).map(|path| Sourced::new(path, variable))
}

impl std::str::FromStr for HubUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = |why: &str| Error::Usage(format!("invalid hub URL '{text}': {why}"));
        let url = reqwest::Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        if url.scheme() != "http" {
            return Err(refused("only http:// is spoken"));
        }
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() {
            return Err(refused("expected http://HOST:PORT and nothing more"));
        }
        let authority = url.authority().to_owned();
        Ok(Self {
            base: format!("http://{authority}"),
            authority,
        })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Url(url) => f.write_str(&url.base),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(place: &Place, vars: &[(&str, &str)]) -> Settings {
        let mut env = Env::of(Path::new("/srv"), vars);
        env.home = Some("/home/me".into());
        Settings::resolve(place, &env).unwrap()
    }

    #[test]
    fn without_a_word_the_hub_is_in_the_state_directory() {
        let found = resolved(&Place::default(), &[]);
        assert_eq!(
            found.address.value.to_string(),
            "/home/me/.local/state/hub/hub.sock"
        );
        assert_eq!(
            found.token_file.value,
            Path::new("/home/me/.local/state/hub/token")
        );
        let xdg = resolved(&Place::default(), &[("XDG_STATE_HOME", "/var/me")]);
        assert_eq!(xdg.state_dir.value, Path::new("/var/me/hub"));
    }

    #[test]
    fn a_flag_goes_before_a_variable_and_an_address_before_the_directory() {
        let vars = [
            ("HUB_URL", "http://127.0.0.1:1"),
            ("HUB_SOCKET", "/s"),
            ("HUB_STATE_DIR", "d"),
        ];
        let found = resolved(&Place::default(), &vars);
        assert_eq!(
            found.address,
            Sourced::new(
                Address::Url("http://127.0.0.1:1".parse().unwrap()),
                "HUB_URL"
            )
        );
        assert_eq!(
            found.state_dir,
            Sourced::new("/srv/d".into(), "HUB_STATE_DIR")
        );
        let place = Place {
            socket: Some("s".into()),
            ..Place::default()
        };
        let found = resolved(&place, &vars);
        assert_eq!(
            found.address,
            Sourced::new(Address::Socket("/srv/s".into()), "--socket")
        );
    }

    #[test]
    fn only_a_bare_http_url_is_an_address() {
        let url: HubUrl = "http://localhost:4782/".parse().unwrap();
        assert_eq!(
            (url.base.as_str(), url.authority.as_str()),
            ("http://localhost:4782", "localhost:4782")
        );
        for bad in [
            "https://x",
            "http://x/y",
            "http://u:p@x",
            "http://x/?a",
            "x:1",
            "",
        ] {
            assert!(bad.parse::<HubUrl>().is_err(), "{bad:?}");
        }
    }
}
