//! The details of a selected row, as lines of text with a tone.

use hub_protocol::{
    Answer, Choice, Chosen, Control, Counted, Edit, Need, Notification, RequestPart, Seq, Session,
    Timestamp, ToolRequest, Whole,
};
use hubctl::age;
use similar::{ChangeTag, TextDiff};

use crate::board::activity;
use crate::draft::{Draft, choices};
use crate::form;
use crate::markdown::{self, Part};
use crate::needs::{NeedRow, has_pane};
use crate::outbox::Outbox;
use crate::text::{line, lines};

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Dim,
    Alert,
    Code,
    Added,
    Removed,
}

const NO_APPROVAL: &str =
    "d deny · the hub does not have all of it: only the agent's own terminal can allow it";

/// The lines of the details.
#[derive(Debug, Default)]
pub(crate) struct Details {
    lines: Vec<(Tone, String)>,
    /// How many of the lines end with the request.
    request: usize,
}

/// The context of a row, besides the row itself.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) thread: &'a [Notification],
    pub(crate) draft: Option<&'a Draft>,
    pub(crate) outbox: &'a Outbox,
    /// By the hub's clock.
    pub(crate) now: Timestamp,
}

impl Details {
    /// The details of a need; its brief text until the whole is loaded.
    pub(crate) fn of_need(row: &NeedRow<'_>, known: &Known<'_>) -> Self {
        let NeedRow {
            need,
            name,
            session,
            ..
        } = row;
        let mut details = Self::default();
        let kind = need.kind.words();
        let head = format!("{name} · {kind} · {} ago", age(need.since, known.now));
        details.push(Tone::Strong, &head);
        if let Some(session) = session {
            details.place(session);
        }
        match &need.whole {
            Some(whole) if need.kind.asks() => details.question(row, whole, known),
            Some(whole) => details.trouble(row, &whole.text, known),
            None => {
                details.blank();
                details.words(&need.brief);
            }
        }
        details.thread(need.notification, known);
        details
    }

    /// The details of a session.
    pub(crate) fn of_session(session: &Session, known: &Known<'_>) -> Self {
        let mut details = Self::default();
        let phase = session.phase.name.as_str().replace('_', " ");
        let since = age(session.phase.since, known.now);
        details.push(
            Tone::Strong,
            &format!("{} · {phase} · {since}", session.name),
        );
        details.place(session);
        let wake = match session.wake {
            hub_protocol::Wake::Live => "a message wakes it",
            hub_protocol::Wake::Stale => "a message waits for its next turn",
            hub_protocol::Wake::None => "nothing can wake it",
        };
        let pending = session.pending;
        details.push(Tone::Dim, &format!("{pending} pending · {wake}"));
        details.optional(Tone::Dim, "why: ", session.unreachable.as_deref());
        details.blank();
        details.text(Tone::Plain, &activity(session));
        details.thread(None, known);
        details
    }

    /// The lines with their tones.
    pub(crate) fn lines(&self) -> &[(Tone, String)] {
        &self.lines
    }

    /// The lines down to the end of the request that can be approved.
    pub(crate) fn to_the_end_of_the_request(&self) -> &[(Tone, String)] {
        &self.lines[..self.request]
    }

    fn push(&mut self, tone: Tone, text: &str) {
        self.lines.push((tone, line(text)));
    }

    fn text(&mut self, tone: Tone, text: &str) {
        self.lines.extend(lines(text).map(|it| (tone, it)));
    }

    /// The words of an agent.
    fn words(&mut self, text: &str) {
        let parts = markdown::parts(text).into_iter();
        self.lines.extend(parts.map(|(part, line)| match part {
            Part::Words => (Tone::Plain, line),
            Part::Heading => (Tone::Strong, line),
            Part::Code => (Tone::Code, line),
        }));
    }

