//! The hub and the program end and begin.

use hub_harness::{Pane, until};

use crate::stage::{Stage, decide, program, signal};

#[test]
fn a_killed_hub_is_away_and_its_news_are_shown_when_it_is_back() {
    let mut stage = Stage::new();
    stage.ask("w1", "Before?", &[]);
    let pane = stage.top();
    pane.until("the question is shown", |text| text.contains("Before?"));
    stage.hub.kill_9();
    pane.until("the hub is away", |text| {
        text.contains("The hub is away, next try in ") && text.contains("Before?")
    });
    stage.hub.start_again();
    pane.until("the hub is back", |text| !text.contains("The hub is away"));
    stage.client = stage.hub.client();
    stage.ask("w2", "After?", &[]);
    pane.until("its news are shown", |text| text.contains("After?"));
}

#[test]
fn signals_and_keys_leave_the_terminal_as_it_was() {
    for (ending, code) in [("TERM", 143), ("INT", 130), ("q", 0)] {
        let stage = Stage::new();
        let pane = in_a_shell(&stage);
        let pid: u32 = until("it has started", || {
            let written = std::fs::read_to_string(stage.dir().join("pid")).ok()?;
            written.trim().parse().ok()
        });
        match ending {
            "q" => pane.press(&["q"]),
            name => signal(name, pid),
        }
        // The other screen is left, and lines are echoed and edited again.
        pane.until("the shell goes on", |text| {
            let words: Vec<_> = text.split_whitespace().collect();
            let restored = ["icanon", "echo", "opost"]
                .iter()
                .all(|it| words.contains(it));
            restored && text.contains(&format!("ended {code}")) && !text.contains("hub top ·")
        });
    }
}

/// Starts `hub-top` in a shell that prints its exit code and the modes of the terminal.
fn in_a_shell(stage: &Stage) -> Pane {
    let top = program("hub-top");
    let socket = stage.hub.socket().display().to_string();
    let script = "sh -c 'echo $$ >pid; exec \"$0\" --socket \"$1\"' \"$0\" \"$1\"; echo \"ended $?\"; stty -a; exec sleep 600";
    let command = ["sh", "-c", script, &top, &socket].map(str::to_owned);
    let pane = stage.tmux.start("shell", stage.dir(), &[], &command);
    pane.until("the hub is shown", |text| text.contains("hub top ·"));
    pane
}

#[test]
fn an_answer_that_the_hub_does_not_confirm_is_named_at_the_end() {
    let stage = Stage::new();
    let id = stage.ask("w1", "Which db?", &["postgres", "sqlite"]);
    let pane = in_a_shell(&stage);
    pane.until("the question is shown", |text| text.contains("2 sqlite"));
    signal("STOP", stage.hub.pid());
    decide(&pane, "2", "→ sqlite in");
    pane.press(&["q"]);
    let named = format!("hub-top: not confirmed by the hub: {id} – sqlite");
    pane.until("the shell has the answer and the code", |text| {
        text.contains(&named) && text.contains("ended 1")
    });
}
