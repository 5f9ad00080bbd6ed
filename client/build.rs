//! Sets linker options that make a release of hubctl smaller: identical code is merged, the tables for unwinding are
//! omitted, and relocations are packed if the machine's glibc can read them. Size matters because every hook of every
//! agent starts hubctl. Unwinding is not needed, because hubctl catches no panic.

use std::env;
use std::process::Command;

/// The first glibc that reads packed relocations (`DT_RELR`), as major and minor version.
const PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // On this target rustc brings its own linker, LLD, which has these options. A linker that RUSTFLAGS selects may
    // not.
    let own_linker = is("TARGET", "x86_64-unknown-linux-gnu")
        && !env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    if is("PROFILE", "release") && own_linker {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/no_unwinding.ld");
        println!("cargo::rustc-link-arg-bins=-T{script}");
        if is("HOST", "x86_64-unknown-linux-gnu") && glibc().is_some_and(|it| it >= PACKED) {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// The version of this machine's glibc; `getconf` prints it as `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
