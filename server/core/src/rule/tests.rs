use super::selector::{MAX_TEXT, is_like};
use super::*;

#[test]
fn a_star_in_a_pattern_means_any_characters() {
    for (pattern, text) in [
        ("*", ""),
        ("*", "x"),
        ("ci", "ci"),
        ("ci*", "ci"),
        ("ci*", "ci-7"),
        ("*bot", "a-bot"),
        ("a*c*e", "abcde"),
        ("a*b*b", "abb"),
        ("**", "x"),
    ] {
        assert!(is_like(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [
        ("", "x"),
        ("ci", "ci7"),
        ("a*a", "a"),
        ("a*b*b", "ab"),
        ("x*", "ax"),
    ] {
        assert!(!is_like(pattern, text), "{pattern} {text}");
    }
}

#[test]
fn an_expression_that_makes_others_hang_ends_soon() {
    let msg = "a".repeat(64 * 1024);
    let (project, kind) = (ProjectName::default(), Kind::Message);
    let subject = Subject {
        project: &project,
        from: "w1",
        name: None,
        kind,
        priority: Priority::Normal,
        msg: &msg,
    };
    for text in ["(a*)*b", "(a|aa)+$x", "(.*)(.*)(.*)[bc]", "(a?){60}a{60}b"] {
        let config = format!("[[on]]\nname = 'n'\ntext = '{text}'\nmute = true\n");
        let rules = parse(&config).unwrap();
        let began = std::time::Instant::now();
        assert!(!rules.iter().any(|rule| rule.matches(&subject)));
        assert!(
            began.elapsed().as_secs() < 1,
            "{text}: {:?}",
            began.elapsed()
        );
    }
}

#[test]
fn a_text_is_matched_up_to_its_limit() {
    let rules = parse("[[on]]\nname = 'n'\ntext = 'x'\nmute = true\n").unwrap();
    let matches = |msg: String| {
        let project = ProjectName::default();
        let kind = Kind::Message;
        let it = Subject {
            project: &project,
            from: "w1",
            name: None,
            kind,
            priority: Priority::Normal,
            msg: &msg,
        };
        rules.iter().any(|rule| rule.matches(&it))
    };
    assert!(matches("ä".repeat(MAX_TEXT / 2 - 1) + "x"));
    assert!(!matches("ä".repeat(MAX_TEXT / 2) + "x"));
}

#[test]
fn a_program_may_run_for_a_minute_or_for_its_timeout() {
    let rule = |line: &str| {
        let text = format!("[[on]]\nname = 'n'\nfrom = ['x']\nrun = ['x']\n{line}");
        let rules = parse(&text).unwrap();
        let run = rules.iter().next().unwrap().actions.run.clone();
        run.unwrap().1
    };
    assert_eq!(rule(""), Duration::from_secs(60));
    assert_eq!(rule("timeout = '10m'"), Duration::from_secs(600));
}

#[test]
fn the_error_of_a_rule_names_the_line_of_the_key_that_is_wrong() {
    let first = "[[on]]\nname = 'first'\nfrom = ['x']\n";
    let wrong = |lines: &str| parse(&format!("{first}mute = true\n\n{lines}")).unwrap_err();
    for (lines, expected) in [
        // The first rule has the same key with the same value, where it is right.
        (
            "[[on]]\nname = 'b'\nmute = true\n",
            "line 6: [[on]] 'b': add a",
        ),
        (
            "[[on]]\nname = 'first'\nfrom = ['x']\nmute = true\n",
            "line 7: [[on]] 'first': name: two",
        ),
        (
            "[[on]]\nname = 'b'\nphase = ['blocked']\nfor = '1m'\nmute = true\n",
            "line 10: [[on]] 'b': mute, forward and escalate need",
        ),
        (
            "[[on]]\nname = 'b'\nfor = '1m'\nmute = true\n",
            "line 8: [[on]] 'b': phase and for belong",
        ),
        (
            "[[on]]\nname = 'b'\nstate = ['x']\nfor = '1m'\nrun = ['x']\n",
            "line 8: [[on]] 'b': phase: unknown phase",
        ),
        (
            "[[on]]\nname = 'b'\nfrom = ['x']\n[on.notify]\nto = 'a'\nmsg = '{x}'\n",
            "line 11: [[on]] 'b': notify.msg: unknown placeholder",
        ),
        (
            "[[on]]\nname = 'b'\nfrom = ['x']\nmute = true\n\"a.b, c\" = 1\n",
            "line 10: [[on]] 'b': a.b, c: unknown key",
        ),
        (
            "[[on]]\nname = 'b'\nfrom = ['x']\nnotify = { to = 'a', msg = 'm',\n  kind = 'x' }\n",
            "line 10: [[on]] 'b': notify.kind: unknown key",
        ),
    ] {
        let error = wrong(lines);
        assert!(error.starts_with(expected), "{lines}{error}");
    }
}
