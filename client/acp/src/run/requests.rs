//! The requests of the agent to its client.

use std::path::Path;

use serde_json::{Value, json};

use super::Session;
use crate::dialog;
use crate::frame::{UNKNOWN_METHOD, failure, response};

/// The code of an error for a request that was cancelled.
pub(super) const CANCELLED: i64 = -32800;
/// The code of an error for a request that failed.
const FAILED: i64 = -32603;

impl Session {
    /// Answers a request, or opens a dialog that will.
    pub(super) fn answer(&mut self, id: &Value, method: &str, params: &Value) {
        let answer = match method {
            _ if dialog::opens(method, params) => return self.open(id, params),
            "elicitation/create" => response(id, &json!({ "action": "decline" })),
            // OpenCode and Kilo ask for it although no such ability was declared.
            "fs/write_text_file" => of(id, write(params)),
            "fs/read_text_file" => of(id, read(params)),
            _ => failure(id, UNKNOWN_METHOD, "hub-acp does not have this method"),
        };
        self.wire.agent.send(answer);
    }
}

fn of(id: &Value, result: std::io::Result<Value>) -> String {
    match result {
        Ok(result) => response(id, &result),
        Err(error) => failure(id, FAILED, &error.to_string()),
    }
}

fn path(params: &Value) -> std::io::Result<&Path> {
    let path = params["path"].as_str().map(Path::new);
    path.filter(|it| it.is_absolute())
        .ok_or_else(|| std::io::Error::other("`path` must be absolute"))
}

fn write(params: &Value) -> std::io::Result<Value> {
    std::fs::write(
        path(params)?,
        params["content"].as_str().unwrap_or_default(),
    )?;
    Ok(json!({}))
}

/// Reads a file, or `limit` lines of it from `line` on.
fn read(params: &Value) -> std::io::Result<Value> {
    let text = std::fs::read_to_string(path(params)?)?;
    let number = |name: &str| {
        params[name]
            .as_u64()
            .and_then(|it| usize::try_from(it).ok())
    };
    let first = number("line").unwrap_or(1).saturating_sub(1);
    let lines = text.split_inclusive('\n').skip(first);
    let part: String = lines.take(number("limit").unwrap_or(usize::MAX)).collect();
    Ok(json!({ "content": part }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_and_read_in_parts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        let file = file.to_str().unwrap();
        write(&json!({"path": file, "content": "a\nb\nc\n"})).unwrap();
        let part = read(&json!({"path": file, "line": 2, "limit": 1})).unwrap();
        assert_eq!(part["content"], "b\n");
        assert_eq!(
            read(&json!({ "path": file })).unwrap()["content"],
            "a\nb\nc\n"
        );
        assert!(write(&json!({"path": "f", "content": ""})).is_err());
    }
}
