//! The line for a status bar.

use serde_json::{Value, json as value};

use crate::support::{Place, until};

/// A place with a session that asks, one that has failed and one that works.
fn place() -> Place {
    let place = Place::with_hub();
    for name in ["api", "db", "web"] {
        place.register(name, &value!({}));
    }
    place.ctl("ask --from api Which? --option a");
    place.ctl("notify --from db --type error 'no disk'");
    place.ctl("notify --from web --type working 'on it'");
    place
}

#[test]
fn the_line_names_the_sessions_that_wait_and_the_most_urgent_first() {
    let place = place();
    let shown = place.ctl("status --line").stdout;
    assert_eq!(shown, "1 needs you: api; 1 blocked: db\n");
    place.register("cli", &value!({}));
    place.ctl("ask --from cli Where? --option b");
    let shown = place.ctl("status --line").stdout;
    assert!(
        shown.starts_with("2 need you: ") && shown.contains("; 1 blocked: db"),
        "{shown}"
    );
    let json: Value = place.json("status --line --format json");
    assert_eq!(json["blocked"], value!(["db"]));
    assert_eq!(json["your_turn"], value!([]));
    let waybar = place.json("status --line --format waybar");
    assert_eq!(waybar["class"], "needs_you");
}

#[test]
fn the_line_is_empty_if_no_session_waits_and_if_no_hub_runs() {
    let place = Place::with_hub();
    place.register("web", &value!({}));
    place.ctl("notify --from web --type working 'on it'");
    assert_eq!(place.ctl("status --line").stdout, "\n");
    assert_eq!(place.json("status --line --format waybar")["text"], "");
    let empty = Place::new();
    assert_eq!(empty.ctl("status --line --format tmux").stdout, "\n");
}

#[test]
fn tmux_shows_the_line() {
    let place = place();
    let inner = "tmux -S ./inner.sock -f ./tmux.conf";
    let outer = "tmux -S ./outer.sock -f /dev/null";
    let show = "set -g status-right '#(hubctl status --line --format tmux)'";
    place.write(
        "work/tmux.conf",
        format!("set -g status-interval 1\n{show}\n"),
    );
    place.sh(&format!("{inner} new-session -d sleep 600")).ok();
    // The status line needs a terminal: that of another tmux.
    let attach = format!("{outer} new-session -d -x 100 -y 10 'env -u TMUX {inner} attach'");
    place.sh(&attach).ok();
    until("the line in tmux", || {
        let shown = place.sh(&format!("{outer} capture-pane -p")).ok();
        shown.stdout.contains("1 needs you: api; 1 blocked: db")
    });
    place
        .sh(&format!("{outer} kill-server; {inner} kill-server"))
        .ok();
}

#[test]
fn claude_codes_status_line_is_installed_on_request_and_never_replaced() {
    let place = Place::new();
    let settings = ".claude/settings.json";
    place.ctl("hooks install claude --status-line");
    let installed: Value = serde_json::from_str(&place.read(settings)).unwrap();
    let command = installed["statusLine"]["command"].as_str().unwrap();
    assert!(
        command.ends_with("hubctl status --line --format claude"),
        "{command}"
    );
    assert_eq!(installed["statusLine"]["refreshInterval"], 5);
    place.ctl("hooks install claude --status-line");
    place.ctl("hooks uninstall claude");
    assert!(!place.has(settings));
    place.dir(".claude");
    let own = r#"{"statusLine": {"type": "command", "command": "mine"}}"#;
    place.write(settings, own);
    let refused = place.hubctl("hooks install claude --status-line").fails(1);
    assert!(refused.stderr.contains("its statusLine is another command"));
    assert_eq!(place.read(settings), own);
}

#[test]
fn the_line_in_claude_code_leaves_out_its_own_session() {
    let place = place();
    let shown = place.sh(r#"echo '{"session_id":"api"}' | hubctl status --line --format claude"#);
    assert_eq!(shown.ok().stdout, "1 blocked: db\n");
}
