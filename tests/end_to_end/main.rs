//! The real binaries, as people and agents use them.

mod ask;
mod dashboard;
mod doctor;
mod exit_codes;
mod fake;
mod history;
mod hook;
mod hooks;
mod listen;
mod notify;
mod place;
mod projects;
mod reset;
mod rewake;
mod run;
mod sandbox;
mod sessions;
mod spool;
mod stream;
mod support;
mod survival;
mod up_down;
mod wait;
mod wait_ends;
mod watch;
mod words;
