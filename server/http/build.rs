//! Makes the dashboard that the binary embeds, again when a file of it comes, goes or changes.

use std::path::Path;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=../../web");
    let out = std::env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?;
    let assets = hub_bundler::bundle(Path::new("../../web"))?;
    hub_bundler::write(&assets, Path::new(&out))
}
