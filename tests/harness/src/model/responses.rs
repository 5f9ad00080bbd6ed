//! The subset of `OpenAI`'s Responses API that Codex CLI needs.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::request::Message;
use super::serve::{Wire, sse};
use super::{Block, Reply, Request};

pub(super) const WIRE: Wire = Wire { messages, answer };

fn messages(body: &Value) -> Vec<Message> {
    let items = body["input"].as_array().into_iter().flatten();
    items.map(message).collect()
}

fn message(item: &Value) -> Message {
    let texts = match item["type"].as_str() {
        Some("message") => texts(&item["content"]),
        Some("function_call_output") => texts(&item["output"]),
        _ => Vec::new(),
    };
    let by_model = item["role"] == "assistant" || item["type"] == "function_call";
    Message { by_model, texts }
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts.iter().flat_map(|part| texts(&part["text"])).collect(),
        _ => Vec::new(),
    }
}

fn answer(request: &Request, reply: &Reply) -> Response {
    let blocks = match reply {
        Reply::Blocks(blocks) => blocks,
        Reply::Fails(status, kind) => {
            let status = StatusCode::from_u16(*status).expect("an HTTP status");
            let error = json!({"error": {"type": kind, "message": "scripted"}});
            return (status, axum::Json(error)).into_response();
        }
    };
    let items: Vec<Value> = blocks
        .iter()
        .enumerate()
        .map(|(index, block)| item(&format!("{}_{index}", request.number), block))
        .collect();
    let id = format!("resp_{}", request.number);
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    let mut events = vec![json!({"type": "response.created", "response": {"id": id}})];
    for (index, item) in items.iter().enumerate() {
        for kind in ["response.output_item.added", "response.output_item.done"] {
            events.push(json!({"type": kind, "output_index": index, "item": item}));
        }
    }
    let response = json!({"id": id, "output": items, "usage": usage});
    events.push(json!({"type": "response.completed", "response": response}));
    sse(&events)
}

fn item(id: &str, block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({
            "type": "message", "id": format!("msg_{id}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Block::Tool(name, input) => {
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
                "name": name, "arguments": input.to_string(), "status": "completed",
            });
            // A tool of an MCP server is written `NAMESPACE/NAME`.
            if let Some((namespace, name)) = name.split_once('/') {
                (call["namespace"], call["name"]) = (namespace.into(), name.into());
            }
            call
        }
    }
}
