//! `hubctl dashboard`.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use crate::fake::{Fake, ok};
use crate::support::{Call, Done, Place, exchange, until};

/// Simulates a desktop: a display, and an `xdg-open` that records its argument and then runs `rest`.
fn desktop(place: &Place, args: &str, rest: &str) -> Call {
    let bin = place.dir("bin");
    let note = place.path("note");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' $$ \"$@\" >{0}.new\nPATH=/bin:/usr/bin\nmv {0}.new {0}\n{rest}\n",
        note.display()
    );
    place.install(&place.write("script", script), "bin/xdg-open");
    bare(place, args).env("DISPLAY", ":0").env("PATH", bin)
}

/// Returns a call without a display and without SSH variables, whatever the test's own environment has.
fn bare(place: &Place, args: &str) -> Call {
    let call = place.hubctl(format!("dashboard {args}"));
    let without = ["DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"];
    without.iter().fold(call, |call, name| call.env(name, ""))
}

/// Waits for the browser; returns its process id and the address to which the page in its only argument redirects.
fn browser(place: &Place) -> (u32, String) {
    until("a browser is opened", || was_opened(place));
    let note = place.read("note");
    let (pid, page) = note.trim_end().split_once('\n').expect("one argument");
    assert!(!page.contains("code="), "anybody can read {page}");
    let mode = fs::metadata(page).expect("a page").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let page = fs::read_to_string(page).expect("our own");
    let (_, url) = page.split_once("0;url=").expect("a way on");
    let (url, _) = url.split_once('"').expect("its end");
    (pid.parse().expect("a process"), url.to_owned())
}

fn was_opened(place: &Place) -> bool {
    place.has("note")
}

/// Signs in with the code of `link`; returns the response.
fn sign_in(place: &Place, link: &str) -> (String, String) {
    let (base, code) = link.split_once("/#code=").expect("a link");
    assert_eq!(base, place.url());
    let host = base.strip_prefix("http://").expect("a URL");
    let body = format!("{{\"code\":\"{code}\"}}");
    let hub = TcpStream::connect(host).expect("a hub");
    exchange(hub, "POST /login", host, &body)
}

/// Asserts that the only output is a link that signs in.
fn assert_link(place: &Place, done: &Done) {
    let link = done.stdout.strip_suffix('\n').expect("a line");
    assert!(!link.contains('\n'), "{link}");
    assert_eq!(sign_in(place, link).0, "200");
}

#[test]
fn the_browser_opens_a_link_that_signs_in() {
    let place = Place::with_hub();
    let done = desktop(&place, "", "").ok();
    let (_, url) = browser(&place);
    assert_eq!(sign_in(&place, &url).0, "200");
    let again = sign_in(&place, &url).1;
    assert!(again.contains("bad_code"), "{again}");
    done.prints_nothing().warns("xdg-open").hides("#code=");
}

#[test]
fn over_tcp_nobody_gets_a_link() {
    let place = Place::with_hub();
    let url = place.url();
    let done = bare(&place, &format!("--url {url}")).run();
    done.exits(1).warns("only a person").prints_nothing();
}

#[cfg(target_os = "linux")]
#[test]
fn hubctl_does_not_wait_for_a_browser_that_keeps_running() {
    use rustix::process::{Pid, Signal, kill_process};
    let place = Place::with_hub();
    desktop(&place, "", "exec sleep 60").ok();
    let (browser, _) = browser(&place);
    let session = crate::support::session_of(browser);
    kill_process(Pid::from_raw(browser.cast_signed()).unwrap(), Signal::KILL).unwrap();
    // A terminal that closes would close it too.
    assert_eq!(session, browser);
}

#[test]
fn without_a_display_the_link_is_printed() {
    let place = Place::with_hub();
    let done = bare(&place, "").ok().warns("DISPLAY").warns("30 seconds");
    assert_link(&place, &done);
}

#[test]
fn over_ssh_it_prints_how_to_forward_the_port() {
    let place = Place::with_hub();
    let call = desktop(&place, "", "").env("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22");
    let (_, port) = place.url().rsplit_once(':').unwrap();
    let done = call.ok().warns(&format!("ssh -L {port}:127.0.0.1:{port} "));
    assert_link(&place, &done);
    assert!(!was_opened(&place));
}

#[test]
fn with_print_no_browser_is_opened() {
    let place = Place::with_hub();
    assert_link(&place, &desktop(&place, "--print", "").ok());
    assert!(!was_opened(&place));
}

#[test]
fn the_link_is_printed_if_no_browser_starts() {
    let place = Place::with_hub();
    let done = desktop(&place, "", "exit 3").ok().warns("xdg-open failed");
    assert_link(&place, &done);
    let none = desktop(&place, "", "").env("PATH", place.path("work"));
    assert_link(&place, &none.ok().warns("on PATH"));
}

#[test]
fn a_script_gets_the_link_as_json() {
    let place = Place::with_hub();
    let printed = bare(&place, "--json").json();
    assert_eq!(printed["opened"], false);
    assert!(printed["expires_at"].is_string());
    assert_eq!(sign_in(&place, printed["url"].as_str().unwrap()).0, "200");
    assert_eq!(desktop(&place, "--json", "").json()["opened"], true);
}

#[test]
fn no_code_is_sent_to_another_hub() {
    let other = Place::with_hub();
    let place = Place::new();
    let url = other.url().to_owned();
    let proof = format!(r#"{{"proof":"{}","version":"0.1.0"}}"#, "0".repeat(64));
    let fake = Fake::new(&place, move |asked| match asked.line.as_str() {
        "POST /login/code" => ok(&format!(
            r#"{{"code":"c0de","url":"{url}/#code=c0de","expires_at":"2026-11-22T05:19:06.719Z"}}"#
        )),
        _ => ok(&proof),
    });
    let done = desktop(&place, "", "").ok();
    let head = fake.first("GET /hello").head;
    let host = other.url().strip_prefix("http://").unwrap();
    assert!(head.contains(&format!("host: {host}\r\n")), "{head}");
    let done = done.warns("not reach that hub").warns("ssh -L");
    assert_eq!(done.stdout, format!("{}/#code=c0de\n", other.url()));
    assert!(!was_opened(&place));
}

#[test]
fn the_browsers_that_are_signed_in_are_listed_and_signed_out() {
    let place = Place::with_hub();
    let none = bare(&place, "--devices").ok();
    none.prints_nothing().warns("no browser is signed in");
    let link = bare(&place, "--json").json();
    let (status, body) = sign_in(&place, link["url"].as_str().unwrap());
    assert_eq!(status, "200");
    let session: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let token = session["token"].as_str().expect("a token");
    let (id, secret) = token.split_once('.').expect("a token");
    place.ctl("doctor").prints(id);
    let listed = bare(&place, "--devices").ok().stdout;
    assert!(listed.starts_with(&format!("{id}  unknown program  ")));
    assert!(!listed.contains(secret), "{listed}");
    let json = bare(&place, "--devices --json").json();
    assert_eq!(json["devices"][0]["id"], id);
    let done = bare(&place, &format!("--revoke {id}")).ok();
    assert_eq!(done.stdout, format!("signed out: {id}\n"));
    bare(&place, "--devices")
        .ok()
        .warns("no browser is signed in");
    let again = bare(&place, &format!("--revoke {id}"));
    again.fails(1).warns("no such device");
    bare(&place, "--revoke all").ok();
}
