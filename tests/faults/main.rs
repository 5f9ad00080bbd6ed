//! A real hub under faults.

mod disk;
mod kill;
