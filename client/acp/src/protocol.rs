//! The requests that `hub-acp` sends as a client.

use std::ffi::OsString;
use std::path::Path;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, ContentBlock, ElicitationCapabilities,
    ElicitationFormCapabilities, Implementation, InitializeRequest, LoadSessionRequest, McpServer,
    McpServerStdio, NewSessionRequest, PermissionOptionKind, PromptRequest,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, TextContent,
};
use serde::Serialize;
use serde_json::{Value, json};

/// The version of the protocol that `hub-acp` speaks and understands.
pub(crate) const VERSION: ProtocolVersion = ProtocolVersion::V1;

/// Whether `hub-acp` understands this version, as `initialize` answers it.
pub(crate) fn is_known(version: &Value) -> bool {
    *version == VERSION.as_u16()
}

/// The parameters of `initialize`. Files and terminals are left to the agent; its forms are answered.
pub(crate) fn initialize() -> Value {
    let forms = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
    let own = Implementation::new("hub-acp", env!("CARGO_PKG_VERSION"));
    value(
        InitializeRequest::new(VERSION)
            .client_capabilities(ClientCapabilities::new().elicitation(forms))
            .client_info(own),
    )
}

/// The hub's tools as a server of the agent: `hubctl mcp` with the flags that name this hub.
pub(crate) fn tools(flags: &[OsString]) -> McpServer {
    let beside = std::env::current_exe().map(|own| own.with_file_name("hubctl"));
    let hubctl = beside.ok().filter(|it| it.is_file());
    let flags = flags.iter().map(|it| it.to_string_lossy().into_owned());
    let args = flags.chain(["mcp".to_owned()]).collect();
    let server = McpServerStdio::new("hub", hubctl.unwrap_or_else(|| "hubctl".into()));
    McpServer::Stdio(server.args(args))
}

/// The parameters of `session/new`.
pub(crate) fn new_session(cwd: &Path, tools: McpServer) -> Value {
    value(NewSessionRequest::new(cwd).mcp_servers(vec![tools]))
}

/// The parameters of `session/load`.
pub(crate) fn load_session(session: &str, cwd: &Path, tools: McpServer) -> Value {
    value(LoadSessionRequest::new(session.to_owned(), cwd).mcp_servers(vec![tools]))
}

/// The parameters of `session/prompt`: texts, each a block of its own.
pub(crate) fn prompt(session: &str, texts: &[&str]) -> Value {
    let blocks = texts.iter().filter(|it| !it.is_empty());
    let blocks = blocks
        .map(|it| ContentBlock::Text(TextContent::new(*it)))
        .collect();
    value(PromptRequest::new(session.to_owned(), blocks))
}

/// The parameters of `_session/steering`. An agent whose turn has ended begins none by itself: it says so.
pub(crate) fn steering(session: &str, words: &str) -> Value {
    let mut params = prompt(session, &[words]);
    params["_meta"] = json!({ "steering": { "idleBehavior": "promptRequired" } });
    params
}

/// Whether the agent has taken words for its running turn, by its answer to them.
pub(crate) fn is_steered(answer: Result<&Value, &Value>) -> bool {
    let outcome = answer.map(|it| it["outcome"].as_str().unwrap_or_default());
    outcome.is_ok_and(|it| !matches!(it, "promptRequired" | "failed"))
}

/// The parameters of `session/cancel`.
pub(crate) fn cancel(session: &str) -> Value {
    value(CancelNotification::new(session.to_owned()))
}

/// The answer to a permission that chooses an option of this kind. Ids, order and number of the options differ between
/// agents, so the first of the kind is chosen; a lasting kind that is not offered becomes the passing one.
pub(crate) fn chosen(asked: &Value, kind: &str) -> Value {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let wanted = match kind {
        "allow_always" => [AllowAlways, AllowOnce],
        "allow_once" => [AllowOnce, AllowOnce],
        _ => [RejectOnce, RejectAlways],
    };
    let asked: Option<RequestPermissionRequest> = serde_json::from_value(asked.clone()).ok();
    let options = asked.map(|it| it.options).unwrap_or_default();
    let of_kind = |kind: &PermissionOptionKind| options.iter().find(|it| it.kind == *kind);
    match wanted.iter().find_map(of_kind) {
        Some(option) => selected(option.option_id.to_string()),
        None => cancelled(),
    }
}

/// The answer to a permission that chooses the option with this id.
pub(crate) fn selected(id: String) -> Value {
    let outcome = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id));
    value(RequestPermissionResponse::new(outcome))
}

/// The answer to a permission whose turn is cancelled.
pub(crate) fn cancelled() -> Value {
    value(RequestPermissionResponse::new(
        RequestPermissionOutcome::Cancelled,
    ))
}

/// The answer to a permission by which Qwen Code asks questions: the answers are beside the outcome.
pub(crate) fn answered(asked: &Value, answers: &[String]) -> Value {
    let mut answer = chosen(asked, "allow_once");
    let given = answers.iter().enumerate();
    answer["answers"] = given.map(|(at, it)| (at.to_string(), json!(it))).collect();
    answer
}

fn value(params: impl Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(options: &[(&str, &str)]) -> Value {
        let option = |(id, kind): &(&str, &str)| json!({"optionId": id, "name": id, "kind": kind});
        let options: Vec<_> = options.iter().map(option).collect();
        json!({"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options})
    }

    #[test]
    fn an_option_is_chosen_by_its_kind() {
        let gemini = asked(&[
            ("always", "allow_always"),
            ("once", "allow_once"),
            ("no", "reject_once"),
        ]);
        let id = |kind: &str| chosen(&gemini, kind)["outcome"]["optionId"].clone();
        assert_eq!(id("allow_once"), "once");
        assert_eq!(id("allow_always"), "always");
        assert_eq!(id("reject_once"), "no");
        let few = asked(&[("go", "allow_once")]);
        assert_eq!(chosen(&few, "allow_always")["outcome"]["optionId"], "go");
        assert_eq!(chosen(&few, "reject_once"), cancelled());
        assert_eq!(cancelled(), json!({"outcome": {"outcome": "cancelled"}}));
    }

    #[test]
    fn answers_to_questions_are_beside_the_outcome() {
        let given = answered(&asked(&[("p", "allow_once")]), &["Red".into()]);
        assert_eq!(given["answers"], json!({"0": "Red"}));
        assert_eq!(given["outcome"]["optionId"], "p");
    }

    #[test]
    fn a_prompt_has_a_block_for_each_text() {
        let params = prompt("s", &["a", "", "b"]);
        let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        assert_eq!(params, json!({"sessionId": "s", "prompt": blocks}));
    }

    #[test]
    fn forms_are_declared_and_files_are_not() {
        let params = initialize();
        let can = &params["clientCapabilities"];
        assert_eq!(can["elicitation"]["form"], json!({}));
        assert_ne!(can["fs"]["writeTextFile"], true);
        assert_eq!(params["protocolVersion"], 1);
    }
}
