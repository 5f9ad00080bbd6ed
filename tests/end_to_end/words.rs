//! Messages of hubctl: they name commands and options, and scripts can parse the output.

use hub_protocol::Notification;

use crate::support::{Place, json, read, until};

#[test]
fn a_refusal_names_commands_and_no_api_calls() {
    let place = Place::with_hub();
    place.sessions(&["worker"]);
    for (line, command) in [
        ("look nobody", "`hubctl sessions`"),
        ("look wroker", "did you mean 'worker'?"),
        ("listen nobody", "`hubctl sessions`"),
        ("trace 999", "`hubctl history`"),
        ("ack --inbox nobody 1", "`hubctl "),
        ("notify --type answer --reply-to 999 x", "999"),
    ] {
        let done = place.hubctl(line).fails(1).warns(command);
        let done = done.hides("GET ").hides("DELETE ");
        done.hides("openapi").hides("the detail");
    }
}

#[test]
fn up_status_and_config_print_the_url() {
    let place = Place::with_hub();
    place.ctl("up").prints(place.url());
    place.hubctl("status").run().prints(place.url());
    let status = json(&place.hubctl("status --json").run().stdout);
    assert_eq!(status["url"], place.url());
    let config = place.json("config --json");
    assert_eq!(config["url"]["value"], place.url());
    Place::new().ctl("config").prints("`hubctl up`");
}

#[test]
fn a_port_in_use_is_reported_once_with_its_holder_and_the_option_that_helps() {
    let (holder, place) = (Place::with_hub(), Place::new());
    let address = holder.url().strip_prefix("http://").unwrap();
    let done = place.hubctl(format!("up --listen {address}")).fails(1);
    let done = done.prints_nothing();
    for part in ["in use by hubd (process ", "--listen", address] {
        assert_eq!(done.stderr.matches(part).count(), 1, "{part}: {done:?}");
    }
}

#[test]
fn a_closed_pipe_ends_a_waiting_command_as_by_sigpipe() {
    let place = Place::with_hub();
    for line in ["wait", "stream", "ask --wait 60 'Which db?'"] {
        let mut call = place.hubctl(line).spawn();
        drop(call.stdout());
        call.end().exits(141);
    }
    until("no waiter is left", || place.waiters().is_empty());
    place.sh("mkfifo closed").ok();
    for args in ["--help", "config", "completions bash"] {
        let left = format!("{{ read -r _ <closed; hubctl {args}; echo $? >&3; }}");
        let script = format!("exec 3>&1; {left} | {{ exec <&-; echo >closed; }}");
        assert_eq!(place.sh(&script).run().stdout, "141\n", "{args}");
    }
}

#[test]
fn a_text_that_is_not_utf_8_is_read_as_latin_1_and_marked() {
    let place = Place::with_hub();
    let done = place
        .hubctl("notify -")
        .stdin(b"gr\xfc\xdfe\ntwo\n".to_vec());
    done.ok().warns("Latin-1");
    assert_eq!(place.said(), ["grüße\ntwo\n[not UTF-8: read as Latin-1]"]);
}

#[test]
fn a_person_marks_as_seen_and_undoes_it() {
    let place = Place::with_hub();
    for text in ["one", "two", "three"] {
        place.ctl(format!("notify --from ci {text}"));
    }
    let history = || place.ctl("history --json --after 0").lines();
    let seen = || -> Vec<bool> { history().iter().map(|row| row["seen"] == true).collect() };
    let ids: Vec<_> = history().iter().map(|row| row["id"].to_string()).collect();
    place.ctl(format!("seen {}", ids[2]));
    assert_eq!(seen(), [false, false, true]);
    place.ctl(format!("seen --up-to {}", ids[1]));
    place.ctl(format!("seen --undo {} {}", ids[2], ids[0]));
    assert_eq!(seen(), [false, true, false]);
    place.hubctl("seen 999").fails(1);
}

#[test]
fn an_answer_contains_its_question() {
    let place = Place::with_hub();
    place.sessions(&["w1"]);
    let id = place.by("w1", "ask 'Which\ndb?'").ok().word();
    let done = place.ctl(format!("answer {id} sqlite"));
    done.prints("\"Which db?\"");
    let waited = place.by("w1", "wait --json").ok();
    let answer: Notification = read(waited.stdout.trim());
    let expected = ("sqlite", Some("Which db?"));
    assert_eq!((&*answer.msg, answer.title.as_deref()), expected);
}

#[test]
fn shell_completions_offer_types_sessions_and_inboxes() {
    let place = Place::with_hub();
    place.sessions(&["w1", "w2"]);
    place.ctl("notify --to ops x");
    place.write("work/hubctl.bash", place.ctl("completions bash").stdout);
    let offered = |line: &str| -> Vec<String> {
        let script = format!(
            "bash -c '. ./hubctl.bash; COMP_WORDS=({line} \"\"); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_LINE=\"{line} \"; \
             _hubctl hubctl \"\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\"'"
        );
        let words = place.sh(&script).ok().stdout;
        words.split_whitespace().map(str::to_owned).collect()
    };
    assert!(offered("hubctl notify --type").contains(&"question".into()));
    assert_eq!(offered("hubctl wait --all"), ["w1", "w2"]);
    assert!(offered("hubctl look").contains(&"w2".into()));
    assert!(offered("hubctl notify --to").contains(&"ops".into()));
    for shell in ["zsh", "fish"] {
        let script = place.ctl(format!("completions {shell}"));
        let script = script.prints("hubctl completions sessions");
        assert!(!script.stdout.contains("HUBCTL_"), "{script:?}");
    }
}
