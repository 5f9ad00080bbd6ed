//! Kilo Code, a fork of `OpenCode` 1: the same plugin, in a directory of its own.

use hub_protocol::Way;
use serde_json::{Map, Value};

use crate::acp::Acp;
use crate::event::AgentEvent;
use crate::extension;
use crate::facts::{Docs, Facts, OneAnswer};
use crate::form::{Form, InvalidSessionId, ParsedHook};
use crate::opencode::PLUGIN;
use crate::settings::{Content, Files, Settings};

pub(crate) static FACTS: Facts = Facts {
    name: "kilo",
    product: "Kilo Code",
    verified: &["@kilocode/cli-PLATFORM-baseline@7.7.9"],
    docs: Docs {
        hooks: "plugin, that of OpenCode 1",
        limits: "a session is known from its first prompt on; what leaves its sandbox, or a shell in a skill, is allowed only in its \
                 own terminal",
    },
    ways: &[Way::Module, Way::Pane],
    has_extension: true,
    // It sets `OPENCODE` too.
    marks: &["KILO_PID"],
    one_answer: OneAnswer {
        arguments: &["run"],
        ..OneAnswer::NEVER
    },
    stops: extension::STOPS,
    heartbeats: extension::HEARTBEATS,
    acp: Some(Acp {
        command: &["kilo", "acp"],
        limits: "a question hangs until the turn is cancelled; it writes files through its client although that \
                 declares no such ability",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

pub(crate) static FORM: Form = Form {
    parse,
    render: extension::render,
};

/// How long it allows what it allows always: it writes that to the person's settings.
const KEPT: &str = "in all projects, for good";

/// The marks of permissions that it takes only from its own terminal.
const OWN_TERMINAL: [&str; 2] = ["skillShell", "sandboxEscalation"];

fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let mut hook = extension::parse(payload)?;
    if let AgentEvent::Permission {
        data: Some(request),
        ..
    } = &mut hook.happened
        && let Some(lasts) = request.pointer_mut("/suggestions/0/lasts")
    {
        *lasts = KEPT.into();
    }
    let metadata = payload.get("properties").map(|it| &it["metadata"]);
    let is_own = |it: &Value| OWN_TERMINAL.iter().any(|mark| it[mark] == true);
    hook.takes = hook.takes.filter(|_| !metadata.is_some_and(is_own));
    Ok(hook)
}

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("KILO_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "kilo")],
        home: ".config/kilo",
        user: "plugin/hub.js",
        project: Some(".kilo/plugin/hub.js"),
        local: None,
        beside: None,
    },
    content: Content::Extension(PLUGIN),
    left_to_do: &["restart the running sessions"],
    switches: &[],
    managed: None,
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answer::AnswerKind;

    fn asked(metadata: &Value) -> ParsedHook {
        let properties = json!({ "permission": "bash", "always": ["ls *"], "metadata": metadata });
        let payload = json!({ "hook_event_name": "permission.asked", "session_id": "s1",
            "answerable": true, "properties": properties });
        parse(payload.as_object().unwrap()).unwrap()
    }

    #[test]
    fn what_it_allows_always_is_kept() {
        let AgentEvent::Permission { data, .. } = asked(&json!({})).happened else {
            panic!("no permission")
        };
        assert_eq!(data.unwrap()["suggestions"][0]["lasts"], KEPT);
    }

    #[test]
    fn a_permission_for_more_than_the_sandbox_is_not_taken_from_the_hub() {
        let takes = |metadata: Value| asked(&metadata).takes;
        assert_eq!(
            takes(json!({ "command": "ls" })),
            Some(AnswerKind::Permission)
        );
        assert_eq!(takes(json!({ "sandboxEscalation": true })), None);
        assert_eq!(takes(json!({ "skillShell": true })), None);
    }
}
