//! The real `hub-acp`, started by `hubctl acp`, between the real hub and an agent of the test that does what it is told.

mod attach;
mod dialogs;
mod life;
mod proxy;
mod scene;
mod turns;
