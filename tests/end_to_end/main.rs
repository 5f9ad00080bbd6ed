//! The real binaries, as people and agents use them.

mod exit_codes;
mod fake;
mod history;
mod hook;
mod hooks;
mod notify;
mod place;
mod projects;
mod rewake;
mod run;
mod sandbox;
mod spool;
mod stream;
mod support;
mod survival;
mod up_down;
mod wait;
mod watch;
