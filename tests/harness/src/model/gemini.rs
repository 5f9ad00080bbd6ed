//! The subset of Google's `generateContent` that Gemini CLI needs.

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::request::Message;
use super::serve::Wire;
use super::{Block, Request};

pub(super) const WIRE: Wire = Wire { messages, answer };

fn messages(body: &Value) -> Vec<Message> {
    let contents = body["contents"].as_array().into_iter().flatten();
    contents
        .map(|content| Message {
            by_model: content["role"] == "model",
            texts: texts(content),
        })
        .collect()
}

fn texts(content: &Value) -> Vec<String> {
    let parts = content["parts"].as_array().into_iter().flatten();
    let text = |part: &Value| {
        let output = &part["functionResponse"]["response"]["output"];
        let text = part["text"].as_str().or(output.as_str());
        text.map(str::to_owned)
    };
    parts.filter_map(text).collect()
}

fn answer(request: &Request, block: &Block) -> Response {
    let part = match block {
        Block::Text(text) => json!({"text": text}),
        Block::Tool(name, input) => json!({"functionCall": {"name": name, "args": input}}),
    };
    let content = json!({"role": "model", "parts": [part]});
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15});
    let response = json!({
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
    });
    if request.model.ends_with(":streamGenerateContent") {
        let stream = format!("data: {response}\r\n\r\n");
        ([(CONTENT_TYPE, "text/event-stream")], stream).into_response()
    } else {
        Json(response).into_response()
    }
}
