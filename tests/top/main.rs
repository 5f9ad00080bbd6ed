//! The real `hub-top` in a real terminal, started by `hubctl top`, against a real hub.

mod answers;
mod life;
mod places;
mod stage;
