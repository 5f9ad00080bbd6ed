//! Finding the hub, and verifying that it is the hub.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::{Place, json};

#[test]
fn over_tcp_the_token_is_sent_once_the_hub_has_proved_itself() {
    let place = Place::with_hub();
    place
        .hubctl(&["--url", place.url(), "notify", "over tcp"])
        .run()
        .ok();
    place
        .hubctl(&["notify", "by variable"])
        .env("HUB_URL", place.url())
        .run()
        .ok();
    assert_eq!(place.said(), ["over tcp", "by variable"]);
}

#[test]
fn a_squatter_on_the_port_gets_no_token_and_the_message_is_spooled() {
    let place = Place::with_hub();
    let squatter = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", squatter.local_addr().unwrap());
    let args = ["--url", &url, "notify", "--from", "ci", "secret"];
    let call = place.hubctl(&args).spawn();
    let mut asked = String::new();
    let (mut connection, _) = squatter.accept().unwrap();
    let mut buffer = [0; 4096];
    while !asked.ends_with("\r\n\r\n") {
        let count = connection.read(&mut buffer).unwrap();
        asked.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    let answer = format!(r#"{{"proof":"{}","version":"9"}}"#, "0".repeat(64));
    write!(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}",
        answer.len()
    )
    .unwrap();
    let done = call.end();
    // The rest of what hubctl sent on that connection.
    connection.read_to_string(&mut asked).unwrap();
    let token = std::fs::read_to_string(place.state().join("token")).unwrap();
    assert!(asked.starts_with("GET /hello?nonce="), "{asked}");
    assert!(
        !asked.contains(token.trim()) && !asked.contains("secret"),
        "{asked}"
    );
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stderr.contains("not the hub of this token"));
}

#[test]
fn a_token_that_others_can_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_hub();
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(place.state().join("token"), mode).unwrap();
    let done = place.hubctl(&["--url", place.url(), "status"]).run();
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("chmod 600"), "{}", done.stderr);
}

#[test]
fn the_token_file_and_the_socket_can_be_elsewhere() {
    let place = Place::with_hub();
    let (token, socket) = (place.path("a-token"), place.state().join("hub.sock"));
    std::fs::rename(place.state().join("token"), &token).unwrap();
    let elsewhere = |args: &[&str]| place.hubctl(args).env("HUB_STATE_DIR", "/nowhere");
    let url = elsewhere(&["--url", place.url(), "inboxes"])
        .env("HUB_TOKEN_FILE", token.to_str().unwrap());
    url.run().ok();
    elsewhere(&["inboxes"])
        .env("HUB_SOCKET", socket.to_str().unwrap())
        .run()
        .ok();
}

#[test]
fn config_prints_each_value_and_its_source() {
    let place = Place::new();
    let call = || {
        place
            .hubctl(&["config"])
            .env("HUB_PROJECT", "app")
            .env("HUB_SESSION", "me")
    };
    let config = json(&call().args(&["--json"]).run().ok().stdout);
    let setting = |name: &str| {
        let it = &config[name];
        (
            it["value"].as_str().unwrap().to_owned(),
            it["source"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(setting("project"), ("app".into(), "HUB_PROJECT".into()));
    assert_eq!(setting("from"), ("me".into(), "HUB_SESSION".into()));
    assert_eq!(setting("inboxes"), ("me".into(), "HUB_SESSION".into()));
    assert_eq!(setting("state_dir").1, "HUB_STATE_DIR");
    assert!(setting("socket").0.ends_with("state/hub.sock"));
    assert!(call().run().ok().stdout.contains("app  (HUB_PROJECT)"));
}

#[test]
fn a_flag_reaches_no_other_machine_and_reads_no_file_but_a_token() {
    let place = Place::with_hub();
    let key = place.path("id_ed25519");
    std::fs::write(&key, "-----BEGIN OPENSSH PRIVATE KEY-----\n").unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    // A documentation address (RFC 5737): the test fails if anything is sent there.
    let anywhere = place
        .hubctl(&["wait", "--url", "http://192.0.2.1:4782"])
        .run();
    assert_eq!(anywhere.code, Some(64), "{anywhere:?}");
    assert!(anywhere.stderr.contains("HUB_URL"), "{}", anywhere.stderr);
    let args = [
        "wait",
        "--url",
        place.url(),
        "--token-file",
        key.to_str().unwrap(),
    ];
    let file = place.hubctl(&args).run();
    assert_eq!(file.code, Some(1), "{file:?}");
    assert!(
        file.stderr.contains("not a token") && !file.stderr.contains("BEGIN"),
        "{}",
        file.stderr
    );
}

#[test]
fn a_usage_error_repeats_no_terminal_controls() {
    let place = Place::new();
    for args in [
        &["notify", "--typ\u{1b}[2J\nhubctl: forged"][..],
        &["wait", "--count", "\u{1b}]0;x\u{7}\nhubctl: forged"],
        &["nothing\u{202e}"],
    ] {
        let done = place.hubctl(args).run();
        assert_eq!(done.code, Some(64), "{done:?}");
        assert!(done.stderr.contains("\\u"), "{done:?}");
        assert!(!done.stderr.contains("\nhubctl: forged"), "{done:?}");
        let shown = |c: char| c == '\n' || !hub_protocol::is_unprintable(c);
        assert!(done.stderr.chars().all(shown), "{done:?}");
    }
}
