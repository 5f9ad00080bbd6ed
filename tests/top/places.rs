//! The pane of a session, the size of the terminal, and the place of the programs.

use std::process::Command;

use crate::stage::{Stage, decide, program};

#[test]
fn going_to_a_session_selects_its_pane_in_the_persons_terminal() {
    let stage = Stage::new();
    let socket = stage.hub.socket();
    let _pane = stage.tmux.session("work", stage.dir(), (&socket, "w1"));
    stage.ask("w1", "Which db?", &[]);
    let top = stage.top();
    let person = top.attach(&stage.dir().join("person"));
    person.until("the person sees the list", |text| {
        text.contains("Which db?")
    });
    top.press(&["g"]);
    person.until("the person sees the pane", |text| {
        text.contains("work is here")
    });
    top.until("it is reported", |text| {
        text.contains("Your terminal shows its pane")
    });
}

#[test]
fn a_narrow_terminal_shows_who_needs_the_person() {
    let stage = Stage::new();
    stage.ask("w1", "Which db?", &["postgres"]);
    let pane = stage.top();
    for (columns, rows) in [(80, 24), (40, 24), (20, 6), (120, 40)] {
        pane.resize(columns, rows);
        pane.until("the new size is used", |text| {
            let lines: Vec<_> = text.trim_end().lines().collect();
            let widest = lines.iter().map(|it| it.chars().count()).max();
            lines.len() == usize::from(rows)
                && widest <= Some(columns.into())
                && text.contains("question  ")
        });
    }
    decide(&pane, "?", "approve a permission or a plan");
}

#[test]
fn a_search_hides_the_other_rows_until_escape() {
    let stage = Stage::new();
    stage.ask("w1", "Which db?", &[]);
    stage.ask("w2", "Which port?", &[]);
    let pane = stage.top();
    pane.until("both are shown", |text| text.contains("For you (2)"));
    decide(&pane, "/", "Search:");
    pane.type_in("port");
    pane.until("one is left", |text| {
        text.contains("For you (1)") && text.contains("2 need you") && !text.contains("Which db?")
    });
    pane.press(&["Escape"]);
    pane.until("both are back", |text| {
        text.contains("For you (2)") && text.contains("? help · q quit")
    });
}

#[test]
fn without_a_terminal_the_error_names_the_command_for_scripts() {
    let run = Command::new(program("hub-top"))
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(64));
    assert!(said.contains("`hubctl status`"), "{said}");
}

#[test]
fn hubctl_becomes_the_program_beside_it_or_says_how_to_install_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let hubctl = dir.path().join("hubctl");
    // Another process writes the copy: a file that this one has open for writing could not be executed.
    let copy = Command::new("install")
        .arg(program("hubctl"))
        .arg(&hubctl)
        .status();
    assert!(copy.expect("coreutils").success());
    let call = |args: &[&str]| {
        let call = Command::new(&hubctl)
            .args(args)
            .env("PATH", "/usr/bin:/bin")
            .output();
        let done = call.expect("it starts");
        let text = [done.stdout, done.stderr].concat();
        (
            done.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    for name in ["top", "desktop"] {
        let (code, said) = call(&[name]);
        let remedy = format!("cargo install --path client/{name}");
        assert!(code == Some(1) && said.contains(&remedy), "{said}");
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/bin/sh\necho \"got $*\"\n").expect("a file");
        let beside = dir.path().join(format!("hub-{name}"));
        let install = Command::new("install").arg(&script).arg(beside).status();
        assert!(install.expect("coreutils").success());
        let (code, said) = call(&["--state-dir", "/s", name, "--help", "--new", "x"]);
        assert_eq!(
            (code, said.as_str()),
            (Some(0), "got --state-dir /s --help --new x\n")
        );
    }
}
