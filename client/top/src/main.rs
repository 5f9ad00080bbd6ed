//! `hub-top`, the hub in a terminal.

use std::process::ExitCode;

fn main() -> ExitCode {
    hub_top::main()
}
