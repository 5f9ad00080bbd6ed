//! Sessions without rewake hooks: the model keeps `hubctl wait` running in the background.

use std::path::Path;
use std::time::Instant;

use hub_harness::Hub;
use hub_harness::model::{Reply, Request};
use serde_json::json;

use crate::support::{InstalledHub, NO_LIMIT, Series, median, no_limits};

/// A model that follows the hub's instructions: runs `hubctl wait` in the background, reads its output, waits again.
fn waits(request: &Request) -> Reply {
    if let Some(file) = output_file(request) {
        return Reply::tool("Read", json!({"file_path": file}));
    }
    if request.count_new("Wait for news") + request.count_new("\"msg\":") > 0 {
        return Reply::bash_in_background("hubctl wait");
    }
    Reply::text("ok")
}

/// Returns the output file of a background task that ended, or `None` if the request names none.
fn output_file(request: &Request) -> Option<String> {
    let mut texts = request.new_texts.iter();
    let told = texts.find(|text| text.contains("<task-notification>"))?;
    let (_, rest) = told.split_once("<output-file>")?;
    Some(rest.split_once("</output-file>")?.0.to_owned())
}

#[test]
fn a_notification_from_curl_ends_the_wait_and_is_read_once() {
    let hub = InstalledHub::install(Hub::builder(), &["--no-rewake"]);
    let claude = hub.claude(waits).start();
    claude.submit("Wait for news");
    hub.waiter("primary", "wait");
    let socket = hub.server.socket().display().to_string();
    let query = format!("cwd={}&from=nightly&type=error", hub.project().display());
    let url = format!("http://localhost/notify?{query}");
    let args = ["--silent", "--fail", "--unix-socket", &socket, "--data"];
    let args = [&args[..], &["the nightly build broke", &url]].concat();
    hub.run(Path::new("curl"), &args, &[]);

    claude.model.until_received("the nightly build broke");
    let id = hub.published("the nightly build broke");
    assert_eq!(hub.step(id, "acked")["by"], "resumed");
    assert_eq!(hub.step(id, "emitted")["way"], "wait");
    hub.waiter("primary", "wait");
    claude.model.received_once("the nightly build broke");
}

#[test]
fn twenty_waits_in_a_row_deliver_each_notification_in_one_request() {
    let hub = InstalledHub::install(Hub::builder().set(NO_LIMIT), &["--no-rewake"]);
    let claude = hub.claude(waits).start();
    claude.submit("Wait for news");
    let mut took = Vec::new();
    let texts: Vec<String> = (1..=20).map(|n| format!("news number {n}.")).collect();
    for (n, text) in texts.iter().enumerate() {
        hub.waiter("primary", "wait");
        let before = claude.model.received("<task-notification>").len();
        let posted = Instant::now();
        hub.send("primary", &format!("sender-{n}"), text);
        let woken = claude.model.until("it is woken", |requests| {
            let is_wake = |it: &&Request| it.count_new("<task-notification>") > 0;
            requests.iter().filter(is_wake).nth(before).cloned()
        });
        took.push(woken.at.duration_since(posted));
        claude.model.until_received(text);
    }
    hub.waiter("primary", "wait");
    for text in &texts {
        claude.model.received_once(text);
    }
    println!("POST to the next request, wait: {:?}", median(took));
}

#[test]
fn a_series_of_wakes_by_a_wait_in_the_background_loses_and_doubles_none() {
    let Some(series) = Series::of_claude("wait") else {
        return;
    };
    let hub = InstalledHub::install(no_limits(), &["--no-rewake"]);
    let claude = hub.claude(waits).start();
    claude.submit("Wait for news");
    series.run(&hub, &claude.model, ("primary", "1s"));
}
