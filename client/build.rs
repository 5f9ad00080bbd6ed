//! What a release of hubctl does not carry: code that is there twice, and the table that finds unwind information. It
//! starts on every hook of every agent, and nothing in it catches a panic.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // There rustc brings its own linker, LLD, which knows these; who chose another may not have them.
    let own_linker = is("TARGET", "x86_64-unknown-linux-gnu")
        && !env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    if is("PROFILE", "release") && own_linker {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
    }
}
