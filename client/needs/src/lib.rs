//! Who needs the person, and what for: the rules of the dashboard (`web/core/attention.js`, `alerts.js` and `tool.js`) for
//! the programs beside `hubctl`.

mod finder;
mod need;
mod question;
mod request;

pub use finder::Finder;
pub use need::{Halt, Need, needs};
pub use question::question_text;
pub use request::{Edit, FileChange, ToolRequest, tool_request};
