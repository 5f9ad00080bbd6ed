//! `hub-desktop` on a real D-Bus, with a notification daemon of the test and the real hub.

mod clicks;
mod daemon;
mod desktop;
mod restarts;
mod rules;
mod shown;
mod unit;
