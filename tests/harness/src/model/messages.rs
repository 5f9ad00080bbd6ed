//! The subset of Anthropic's Messages API that Claude Code needs.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::request::Message;
use super::serve::{Wire, sse};
use super::{Block, Reply, Request};

pub(super) const WIRE: Wire = Wire { messages, answer };

fn messages(body: &Value) -> Vec<Message> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages
        .map(|message| Message {
            by_model: message["role"] == "assistant",
            texts: texts(&message["content"]),
        })
        .collect()
}

/// Returns texts and the results of tools; both may be a string or a list of blocks.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().flat_map(block_texts).collect(),
        _ => Vec::new(),
    }
}

fn block_texts(block: &Value) -> Vec<String> {
    match block["type"].as_str() {
        Some("text") => texts(&block["text"]),
        Some("tool_result") => texts(&block["content"]),
        _ => Vec::new(),
    }
}

fn answer(request: &Request, reply: &Reply) -> Response {
    let blocks = match reply {
        Reply::Blocks(blocks) => content(request, blocks),
        Reply::Fails(status, kind) => return failure(*status, kind),
    };
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop_reason = if calls { "tool_use" } else { "end_turn" };
    let message = json!({
        "id": format!("msg_{}", request.number), "type": "message", "role": "assistant",
        "model": request.model, "content": blocks, "stop_reason": stop_reason,
        "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5},
    });
    if request.body["stream"] == true {
        stream(message)
    } else {
        Json(message).into_response()
    }
}

fn content(request: &Request, blocks: &[Block]) -> Vec<Value> {
    let numbered = blocks.iter().enumerate();
    numbered
        .map(|(index, block)| match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Tool(name, input) => {
                let id = format!("toolu_{}_{index}", request.number);
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        })
        .collect()
}

fn failure(status: u16, kind: &str) -> Response {
    let status = StatusCode::from_u16(status).expect("an HTTP status");
    let error = json!({"type": kind, "message": "scripted"});
    (status, Json(json!({"type": "error", "error": error}))).into_response()
}

/// Returns a message as a stream of events.
fn stream(mut message: Value) -> Response {
    let blocks = message["content"].take();
    let end = json!({
        "type": "message_delta", "usage": {"output_tokens": 5},
        "delta": {"stop_reason": message["stop_reason"].take(), "stop_sequence": null},
    });
    message["content"] = json!([]);
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in blocks.as_array().into_iter().flatten().enumerate() {
        events.extend(pieces(index, block));
    }
    events.extend([end, json!({"type": "message_stop"})]);
    sse(&events)
}

fn pieces(index: usize, block: &Value) -> [Value; 3] {
    let mut empty = block.clone();
    let delta = if block["type"] == "text" {
        empty["text"] = json!("");
        json!({"type": "text_delta", "text": block["text"]})
    } else {
        empty["input"] = json!({});
        json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
    };
    [
        json!({"type": "content_block_start", "index": index, "content_block": empty}),
        json!({"type": "content_block_delta", "index": index, "delta": delta}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}
