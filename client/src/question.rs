//! Questions: requests about them, and how they are shown.

use std::fmt::Write as _;

use hub_protocol::{ProjectName, Seq, Timestamp};
use serde_json::{Value, json};

use crate::age::age;
use crate::error::Error;
use crate::fields::{list, number, sender_of, text};
use crate::here::Here;
use crate::hub::{Hub, Path, Request};
use crate::out::say;
use crate::sender::session;
use crate::text::{cut, line};

/// How many characters of a question's text are shown on its line.
pub(crate) const WIDTH: usize = 160;

/// The request for the open questions of `project` or of all projects; with `all`, for settled ones too.
pub(crate) fn request(project: Option<&ProjectName>, all: bool) -> Request {
    let path = Path::new("/questions").maybe("project", project);
    Request::get(path.maybe("state", all.then_some("all")))
}

/// The path of the question `id`.
pub(crate) fn path(id: Seq) -> Path {
    Path::new("/questions").segment(id)
}

/// The one who acts, as the body of a request: this agent session, or the person.
pub(crate) async fn by(here: &Here) -> Result<Value, Error> {
    Ok(match session(here).await? {
        Some(session) => json!({"session": session.value}),
        None => json!({"by": "person"}),
    })
}

/// Applies `action` to the question `id` and returns the hub's answer. Returns `None`, and reports the outcome, if the
/// question was already settled.
pub(crate) async fn act(
    hub: &Hub,
    id: Seq,
    action: &str,
    body: &Value,
) -> Result<Option<String>, Error> {
    let request = Request::post(path(id).segment(action), body.to_string());
    match hub.text(&request).await {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Refused(problem)) if problem.code == "question_settled" => {
            let question: Value = hub.json(&Request::get(path(id))).await?;
            say(format!("too late: {}", outcome(&question)));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The state of a question as a sentence.
pub(crate) fn outcome(question: &Value) -> String {
    let (id, state) = (number(question, "id"), text(question, "state"));
    let by = match text(question, "by") {
        "" => String::new(),
        by => format!(" by {}", line(by)),
    };
    match text(question, "answer") {
        "" => format!("question {id} is {}{by}", line(state)),
        answer => format!("question {id} is {}{by}: {}", line(state), line(answer)),
    }
}

/// A question as one line, with its options.
pub(crate) fn describe(question: &Value, now: Timestamp) -> String {
    let kind = match text(question, "type") {
        "approval" => "asks for approval",
        _ => "asks",
    };
    let msg = line(text(question, "msg"));
    let mut shown = format!(
        "{:>6}  {}  {kind} ({} ago): {}",
        number(question, "id"),
        line(sender_of(question)),
        age(text(question, "ts"), now),
        cut(&msg, WIDTH)
    );
    let offered = list(question, "options").iter().filter_map(Value::as_str);
    for (number, option) in (1..).zip(offered) {
        // Writing to a String cannot fail.
        let _ = write!(shown, "  [{number}] {}", line(option));
    }
    if text(question, "state") != "open" {
        let _ = write!(shown, "  ({})", outcome(question));
    }
    shown
}
