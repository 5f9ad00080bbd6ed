//! Messages of hubctl: they name commands and options, and scripts can parse the output.

use serde_json::{Value, json as value};

use crate::support::{Place, json, until};

#[test]
fn a_refusal_names_commands_and_no_api_calls() {
    let place = Place::with_hub();
    for (args, command) in [
        (&["look", "nobody"][..], "`hubctl sessions`"),
        (&["listen", "nobody"], "`hubctl sessions`"),
        (&["trace", "999"], "`hubctl history`"),
        (&["ack", "--inbox", "nobody", "1"], "`hubctl "),
        (
            &["notify", "--type", "answer", "--reply-to", "999", "x"],
            "",
        ),
    ] {
        let done = place.hubctl(args).run();
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.stderr.contains(command), "{done:?}");
        for api in ["GET ", "DELETE ", "openapi", "the detail"] {
            assert!(!done.stderr.contains(api), "{done:?}");
        }
    }
}

#[test]
fn up_status_and_config_print_the_url() {
    let place = Place::with_hub();
    let up = place.hubctl(&["up"]).run().ok().stdout;
    assert!(up.contains(place.url()), "{up}");
    let status = place.hubctl(&["status"]).run().stdout;
    assert!(status.contains(place.url()), "{status}");
    let status = json(&place.hubctl(&["status", "--json"]).run().stdout);
    assert_eq!(status["url"], place.url());
    let config = place.hubctl(&["config", "--json"]).run().json();
    assert_eq!(config["url"]["value"], place.url());
    let without = Place::new().hubctl(&["config"]).run().ok().stdout;
    assert!(without.contains("`hubctl up`"), "{without}");
}

#[test]
fn a_port_in_use_is_reported_once_with_its_holder_and_the_option_that_helps() {
    let (holder, place) = (Place::with_hub(), Place::new());
    let address = holder.url().strip_prefix("http://").unwrap();
    let done = place.hubctl(&["up", "--listen", address]).run();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stdout.is_empty(), "{done:?}");
    for part in ["in use by hubd (process ", "--listen"] {
        assert_eq!(done.stderr.matches(part).count(), 1, "{part}: {done:?}");
    }
    assert_eq!(done.stderr.matches(address).count(), 1, "{done:?}");
}

#[test]
fn a_closed_pipe_ends_a_waiting_command_as_by_sigpipe() {
    let place = Place::with_hub();
    for args in [
        &["wait"][..],
        &["stream"],
        &["ask", "--wait", "60", "Which db?"],
    ] {
        let mut call = place.hubctl(args).spawn();
        drop(call.stdout());
        assert_eq!(call.end().code, Some(141), "{args:?}");
    }
    until("no waiter is left", || place.waiters().is_empty());
    place.sh("mkfifo closed").run().ok();
    for args in ["--help", "config", "completions bash"] {
        let script = format!(
            "exec 3>&1; {{ read -r _ <closed; hubctl {args}; echo $? >&3; }} | {{ exec <&-; echo >closed; }}"
        );
        assert_eq!(place.sh(&script).run().stdout, "141\n", "{args}");
    }
}

#[test]
fn wait_and_stream_accept_json() {
    let place = Place::with_hub();
    place.hubctl(&["notify", "x"]).run().ok();
    let waited = place.hubctl(&["wait", "--json"]).run().ok();
    assert_eq!(waited.messages(), ["x"]);
    let mut stream = place.hubctl(&["stream", "--json", "--since", "0"]).spawn();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stream.stdout(), &mut line).unwrap();
    assert_eq!(json(&line)["msg"], "x");
}

#[test]
fn a_text_that_is_not_utf_8_is_read_as_latin_1_and_marked() {
    let place = Place::with_hub();
    let done = place
        .hubctl(&["notify", "-"])
        .stdin(b"gr\xfc\xdfe\n".to_vec());
    let done = done.run().ok();
    assert!(done.stderr.contains("Latin-1"), "{done:?}");
    let said = place.said();
    assert_eq!(said, ["grüße\n[not UTF-8: read as Latin-1]"]);
}

#[test]
fn a_person_marks_as_seen_and_undoes_it() {
    let place = Place::with_hub();
    for text in ["one", "two", "three"] {
        place.hubctl(&["notify", text]).run().ok();
    }
    let history = || place.hubctl(&["history", "--json", "--after", "0"]).run();
    let seen = || -> Vec<bool> {
        let rows = history().lines();
        rows.iter().map(|row| row["seen"] == true).collect()
    };
    let ids: Vec<String> = history()
        .lines()
        .iter()
        .map(|row| row["id"].to_string())
        .collect();
    place.hubctl(&["seen", &ids[2]]).run().ok();
    assert_eq!(seen(), [false, false, true]);
    place.hubctl(&["seen", "--up-to", &ids[1]]).run().ok();
    place
        .hubctl(&["seen", "--undo", &ids[2], &ids[0]])
        .run()
        .ok();
    assert_eq!(seen(), [false, true, false]);
    let unknown = place.hubctl(&["seen", "999"]).run();
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
}

#[test]
fn an_answer_contains_its_question() {
    let place = Place::with_hub();
    place.register("w1", &value!({}));
    let ask = place
        .hubctl(&["ask", "Which\ndb?"])
        .env("HUB_SESSION", "w1");
    let id = ask.run().ok().stdout.trim().to_owned();
    let done = place.hubctl(&["answer", &id, "sqlite"]).run().ok();
    assert!(done.stdout.contains("Which\\ndb?"), "{done:?}");
    let waited = place.hubctl(&["wait", "--json"]);
    let waited = waited.env("HUB_SESSION", "w1").run().ok();
    let answer: Value = waited.lines()[0].clone();
    assert_eq!(
        (&answer["msg"], &answer["title"]),
        (&value!("sqlite"), &value!("Which db?"))
    );
}

#[test]
fn shell_completions_offer_types_sessions_and_inboxes() {
    let place = Place::with_hub();
    for session in ["w1", "w2"] {
        place.register(session, &value!({}));
    }
    place.hubctl(&["notify", "--to", "ops", "x"]).run().ok();
    let script = place.path("hubctl.bash");
    let bash = place.hubctl(&["completions", "bash"]).run().ok().stdout;
    std::fs::write(&script, bash).unwrap();
    let offered = |line: &str| {
        let script = format!(
            "bash -c '. {}; COMP_WORDS=({line} \"\"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             COMP_LINE=\"{line} \"; _hubctl hubctl \"\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\"'",
            script.display()
        );
        let words = place.sh(&script).run().ok().stdout;
        words
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(offered("hubctl notify --type").contains(&"question".into()));
    assert_eq!(offered("hubctl wait --all"), ["w1", "w2"]);
    assert!(offered("hubctl look").contains(&"w2".into()));
    assert!(offered("hubctl notify --to").contains(&"ops".into()));
    for shell in ["zsh", "fish"] {
        let script = place.hubctl(&["completions", shell]).run().ok().stdout;
        assert!(script.contains("hubctl completions sessions"), "{script}");
        assert!(!script.contains("HUBCTL_"), "{script}");
    }
}
