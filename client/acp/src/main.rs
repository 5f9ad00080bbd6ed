//! The program `hub-acp`; see the library of this package.

fn main() -> std::process::ExitCode {
    hub_acp::main()
}
