//! The fold: by example, and against a naive model with crashes, expiry, collapse and clock jumps.

mod action;
mod any_record;
mod check;
mod driver;
mod model;
mod promises;
mod property;
mod stops;
