use super::*;
use crate::commands::hooks::own::Invocation;
use crate::commands::hooks::scheme::{Content, content};

fn ours(program: &str) -> Vec<Value> {
    let invocation = Invocation {
        program: program.into(),
        ..Invocation::anybody()
    };
    let Content::Tables(tables) = content(Agent::Kimi, &invocation) else {
        panic!("Kimi Code has tables")
    };
    tables
}

fn installed(file: &str) -> String {
    install(file, Agent::Kimi, &ours("/a b/\"it's\"/hubctl")).unwrap()
}

fn count(file: &str) -> usize {
    find(file, Agent::Kimi).unwrap().len()
}

/// Files that come back as they were after an install and an uninstall.
const FILES: [&str; 16] = [
    "",
    "a = 1\n",
    "# mine\n\na = 1 # one\n\n\n# the end\n",
    "[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"\n",
    "[[ hooks ]]\nevent = 'Stop'\ncommand = 'mine' # mine\n\n[z]\nb = [ 1,  2 ]\n[a.b]\n[a]\n# end\n",
    "hooks = []\ntheme = \"dark\"\n\n[loop]\nsteps = 1\n",
    "\"hooks\" = []\n",
    "theme = \"\"\"\nhooks = no key\n\"\"\"\n",
    "\u{feff}a = 1\r\n\r\n# mine\r\n[b]\r\nc = 1\r\n",
    "[[hooks]] # one\nevent = \"Stop\"\ncommand = \"mine\"\n# two\n[b]\n# three\n",
    "# only a comment\n",
    "hooks = [{ event = 'Stop', command = 'mine' }] # mine\na = 1\n",
    "hooks = [\n  # one\n  { event = 'Stop', command = 'mine' }, # two\n  # three\n]\n",
    "hooks = [\n  # none\n]\n",
    "a.b = 1\nc = 1\na.d = 1\r\n",
    "hooks = []\na.b = 1\nc = 1\na.d = 1\n",
];

#[test]
fn our_tables_are_installed_once_found_and_removed_without_a_trace() {
    for before in FILES {
        let once = installed(before);
        assert_eq!(installed(&once), once);
        let found = find(&once, Agent::Kimi).unwrap();
        assert_eq!(found.len(), 12, "{once}");
        assert_eq!(found[0].0, "SessionStart");
        assert_eq!(found[0].1.program, "/a b/\"it's\"/hubctl");
        assert_eq!(uninstall(&once, Agent::Kimi).unwrap(), before);
        assert_eq!(count(before), 0);
    }
}

#[test]
fn every_value_and_comment_of_others_is_in_the_installed_file() {
    for before in FILES {
        let after = installed(before);
        for line in before.lines().filter(|it| !it.contains("hooks")) {
            assert!(after.contains(line), "{line}: {after}");
        }
        let (mut was, mut is) = (value(before).unwrap(), value(&after).unwrap());
        let foreign = was["hooks"].as_array().map_or(0, Vec::len);
        assert_eq!(is["hooks"].as_array().unwrap().len(), foreign + 12);
        was["hooks"].take();
        is["hooks"].take();
        assert_eq!(is, was);
    }
}

#[test]
fn tables_are_known_by_their_command_after_the_agent_has_dropped_all_comments() {
    let old = old_block("theme = \"dark\"\n", "");
    let bare = old.lines().filter(|line| !line.starts_with('#'));
    let bare: Vec<&str> = bare.collect();
    let bare = bare.join("\n") + "\n";
    assert_eq!(count(&bare), 12);
    assert_eq!(count(&installed(&bare)), 12);
    assert_eq!(uninstall(&bare, Agent::Kimi).unwrap(), "theme = \"dark\"\n");
}

#[test]
fn the_block_of_an_earlier_version_is_replaced_and_tables_after_a_lost_end_mark_stay() {
    let mine = "\n# my account\n[providers.work]\napi_key = \"mine\"\n";
    let whole = old_block("# my theme\ntheme = \"dark\"\n# my hooks\n", mine);
    for old in [
        whole.clone(),
        whole.replace(MARKS[1], ""),
        whole.replace(MARKS[0], ""),
    ] {
        let new = installed(&old);
        assert_eq!(count(&new), 12);
        let left = uninstall(&new, Agent::Kimi).unwrap();
        for part in [new, uninstall(&old, Agent::Kimi).unwrap(), left] {
            assert!(part.contains("# my hooks\n"), "{part}");
            assert!(part.contains(mine), "{part}");
            assert!(!part.contains("hooks of hubctl"), "{part}");
        }
    }
}

/// A file as an earlier version wrote it.
fn old_block(before: &str, after: &str) -> String {
    let [begin, end] = MARKS;
    let tables = installed("").replace("/a b", "/old");
    format!("{before}{begin}{tables}{end}{after}")
}

#[test]
fn hooks_of_a_form_that_takes_no_tables_are_refused() {
    for text in [
        "[hooks]\nenabled = true\n",
        "hooks.enabled = true\n",
        "hooks = true\n",
        "hooks = [1]\n",
        "hooks = [\n",
    ] {
        install(text, Agent::Kimi, &ours("hubctl")).unwrap_err();
    }
}

#[test]
fn our_hooks_in_codexs_config_are_found_and_removed_with_their_groups() {
    let mine = "model = \"x\"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"mine\"\n";
    let state = "\n[hooks.state.\"x:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
    let own = "# the hub\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"/o/hubctl hook codex\"\n\
               [[hooks.Interrupt]]\nhooks = [{ type = \"command\", command = \"hubctl hook codex\" }]\n";
    let file = format!("{mine}{own}{state}");
    let events: Vec<String> = find(&file, Agent::Codex)
        .unwrap()
        .into_iter()
        .map(|(event, _)| event)
        .collect();
    assert_eq!(events, ["Stop", "Interrupt"]);
    let left = uninstall(&file, Agent::Codex).unwrap();
    assert_eq!(left, format!("{mine}# the hub\n{state}"));
}
