//! The settings for finding the hub, and for the token.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::Error;
use crate::system::env::{Env, Sourced};

/// The location of the hub; every command takes these options.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Finding the hub")]
pub struct HubLocation {
    /// The hub's address on this machine, e.g. <http://127.0.0.1:4782> [env: `HUB_URL`, which may name another machine]
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

/// The address of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A Unix socket; the user id of its server is the proof.
    Socket(PathBuf),
    /// A TCP address; the token is the proof.
    Url(HubUrl),
}

/// An `http://` URL with only a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HubUrl {
    /// The URL without a path: `http://127.0.0.1:4782`.
    pub base: String,
    /// The host and port, as in the `Host` header.
    pub authority: String,
}

/// The settings that result from the flags and the environment.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The directory of the hub's state, and of this client's spool.
    pub state_dir: Sourced<PathBuf>,
    /// The hub's address.
    pub address: Sourced<Address>,
    /// The file with the token.
    pub token_file: Sourced<PathBuf>,
}

impl Settings {
    /// Resolves `place` and the environment. A flag takes precedence over a variable, and a variable over a default.
    pub(crate) fn resolve(location: &HubLocation, env: &Env) -> Result<Self, Error> {
        let state_dir = state_dir(location, env)?;
        Ok(Self {
            address: address(location, env, &state_dir.value)?,
            token_file: first_path(
                env,
                (location.token_file.as_deref(), "--token-file"),
                "HUB_TOKEN_FILE",
            )
            .unwrap_or_else(|| Sourced::new(state_dir.value.join("token"), "state directory")),
            state_dir,
        })
    }
}

impl Settings {
    /// Whether the hub is the one that uses the state directory, and so reads the spool there.
    pub(crate) fn is_own_hub(&self) -> bool {
        self.address.value == Address::Socket(self.state_dir.value.join("hub.sock"))
    }

    /// Returns an error if the state directory was named and does not exist, so that a typing error does not create
    /// one.
    pub(crate) fn demand_state_dir(&self) -> anyhow::Result<()> {
        let dir = &self.state_dir;
        let named = ["--state-dir", "HUB_STATE_DIR"].contains(&dir.source);
        anyhow::ensure!(
            !named || dir.value.exists(),
            "{} does not exist ({}): no hub has run there; `hubctl up` starts one",
            dir.value.display(),
            dir.source
        );
        Ok(())
    }
}

fn state_dir(location: &HubLocation, env: &Env) -> Result<Sourced<PathBuf>, Error> {
    if let Some(found) = first_path(
        env,
        (location.state_dir.as_deref(), "--state-dir"),
        "HUB_STATE_DIR",
    ) {
        return Ok(found);
    }
    // The XDG base directory specification says to ignore a relative XDG_STATE_HOME.
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

fn address(location: &HubLocation, env: &Env, state_dir: &Path) -> Result<Sourced<Address>, Error> {
    if let Some(url) = &location.url {
        let url: HubUrl = url.parse()?;
        let configured = env.var("HUB_URL").and_then(|it| it.to_str()?.parse().ok());
        if !url.is_local() && configured.as_ref() != Some(&url) {
            return Err(Error::Usage(format!(
                "--url must be an address of this machine, and {} is not: set HUB_URL for a hub on another machine",
                url.base
            )));
        }
        return Ok(Sourced::new(Address::Url(url), "--url"));
    }
    if let Some(path) = &location.socket {
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

impl HubUrl {
    /// Whether the URL leads to this machine. An agent that may run `hubctl wait` may add any flag, but cannot set
    /// variables.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.authority.rsplit_once(':').map_or("", |(host, _)| host);
        let host = if host.is_empty() || self.authority.ends_with(']') {
            self.authority.as_str()
        } else {
            host
        };
        let ip = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
        host == "localhost" || ip.parse().is_ok_and(is_loopback)
    }
}

impl std::str::FromStr for HubUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = |why: &str| Error::Usage(format!("invalid hub URL '{text}': {why}"));
        let url = reqwest::Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        if url.scheme() != "http" {
            return Err(refused("only http:// is supported"));
        }
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() {
            return Err(refused("expected http://HOST:PORT without a path"));
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

    fn resolved(location: &HubLocation, vars: &[(&str, &str)]) -> Settings {
        let mut env = Env::of(Path::new("/srv"), vars);
        env.home = Some("/home/me".into());
        Settings::resolve(location, &env).unwrap()
    }

    #[test]
    fn the_default_address_is_the_socket_in_the_state_directory() {
        let found = resolved(&HubLocation::default(), &[]);
        assert_eq!(
            found.address.value.to_string(),
            "/home/me/.local/state/hub/hub.sock"
        );
        assert_eq!(
            found.token_file.value,
            Path::new("/home/me/.local/state/hub/token")
        );
        let xdg = resolved(&HubLocation::default(), &[("XDG_STATE_HOME", "/var/me")]);
        assert_eq!(xdg.state_dir.value, Path::new("/var/me/hub"));
    }

    #[test]
    fn a_flag_precedes_a_variable_and_an_address_precedes_the_state_directory() {
        let vars = [
            ("HUB_URL", "http://127.0.0.1:1"),
            ("HUB_SOCKET", "/s"),
            ("HUB_STATE_DIR", "d"),
        ];
        let found = resolved(&HubLocation::default(), &vars);
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
        let location = HubLocation {
            socket: Some("s".into()),
            ..HubLocation::default()
        };
        let found = resolved(&location, &vars);
        assert_eq!(
            found.address,
            Sourced::new(Address::Socket("/srv/s".into()), "--socket")
        );
    }

    #[test]
    fn a_flag_accepts_local_addresses_only_and_a_variable_any() {
        let given = |url: &str, vars: &[(&str, &str)]| {
            let location = HubLocation {
                url: Some(url.into()),
                ..HubLocation::default()
            };
            let mut env = Env::of(Path::new("/srv"), vars);
            env.home = Some("/home/me".into());
            Settings::resolve(&location, &env)
        };
        for local in [
            "http://127.0.0.1:4782",
            "http://localhost",
            "http://[::1]:1",
            "http://[::1]",
            "http://127.9.9.9",
        ] {
            assert!(given(local, &[]).is_ok(), "{local}");
        }
        for elsewhere in [
            "http://mill:4782",
            "http://192.0.2.1:1",
            "http://127.0.0.1.evil.example:1",
            "http://localhost.evil.example",
            "http://0.0.0.0:4782",
            "http://[::ffff:192.0.2.1]:1",
            "http://[2001:db8::1]",
        ] {
            let refused = given(elsewhere, &[]).unwrap_err();
            assert!(refused.to_string().contains("HUB_URL"), "{refused}");
            assert!(given(elsewhere, &[("HUB_URL", elsewhere)]).is_ok());
            let found = resolved(&HubLocation::default(), &[("HUB_URL", elsewhere)]);
            assert_eq!(found.address.source, "HUB_URL");
        }
    }

    #[test]
    fn only_a_bare_http_url_is_accepted_as_an_address() {
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
