//! What the fold promises: by example, and against a naive model that crashes, expires, collapses and jumps its clock.

mod action;
mod any_record;
mod check;
mod driver;
mod model;
mod promises;
mod property;