    fn optional(&mut self, tone: Tone, label: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|it| !it.is_empty()) {
            self.push(tone, &format!("{label}{text}"));
        }
    }

    fn end_of_request(&mut self) {
        self.request = self.lines.len();
        self.blank();
    }

    fn blank(&mut self) {
        self.lines.push((Tone::Plain, String::new()));
    }

    /// The place of a session.
    fn place(&mut self, session: &Session) {
        let info = &session.info;
        let parts = [&info.agent, &info.branch, &info.host, &info.pane];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        self.optional(Tone::Dim, "", Some(&parts.join(" · ")));
        self.optional(Tone::Dim, "in ", info.cwd.as_deref());
    }

    fn question(&mut self, row: &NeedRow<'_>, whole: &Whole, known: &Known<'_>) {
        let need = row.need;
        if let Some(by) = &need.claimed {
            self.push(Tone::Dim, &format!("{by} has claimed it"));
        }
        self.blank();
        match &whole.controls[..] {
            [verdict @ Control::Verdict { .. }] => self.verdict(need, whole, verdict),
            [Control::Choice(_), ..] => self.choices(need, known),
            [Control::Form { fields }] => {
                self.words(&whole.text);
                for field in fields {
                    self.push(Tone::Plain, &form::described(field));
                }
                self.push(Tone::Dim, "Enter fill in · d decline");
            }
            _ => self.words(&whole.text),
        }
        self.answer(row, known);
        if let Some(context) = &whole.context {
            self.blank();
            self.push(Tone::Dim, "Before it asked");
            self.words(context);
        }
    }

    /// A permission or a plan.
    fn verdict(&mut self, need: &Need, whole: &Whole, verdict: &Control) {
        match &whole.request {
            Some(request) => self.request(request),
            None => self.words(&whole.text),
        }
        self.end_of_request();
        if need.answerable {
            self.keys(verdict);
        }
    }

    /// The keys that decide.
    fn keys(&mut self, verdict: &Control) {
        let Control::Verdict {
            allow: true,
            always,
            edits,
        } = verdict
        else {
            return self.push(Tone::Dim, NO_APPROVAL);
        };
        self.push(Tone::Dim, "a approve · d deny");
        self.optional(Tone::Dim, "A approve, and from now on: ", always.as_deref());
        let edits = edits.then_some("A approve, and accept edits");
        self.optional(Tone::Dim, "", edits);
    }

    /// The way of the answer: held back, refused, or only possible elsewhere.
    fn answer(&mut self, row: &NeedRow<'_>, known: &Known<'_>) {
        let need = row.need;
        if let Some(held) = known.outbox.held(&need.id) {
            let text = format!("{} – will be sent · u undo · Enter send now", held.answer);
            self.push(Tone::Alert, &text);
        } else if known.outbox.is_sending(&need.id) {
            self.push(Tone::Alert, "Sending …");
        } else if !need.answerable {
            let go = if has_pane(need, row.session) {
                " · g go there"
            } else {
                ""
            };
            self.push(Tone::Alert, &format!("{}{go}", elsewhere(need)));
            let place = need.place.clone().unwrap_or_default();
            let parts: Vec<_> = [place.host, place.cwd, place.pane]
                .into_iter()
                .flatten()
                .collect();
            self.optional(Tone::Dim, "at ", Some(&parts.join(" · ")));
        } else if let Some(until) = need.until {
            let left = age(known.now, until);
            let or = if need.delays {
                ""
            } else {
                " or in its terminal"
            };
            self.push(Tone::Dim, &format!("answer here{or}, {left} left"));
        }
        self.optional(Tone::Alert, "", known.outbox.problem(&need.id));
    }

    fn request(&mut self, request: &ToolRequest) {
        self.optional(Tone::Dim, "wants to use ", Some(&request.tool));
        let risks = request.risks.join(" · ");
        self.optional(Tone::Alert, "⚠ ", Some(&risks));
        if let Some(change) = &request.change {
            self.push(Tone::Strong, &change.path);
            for edit in &change.edits {
                self.edit(edit);
            }
        }
        for part in &request.parts {
            self.part(part);
        }
    }

    fn part(&mut self, part: &RequestPart) {
        if part.is_command() {
            return self.text(Tone::Strong, &part.text);
        }
        self.push(Tone::Dim, &format!("{}:", part.name));
        self.text(Tone::Plain, &part.text);
    }

    /// The difference of an edit by lines, with a few unchanged lines around.
    fn edit(&mut self, Edit { before, after, all }: &Edit) {
        if *all {
            self.push(Tone::Dim, "in every place");
        }
        let diff = TextDiff::from_lines(before.as_str(), after.as_str());
        let mut shown = 0;
        for group in diff.grouped_ops(3) {
            let start = group.first().map_or(0, |op| op.old_range().start);
            if start > shown {
                self.push(
                    Tone::Dim,
                    &format!("… {}", Counted(start - shown, "unchanged line")),
                );
            }
            shown = group.last().map_or(shown, |op| op.old_range().end);
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let (tone, sign) = match change.tag() {
                    ChangeTag::Delete => (Tone::Removed, "- "),
                    ChangeTag::Insert => (Tone::Added, "+ "),
                    ChangeTag::Equal => (Tone::Plain, "  "),
                };
                self.text(tone, &format!("{sign}{}", change.value()));
            }
        }
    }

    /// The questions of a dialog, with their answers so far.
    fn choices(&mut self, need: &Need, known: &Known<'_>) {
        let held = known.outbox.held(&need.id).map(|it| &it.answer);
        let given = match (held, known.draft) {
            (Some(Answer::Choices(all)), _) => all,
            (_, Some(draft)) => draft.answers(),
            _ => &[],
        };
        for (at, choice) in choices(controls(need)).into_iter().enumerate() {
            self.words(&choice.question);
            match given.get(at) {
                Some(chosen) => self.chosen(choice, chosen),
                None => self.offers(choice, known.draft, at == given.len()),
            }
        }
    }

    /// The options of a question; those of the current one can be chosen.
    fn offers(&mut self, choice: &Choice, draft: Option<&Draft>, is_current: bool) {
        for (number, offer) in (1..).zip(&choice.options) {
            let is_marked = is_current && draft.is_some_and(|it| it.is_marked(number));
            let mark = if is_marked { "✓ " } else { "" };
            let key = if is_current {
                number.to_string()
            } else {
                "·".into()
            };
            let text = format!("{key} {mark}{}", offer.label);
            match offer.description.as_str() {
                "" => self.push(Tone::Strong, &text),
                more => self.push(Tone::Plain, &format!("{text} – {more}")),
            }
        }
        if is_current && choice.many {
            self.push(Tone::Dim, "choose any, then Enter");
        }
    }

    fn chosen(&mut self, choice: &Choice, chosen: &Chosen) {
        for offer in &choice.options {
            self.push(Tone::Dim, &format!("· {}", offer.label));
        }
        let answer = Answer::Choices(vec![chosen.clone()]);
        self.push(Tone::Added, &format!("answer: {answer}"));
    }

    fn trouble(&mut self, row: &NeedRow<'_>, text: &str, known: &Known<'_>) {
        self.blank();
        let until = row.need.until.filter(|until| *until > known.now);
        if let Some(until) = until {
            let left = age(known.now, until);
            let text = match row.need.resume {
                Some(it) if it.chosen => format!("the hub lets it go on in {left} · c not"),
                Some(_) => format!("it may go on in {left} · c let it go on then"),
                None => format!("it may go on in {left}"),
            };
            self.push(Tone::Dim, &text);
        }
        self.words(text);
        let evidence = row.session.and_then(|it| it.evidence.as_deref());
        self.optional(Tone::Dim, "by its ", evidence);
        self.blank();
        let reply = if row.takes_reply() { "r reply · " } else { "" };
        self.push(Tone::Dim, &format!("{reply}e done · m put off for an hour"));
    }

    /// The notifications of the thread, without the one that is shown already.
    fn thread(&mut self, own: Option<Seq>, known: &Known<'_>) {
        let others: Vec<_> = known
            .thread
            .iter()
            .filter(|it| Some(it.id) != own)
            .collect();
        if others.is_empty() {
            return;
        }
        self.blank();
        self.push(Tone::Dim, "Thread");
        for one in others {
            let from = one.from_name.as_deref().unwrap_or(one.from.as_str());
            self.push(
                Tone::Strong,
                &format!("{from} · {} ago", age(one.ts, known.now)),
            );
            self.words(&one.msg);
        }
    }
}

