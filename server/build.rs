//! Embeds the dashboard again when a file of it comes, goes or changes.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A debug build reads the files when they are asked for.
    if std::env::var("PROFILE").as_deref() == Ok("release") {
        println!("cargo:rerun-if-changed=../web");
    }
}
