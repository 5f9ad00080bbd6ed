//! The program `hub-desktop`; see the library of this package.

fn main() -> std::process::ExitCode {
    hub_desktop::main()
}
