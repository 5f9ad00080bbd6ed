//! The subset of `OpenAI`'s Responses API that Codex CLI needs.

use axum::response::Response;
use serde_json::{Value, json};

use super::request::Message;
use super::serve::{Wire, sse};
use super::{Block, Request};

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

fn answer(request: &Request, block: &Block) -> Response {
    let item = item(request.number, block);
    let id = format!("resp_{}", request.number);
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    let response = json!({"id": id, "output": [item], "usage": usage});
    sse(&[
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ])
}

fn item(id: usize, block: &Block) -> Value {
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
