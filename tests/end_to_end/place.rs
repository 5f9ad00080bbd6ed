//! Finding the hub, and verifying that it is the hub.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::{Place, json};

#[test]
fn over_tcp_the_token_is_sent_once_the_hub_has_proved_itself() {
    let place = Place::with_hub();
    place.ctl(format!("--url {} notify 'over tcp'", place.url()));
    let call = place.hubctl("notify 'by variable'");
    call.env("HUB_URL", place.url()).ok();
    assert_eq!(place.said(), ["over tcp", "by variable"]);
}

#[test]
fn a_squatter_on_the_port_gets_no_token_and_the_message_is_spooled() {
    let place = Place::with_hub();
    let squatter = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", squatter.local_addr().unwrap());
    let call = place
        .hubctl(format!("--url {url} notify --from ci --project p secret"))
        .spawn();
    let mut asked = String::new();
    let (mut connection, _) = squatter.accept().unwrap();
    let mut buffer = [0; 4096];
    while !asked.ends_with("\r\n\r\n") {
        let count = connection.read(&mut buffer).unwrap();
        asked.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    let answer = format!(r#"{{"proof":"{}","version":"9"}}"#, "0".repeat(64));
    let answer = crate::fake::ok(&answer);
    connection.write_all(answer.as_bytes()).unwrap();
    let done = call.end();
    // The rest of what hubctl sent on that connection.
    connection.read_to_string(&mut asked).unwrap();
    assert!(asked.starts_with("GET /hello?nonce="), "{asked}");
    for secret in [place.read("state/token").trim(), "secret"] {
        assert!(!asked.contains(secret), "{asked}");
    }
    done.exits(1).warns("not the hub of this token");
}

#[test]
fn a_token_that_others_can_read_is_not_used() {
    let place = Place::with_hub();
    place.chmod("state/token", 0o644);
    let done = place.hubctl(format!("--url {} status", place.url()));
    done.fails(1).warns("chmod 600");
}

#[test]
fn the_token_file_and_the_socket_can_be_elsewhere() {
    let place = Place::with_hub();
    let token = place.path("a-token");
    std::fs::rename(place.path("state/token"), &token).unwrap();
    let elsewhere = |line: String| place.hubctl(line).env("HUB_STATE_DIR", "/nowhere");
    let call = elsewhere(format!("--url {} inboxes", place.url()));
    call.env("HUB_TOKEN_FILE", token).ok();
    let call = elsewhere("inboxes".into());
    call.env("HUB_SOCKET", place.path("state/hub.sock")).ok();
}

#[test]
fn config_prints_each_value_and_its_source() {
    let place = Place::new();
    let call = |line| place.by("me", line).env("HUB_PROJECT", "app").ok();
    let config = json(&call("config --json").stdout);
    let setting = |name: &str| {
        ["value", "source"].map(|part| config[name][part].as_str().unwrap().to_owned())
    };
    assert_eq!(setting("project"), ["app", "HUB_PROJECT"]);
    assert_eq!(setting("from"), ["me", "HUB_SESSION"]);
    assert_eq!(setting("inboxes"), ["me", "HUB_SESSION"]);
    assert_eq!(setting("state_dir")[1], "HUB_STATE_DIR");
    assert!(setting("socket")[0].ends_with("state/hub.sock"));
    call("config").prints("app  (HUB_PROJECT)");
}

#[test]
fn a_flag_reaches_no_other_machine_and_reads_no_file_but_a_token() {
    let place = Place::with_hub();
    let key = place.write("id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    place.chmod("id_ed25519", 0o600);
    // A documentation address (RFC 5737): the test fails if anything is sent there.
    let anywhere = place.hubctl("wait --url http://192.0.2.1:4782").fails(64);
    anywhere.warns("HUB_URL");
    let file = place
        .hubctl(format!("wait --url {} --token-file", place.url()))
        .args(&[key]);
    file.fails(1).warns("not a token").hides("BEGIN");
}

#[test]
fn a_usage_error_repeats_no_terminal_controls() {
    let place = Place::new();
    for line in [
        "notify '--typ\u{1b}[2J\nhubctl: forged'",
        "wait --count '\u{1b}]0;x\u{7}\nhubctl: forged'",
        "nothing\u{202e}",
    ] {
        let done = place.hubctl(line).fails(64).warns("\\u");
        let done = done.hides("\nhubctl: forged");
        let shown = |c: char| c == '\n' || !hub_protocol::is_unprintable(c);
        assert!(done.stderr.chars().all(shown), "{done:?}");
    }
}
