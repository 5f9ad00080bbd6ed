//! `POST /mcp`: the hub as an MCP server (Model Context Protocol, streamable HTTP without sessions).
//!
//! The crate rmcp speaks the protocol. A tool call runs the handler of the HTTP route that the same command of hubctl
//! calls, so it follows the same rules. Each result carries the notifications that are pending for the caller, and the
//! caller's next call acknowledges them.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::post;
use hub_engine::Hub;
use hub_protocol::{InboxName, ProjectName};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;

use hub_http::error::ApiError;
use hub_http::request::directory;
use hub_http::request::params::Params;
use hub_http::request::payload::Payload;
use hub_http::routes::notify::Poster;

mod arguments;
mod calls;
mod pending;
mod reply;
mod server;
mod tasks;
mod wait;

use server::McpServer;

/// Longest `client`, in bytes.
const MAX_CLIENT: usize = 64;

/// The route of the MCP server.
pub fn router(hub: &Hub) -> Router {
    Router::new().route("/mcp", post(mcp).with_state(McpState::new(hub)))
}

/// The state of the route.
#[derive(Clone)]
struct McpState(
    Hub,
    Arc<StreamableHttpService<McpServer, NeverSessionManager>>,
);

impl McpState {
    /// The MCP server of `hub`. The guard has checked Host and Origin before a request gets here.
    fn new(hub: &Hub) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .with_cancellation_token(hub.shutdown().clone());
        let server = McpServer::new(hub.clone());
        let service = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Self(hub.clone(), Arc::new(service))
    }
}

/// The query: who calls. MCP itself names only the client program.
#[derive(Debug, Default, Deserialize)]
struct McpParams {
    project: Option<ProjectName>,
    cwd: Option<String>,
    session: Option<InboxName>,
    from: Option<InboxName>,
    parent: Option<InboxName>,
    client: Option<String>,
}

/// The caller of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
struct McpCaller {
    project: ProjectName,
    session: Option<InboxName>,
    from: Option<InboxName>,
    parent: Option<InboxName>,
    /// Tells apart the runs of a client in one session. `hubctl mcp` gives one; other clients may.
    client: String,
}

impl McpCaller {
    async fn of(hub: &Hub, params: McpParams) -> Result<Self, ApiError> {
        let names = [params.session.as_ref(), params.from.as_ref()];
        if let Some(name) = names.into_iter().flatten().find(|it| it.is_reserved()) {
            let detail = format!("'{name}' is reserved: a client has a name of its own");
            return Err(ApiError::invalid(detail));
        }
        let client = params.client.unwrap_or_default();
        if client.len() > MAX_CLIENT || !client.bytes().all(|it| it.is_ascii_alphanumeric()) {
            let detail = format!("client has at most {MAX_CLIENT} letters and digits");
            return Err(ApiError::invalid(detail));
        }
        let project = match (params.project, params.cwd) {
            (Some(project), _) => project,
            (None, Some(cwd)) => directory::project(hub, cwd).await?,
            (None, None) => ProjectName::default(),
        };
        Ok(Self {
            project,
            session: params.session,
            from: params.from,
            parent: params.parent,
            client,
        })
    }

    /// The inbox that answers to the caller go to; `None` if it did not say who it is.
    fn inbox(&self) -> Option<&InboxName> {
        self.session.as_ref().or(self.from.as_ref())
    }
}

/// Fills in the headers that a message must have since 2026-07-28, from the message itself. `hubctl mcp` gets its
/// messages on stdin, where there are none.
fn fill(headers: &mut HeaderMap, message: &Value) {
    let params = &message["params"];
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    for (name, value) in [
        ("mcp-protocol-version", version),
        ("mcp-method", &message["method"]),
        ("mcp-name", &params["name"]),
        ("mcp-name", &params["taskId"]),
    ] {
        // A value that no header can hold is refused as a header that is missing.
        if let Some(Ok(value)) = value.as_str().map(HeaderValue::from_str) {
            headers.entry(name).or_insert(value);
        }
    }
}

/// Answers one message of an MCP client.
async fn mcp(
    State(McpState(hub, service)): State<McpState>,
    Params(params): Params<McpParams>,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = McpCaller::of(&hub, params).await?;
    let (mut parts, body) = request.into_parts();
    let mut request = Request::new(body);
    request.headers_mut().clone_from(&parts.headers);
    let payload = Payload::from_request(request, &()).await?;
    let message: Value = payload.json()?;
    if !caller.client.is_empty() {
        fill(&mut parts.headers, &message);
    }
    // Answers are JSON, as everywhere, whatever the client declares.
    let json = HeaderValue::from_static("application/json");
    parts.headers.insert(CONTENT_TYPE, json);
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(ACCEPT, both);
    // A tool is called by a model, so none of what proves a person goes on.
    let poster = Poster::relaying(&parts.extensions);
    parts.extensions = Extensions::new();
    parts.extensions.insert((caller, poster));
    let request = Request::from_parts(parts, Body::from(payload.0));
    let response = service.handle(request).await;
    // rmcp says so when JSON is no message.
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return Err(ApiError::invalid("the body is no JSON-RPC message of MCP"));
    }
    Ok(response.map(Body::new))
}
