//! The subset of Anthropic's Messages API that Claude Code needs.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::request::Message;
use super::serve::{Wire, sse};
use super::{Block, Request};

pub(super) const WIRE: Wire = Wire { messages, answer };

fn messages(body: &Value) -> Vec<Message> {
    let message = |message: &Value| Message {
        by_model: message["role"] == "assistant",
        texts: texts(&message["content"]),
    };
    body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(message)
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

fn answer(request: &Request, block: &Block) -> Response {
    let number = request.number;
    let (content, stop_reason) = match block {
        Block::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Block::Tool(name, input) => {
            let id = format!("toolu_{number}");
            let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
            (call, "tool_use")
        }
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": request.model, "content": [content], "stop_reason": stop_reason,
        "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5},
    });
    if request.body["stream"] == true {
        stream(message)
    } else {
        Json(message).into_response()
    }
}

/// Returns a message as a stream of events.
fn stream(mut message: Value) -> Response {
    let mut block = message["content"][0].take();
    let end = json!({
        "type": "message_delta", "usage": {"output_tokens": 5},
        "delta": {"stop_reason": message["stop_reason"].take(), "stop_sequence": null},
    });
    message["content"] = json!([]);
    let delta = if block["type"] == "text" {
        json!({"type": "text_delta", "text": std::mem::replace(&mut block["text"], json!(""))})
    } else {
        let input = std::mem::replace(&mut block["input"], json!({}));
        json!({"type": "input_json_delta", "partial_json": input.to_string()})
    };
    sse(&[
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        end,
        json!({"type": "message_stop"}),
    ])
}
