//! The SBOM that cargo-sbom makes, in a form that depends on nothing but the commit.

use anyhow::Context as _;
use serde_json::Value;

/// Sorts the lists of an SPDX document, which cargo-sbom writes in any order, and replaces its time and its random name by
/// those of the commit.
pub(crate) fn reproducible(document: &str, made: &str, commit: &str) -> anyhow::Result<String> {
    let mut document: Value = serde_json::from_str(document)?;
    let name = document["name"].as_str().context("it has no name")?;
    document["documentNamespace"] = format!("https://spdx.org/spdxdocs/{name}-{commit}").into();
    document["creationInfo"]["created"] = made.into();
    for list in ["files", "packages", "relationships"] {
        let list = document[list].as_array_mut().context("it has no list")?;
        list.sort_by_cached_key(Value::to_string);
    }
    Ok(format!("{document:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_documents_of_one_commit_are_the_same() {
        let document = |created, packages: [&str; 2]| {
            let lists = r#""files": [], "relationships": []"#;
            let text = format!(
                r#"{{"name": "hubd", "creationInfo": {{"created": "{created}"}}, "packages": {packages:?}, {lists}}}"#
            );
            reproducible(&text, "2026-01-01T00:00:00Z", "abc").unwrap()
        };
        assert_eq!(document("1", ["a", "b"]), document("2", ["b", "a"]));
    }
}
