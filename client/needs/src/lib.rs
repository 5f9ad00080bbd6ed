//! What an agent asks for, as the dashboard shows it (`web/core/attention.js` and `tool.js`), for the programs beside `hubctl`.

mod finder;
mod question;
mod request;

pub use finder::Finder;
pub use question::question_text;
pub use request::{Edit, FileChange, ToolRequest, tool_request};
