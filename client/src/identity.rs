//! The project and the sender of a command, from its arguments, its environment and the hub's sessions. Uses the
//! hub's resources ([`crate::api`]), the connection and [`crate::system`].

mod context;
pub(crate) mod directory;
pub(crate) mod project;
pub(crate) mod sender;

pub(crate) use self::context::{Context, newest};
