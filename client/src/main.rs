//! `hubctl`, the hub's command-line client.

use std::process::ExitCode;

fn main() -> ExitCode {
    hubctl::main()
}
