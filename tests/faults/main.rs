//! A real hub under faults.

mod kill;