/// Why no answer by the hub reaches the asker now.
fn elsewhere(need: &Need) -> &'static str {
    if need.reconnecting {
        return "The hub has just started, and waits for the hook of its agent to connect again";
    }
    "It waits in its own terminal, and the hub cannot deliver an answer there"
}

/// The controls that answer a need; none until they are loaded.
pub(crate) fn controls(need: &Need) -> &[Control] {
    need.whole.as_ref().map_or(&[], |it| &it.controls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::needs;
    use crate::store::fixture::{at, store};
    use hub_protocol::FileChange;

    /// The details of the need with this name.
    fn shown(store: &crate::store::Store, name: &str, outbox: &Outbox) -> Vec<String> {
        let all = needs(store);
        let need = all.iter().find(|it| it.name == name).unwrap();
        let known = Known {
            thread: &[],
            draft: None,
            outbox,
            now: at(100),
        };
        let details = Details::of_need(need, &known);
        details
            .lines()
            .iter()
            .map(|(_, text)| text.clone())
            .collect()
    }

    #[test]
    fn a_permission_shows_its_whole_command_and_its_directory() {
        let text = shown(&store(), "web", &Outbox::default());
        let expected = [
            "web · permission · 1 min ago",
            "in /src/web",
            "",
            "wants to use Bash",
            "⚠ force-push",
            "git push --force",
            "description:",
            "Push",
            "",
            "a approve · d deny",
            "A approve, and from now on: Bash",
        ];
        assert_eq!(text, expected);
    }

    #[test]
    fn an_edit_is_shown_as_a_difference() {
        let mut store = store();
        let lines: Vec<String> = (1..=9).map(|n| format!("line {n}\n")).collect();
        let before = lines.concat();
        let after = before.replace("line 7\n", "line seven\u{1b}[2J\n");
        let edit = Edit {
            before,
            after,
            all: false,
        };
        let whole = store.needs[2].whole.as_mut().unwrap();
        let request = whole.request.as_mut().unwrap();
        request.change = Some(FileChange {
            path: "/src/a.rs".into(),
            edits: vec![edit],
        });
        let text = shown(&store, "web", &Outbox::default()).join("\n");
        let diff = "/src/a.rs\n… 3 unchanged lines\n  line 4\n  line 5\n  line 6\n- line 7\n+ line seven\\u001b[2J\n  line 8\n  line 9\n";
        assert!(text.contains(diff), "{text}");
    }

    #[test]
    fn options_are_numbered_and_a_held_answer_can_be_undone() {
        let store = store();
        let mut outbox = Outbox::default();
        let text = shown(&store, "db", &outbox).join("\n");
        assert!(text.contains("Which db?\n1 postgres\n2 sqlite"), "{text}");
        let sqlite = Chosen {
            labels: vec!["sqlite".into()],
            text: None,
        };
        outbox.hold(&store.needs[0], Answer::Choices(vec![sqlite]), at(100));
        let text = shown(&store, "db", &outbox).join("\n");
        assert!(text.contains("sqlite – will be sent · u undo"), "{text}");
    }

    #[test]
    fn a_request_that_the_hub_does_not_have_whole_offers_no_approval() {
        let mut store = store();
        for need in &mut store.needs {
            let controls = &mut need.whole.as_mut().unwrap().controls;
            if let [Control::Verdict { allow, .. }] = &mut controls[..] {
                *allow = false;
            }
        }
        for name in ["web", "api"] {
            let text = shown(&store, name, &Outbox::default()).join("\n");
            assert!(text.contains("only the agent's own terminal"), "{text}");
            assert!(!text.contains("approve,"), "{text}");
        }
    }

    #[test]
    fn a_need_shows_its_whole_text_and_the_words_before_it() {
        let mut store = store();
        let long = |text: &str| [text, &"word ".repeat(100), "end"].concat();
        store.needs[0].whole.as_mut().unwrap().context = Some(long("before "));
        store.needs[3].whole.as_mut().unwrap().text = long("stopped ");
        for (name, text) in [("db", "before "), ("docs", "stopped ")] {
            let shown = shown(&store, name, &Outbox::default()).join("\n");
            assert!(shown.contains(&long(text)), "{shown}");
        }
        store.needs[3].whole = None;
        let text = shown(&store, "docs", &Outbox::default()).join("\n");
        assert!(text.ends_with("The page is written."), "{text}");
    }

    #[test]
    fn a_question_that_the_hub_cannot_answer_names_its_terminal() {
        let mut store = store();
        store.needs[0].answerable = false;
        store.needs[0].place = Some(hub_protocol::Place {
            pane: Some("%7".into()),
            ..Default::default()
        });
        let text = shown(&store, "db", &Outbox::default()).join("\n");
        assert!(
            text.contains("in its own terminal") && text.contains("at %7"),
            "{text}"
        );
        assert!(text.contains("g go there"), "{text}");
        store.needs[0].place = None;
        let text = shown(&store, "db", &Outbox::default()).join("\n");
        assert!(text.contains("in its own terminal"), "{text}");
        assert!(!text.contains("g go there"), "no pane is known: {text}");
    }

    #[test]
    fn a_session_that_has_died_takes_no_reply() {
        let mut store = store();
        let keys = "r reply · e done · m put off for an hour";
        assert!(shown(&store, "docs", &Outbox::default()).contains(&keys.into()));
        store.needs[3].kind = hub_protocol::NeedKind::Died;
        store.needs[3].answerable = false;
        let text = shown(&store, "docs", &Outbox::default()).join("\n");
        assert!(!text.contains("reply") && text.contains("e done"), "{text}");
    }

    #[test]
    fn a_question_whose_hook_is_not_back_at_a_new_hub_says_so() {
        let mut store = store();
        store.needs[0].answerable = false;
        store.needs[0].reconnecting = true;
        let text = shown(&store, "db", &Outbox::default()).join("\n");
        assert!(text.contains("waits for the hook of its agent"), "{text}");
    }

    #[test]
    fn a_question_that_delays_its_agent_is_not_in_its_terminal_yet() {
        let mut store = store();
        for (delays, expected) in [
            (false, "here or in its terminal, 2 min"),
            (true, "here, 2 min"),
        ] {
            store.needs[0].until = Some(at(220));
            store.needs[0].delays = delays;
            let text = shown(&store, "db", &Outbox::default()).join("\n");
            assert!(text.contains(expected), "{text}");
        }
    }
}
