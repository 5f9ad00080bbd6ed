//! Converts openapi.yaml to JSON, once.

use std::path::Path;

fn main() {
    let yaml = "../../openapi.yaml";
    println!("cargo::rerun-if-changed={yaml}");
    let text = std::fs::read_to_string(yaml).expect("openapi.yaml");
    let document: serde_json::Value = serde_saphyr::from_str(&text).expect("openapi.yaml is YAML");
    let directory = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let json = Path::new(&directory).join("openapi.json");
    std::fs::write(json, document.to_string()).expect("the directory can be written");
}
