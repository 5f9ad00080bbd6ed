//! A real hub under faults.

mod disk;
mod flipped;
mod full;
mod kill;
mod small_disk;
