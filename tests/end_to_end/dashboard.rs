//! `hubctl dashboard`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::fake::Fake;
use crate::support::{Call, Done, Place, json, until};

/// Simulates a desktop: a display, and an `xdg-open` that records its argument and then runs `rest`.
fn desktop(place: &Place, args: &[&str], rest: &str) -> Call {
    let bin = place.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let note = place.path("note");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' $$ \"$@\" >{0}.new\nPATH=/bin:/usr/bin\nmv {0}.new {0}\n{rest}\n",
        note.display()
    );
    fs::write(place.path("script"), script).unwrap();
    place.install(&place.path("script"), "bin/xdg-open");
    bare(place, args)
        .env("DISPLAY", ":0")
        .env("PATH", bin.to_str().unwrap())
}

/// Returns a call without a display and without SSH variables, whatever the test's own environment has.
fn bare(place: &Place, args: &[&str]) -> Call {
    let call = place.hubctl(&["dashboard"]).args(args);
    let without = ["DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"];
    without.iter().fold(call, |call, name| call.env(name, ""))
}

/// Waits for the browser; returns its process id and the address to which the page in its only argument redirects.
fn browser(place: &Place) -> (u32, String) {
    until("a browser is opened", || !was_opened(place).is_empty());
    let [pid, page] = was_opened(place).try_into().expect("one argument");
    assert!(!page.contains("code="), "anybody can read {page}");
    let mode = fs::metadata(&page).expect("a page").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let page = fs::read_to_string(page).expect("our own");
    let (_, url) = page.split_once("0;url=").expect("a way on");
    let (url, _) = url.split_once('"').expect("its end");
    (pid.parse().expect("a process"), url.to_owned())
}

/// Returns the recorded process id and arguments of the browser; empty if none was started.
fn was_opened(place: &Place) -> Vec<String> {
    let note = fs::read_to_string(place.path("note")).unwrap_or_default();
    note.lines().map(str::to_owned).collect()
}

/// Signs in with the code of `link`; returns the response.
fn sign_in(place: &Place, link: &str) -> (String, Value) {
    let (base, code) = link.split_once("/#code=").expect("a link");
    assert_eq!(base, place.url());
    let body = format!("{{\"code\":\"{code}\"}}");
    let host = base.strip_prefix("http://").expect("a URL");
    let mut hub = TcpStream::connect(host).expect("a hub");
    let head = format!(
        "POST /login HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    hub.write_all((head + &body).as_bytes())
        .expect("it is read");
    let mut answer = String::new();
    hub.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    (head[9..12].to_owned(), json(body))
}

/// Returns the printed link, which must be the only output.
fn link(done: &Done) -> &str {
    let link = done.stdout.strip_suffix('\n').expect("a line");
    assert!(!link.contains('\n'), "{link}");
    link
}

#[test]
fn the_browser_opens_a_link_that_signs_in() {
    let place = Place::with_hub();
    let done = desktop(&place, &[], "").run().ok();
    let (_, url) = browser(&place);
    assert_eq!(sign_in(&place, &url).0, "200");
    assert_eq!(sign_in(&place, &url).1["code"], "bad_code");
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("xdg-open"), "{}", done.stderr);
    assert!(!done.stderr.contains("#code="), "{}", done.stderr);
}

#[test]
fn over_tcp_the_link_has_the_address_of_the_hub() {
    let place = Place::with_hub();
    let named = place.url().replace("127.0.0.1", "localhost");
    desktop(&place, &["--url", &named], "").run().ok();
    let (_, url) = browser(&place);
    assert!(url.starts_with(&format!("{named}/#code=")), "{url}");
    let token = fs::read_to_string(place.state().join("token")).unwrap();
    assert!(!url.contains(token.trim()));
}

#[cfg(target_os = "linux")]
#[test]
fn hubctl_does_not_wait_for_a_browser_that_keeps_running() {
    let place = Place::with_hub();
    desktop(&place, &[], "exec sleep 60").run().ok();
    let (browser, _) = browser(&place);
    let stat = fs::read_to_string(format!("/proc/{browser}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let session: u32 = fields.split_whitespace().nth(3).unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(browser.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(
        session, browser,
        "a terminal that closes would close it too"
    );
}

#[test]
fn without_a_display_the_link_is_printed() {
    let place = Place::with_hub();
    let done = bare(&place, &[]).run().ok();
    assert!(done.stderr.contains("DISPLAY"), "{}", done.stderr);
    assert!(done.stderr.contains("30 seconds"), "{}", done.stderr);
    assert_eq!(sign_in(&place, link(&done)).0, "200");
}

#[test]
fn over_ssh_it_prints_how_to_forward_the_port() {
    let place = Place::with_hub();
    let call = desktop(&place, &[], "").env("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22");
    let done = call.run().ok();
    let (_, port) = place.url().rsplit_once(':').unwrap();
    let forward = format!("ssh -L {port}:127.0.0.1:{port} ");
    assert!(done.stderr.contains(&forward), "{}", done.stderr);
    assert_eq!(sign_in(&place, link(&done)).0, "200");
    assert!(was_opened(&place).is_empty());
}

#[test]
fn with_print_no_browser_is_opened() {
    let place = Place::with_hub();
    let done = desktop(&place, &["--print"], "").run().ok();
    assert_eq!(sign_in(&place, link(&done)).0, "200");
    assert!(was_opened(&place).is_empty());
}

#[test]
fn the_link_is_printed_if_no_browser_starts() {
    let place = Place::with_hub();
    let done = desktop(&place, &[], "exit 3").run().ok();
    assert!(done.stderr.contains("xdg-open failed"), "{}", done.stderr);
    assert_eq!(sign_in(&place, link(&done)).0, "200");
    fs::remove_file(place.path("note")).unwrap();
    let none: PathBuf = place.path("work");
    let call = desktop(&place, &[], "").env("PATH", none.to_str().unwrap());
    let done = call.run().ok();
    assert!(done.stderr.contains("on PATH"), "{}", done.stderr);
    assert_eq!(sign_in(&place, link(&done)).0, "200");
}

#[test]
fn a_script_gets_the_link_as_json() {
    let place = Place::with_hub();
    let printed = bare(&place, &["--json"]).run().json();
    assert_eq!(printed["opened"], false);
    assert!(printed["expires_at"].is_string());
    assert_eq!(sign_in(&place, printed["url"].as_str().unwrap()).0, "200");
    let opened = desktop(&place, &["--json"], "").run().json();
    assert_eq!(opened["opened"], true);
}

#[test]
fn no_code_is_sent_to_another_hub() {
    let other = Place::with_hub();
    let place = Place::new();
    let url = other.url().to_owned();
    let fake = Fake::new(&place, move |asked| {
        let body = if asked.line == "POST /login/code" {
            format!(
                "{{\"code\":\"c0de\",\"url\":\"{url}/#code=c0de\",\"expires_at\":\"2026-11-22T05:19:06.719Z\"}}"
            )
        } else {
            format!("{{\"proof\":\"{}\",\"version\":\"0.1.0\"}}", "0".repeat(64))
        };
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    });
    let done = desktop(&place, &[], "").run().ok();
    let asked = fake.first("GET /hello");
    let host = other.url().strip_prefix("http://").unwrap();
    assert!(
        asked.head.contains(&format!("host: {host}\r\n")),
        "{}",
        asked.head
    );
    assert!(
        done.stderr.contains("not reach that hub"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("ssh -L"), "{}", done.stderr);
    assert_eq!(link(&done), format!("{}/#code=c0de", other.url()));
    assert!(was_opened(&place).is_empty());
}
