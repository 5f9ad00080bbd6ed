//! The transcript that Claude Code keeps of a session: a JSON object a line. Its format is not documented; this is what version
//! 2.1.330 writes.

use serde::Deserialize;

/// An entry of a turn. The first has its origin.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    prompt_id: &'a str,
    turn_origin: Option<&'a str>,
}

/// Whether another session sent the prompt with this id, by the end of a transcript; `None` if the turn is not there. It is
/// written a moment after the hook `UserPromptSubmit`.
pub fn is_of_peer(end: &str, prompt: &str) -> Option<bool> {
    let lines = end.lines().filter(|it| it.contains(prompt));
    let entries = lines.filter_map(|it| serde_json::from_str::<Entry>(it).ok());
    let mut turn = entries.filter(|it| it.prompt_id == prompt).peekable();
    turn.peek()?;
    Some(turn.any(|it| it.turn_origin == Some("peer")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_a_prompt_says_who_sent_it() {
        let transcript = r#"half of an entry","promptId":"p1","turnOrigin":"peer"}
{"type":"user","promptId":"p1","turnOrigin":"human","message":{"content":"say \"promptId\":\"p2\""}}
{"type":"user","promptId":"p2","turnOrigin":"peer","message":{"content":"rebase"}}
{"type":"user","promptId":"p2","message":{"content":[{"type":"tool_result"}]}}
{"type":"user","promptId":"p3","message":{"content":[{"type":"tool_result"}]}}
"#;
        assert_eq!(is_of_peer(transcript, "p1"), Some(false));
        assert_eq!(is_of_peer(transcript, "p2"), Some(true));
        assert_eq!(is_of_peer(transcript, "p3"), Some(false));
        assert_eq!(is_of_peer(transcript, "p4"), None);
    }
}
