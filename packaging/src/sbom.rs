//! The SBOM of a program, in SPDX 2.3: the crates that `cargo tree` lists, with their checksums from `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde_json::{Value, json};

const LOCK: &str = include_str!("../../Cargo.lock");

/// Returns the SBOM `name`, made at the time `made` (RFC 3339) of `commit`, for the output of
/// `cargo tree --prefix depth --format '|{p}|{l}'`. The first crate is the program.
pub(crate) fn document(tree: &str, name: &str, commit: &str, made: &str) -> anyhow::Result<String> {
    let mut packages = BTreeMap::new();
    let mut relations = BTreeSet::new();
    let mut path = vec!["SPDXRef-DOCUMENT".to_owned()];
    for line in tree.lines() {
        let (depth, package) =
            package(line).with_context(|| format!("not of cargo tree: {line}"))?;
        let id = package["SPDXID"].as_str().unwrap_or_default().to_owned();
        path.truncate(depth + 1);
        let parent = path.last().context("the tree has no root")?.clone();
        relations.insert((parent, id.clone()));
        packages.insert(id.clone(), package);
        path.push(id);
    }
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": format!("https://spdx.org/spdxdocs/{name}-{commit}"),
        "creationInfo": { "created": made, "creators": ["Tool: hub-packaging"] },
        "packages": packages.into_values().collect::<Vec<_>>(),
        "relationships": relations.into_iter().map(relation).collect::<Vec<_>>(),
    });
    Ok(format!("{document:#}\n"))
}

/// The depth and the package of a line such as `1|anyhow v1.0.0|MIT OR Apache-2.0`. `(*)` at its end says that the crates it
/// depends on are listed above.
fn package(line: &str) -> Option<(usize, Value)> {
    let mut parts = line.trim_end_matches(" (*)").split('|');
    let depth = parts.next()?.parse().ok()?;
    let (name, rest) = parts.next()?.split_once(" v")?;
    let version = rest.split(' ').next()?;
    // Before SPDX, crates separated licences by a slash.
    let license = parts.next()?.replace('/', " OR ");
    let mut package = json!({
        "SPDXID": format!("SPDXRef-{name}-{version}").replace(['_', '+'], "-"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": if license.is_empty() { "NOASSERTION" } else { &license },
        "copyrightText": "NOASSERTION",
    });
    // Only crates of the registry have a checksum.
    if let Some(checksum) = checksum(name, version) {
        package["downloadLocation"] =
            format!("https://crates.io/api/v1/crates/{name}/{version}/download").into();
        package["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": checksum }]);
        package["externalRefs"] = json!([{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{version}"),
        }]);
    }
    Some((depth, package))
}

/// The checksum of a crate in `Cargo.lock`.
fn checksum(name: &str, version: &str) -> Option<&'static str> {
    let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let mut entries = LOCK.split("[[package]]\n");
    let entry = entries.find(|it| it.starts_with(&entry))?;
    let mut lines = entry.lines();
    lines.find_map(|it| it.strip_prefix("checksum = \"")?.strip_suffix('"'))
}

fn relation((from, to): (String, String)) -> Value {
    let kind = match from.as_str() {
        "SPDXRef-DOCUMENT" => "DESCRIBES",
        _ => "DEPENDS_ON",
    };
    json!({ "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "0|hubctl v0.1.0 (/clone/client)|MIT OR Apache-2.0\n\
        1|serde_json v1.0.0|MIT/Apache-2.0\n\
        2|serde_core v1.0.0+1|\n\
        1|derive v2.0.0 (proc-macro)|MIT (*)\n";

    fn made() -> Value {
        let text = document(TREE, "hubctl-0.1.0-any", "abc", "2026-01-01T00:00:00Z").unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn each_crate_is_a_package_with_its_version_and_licence() {
        let packages = made()["packages"].as_array().unwrap().clone();
        let rows = packages.iter().map(|it| {
            ["SPDXID", "name", "versionInfo", "licenseDeclared"].map(|key| it[key].clone())
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(
            json!(rows),
            json!([
                ["SPDXRef-derive-2.0.0", "derive", "2.0.0", "MIT"],
                [
                    "SPDXRef-hubctl-0.1.0",
                    "hubctl",
                    "0.1.0",
                    "MIT OR Apache-2.0"
                ],
                [
                    "SPDXRef-serde-core-1.0.0-1",
                    "serde_core",
                    "1.0.0+1",
                    "NOASSERTION"
                ],
                [
                    "SPDXRef-serde-json-1.0.0",
                    "serde_json",
                    "1.0.0",
                    "MIT OR Apache-2.0"
                ],
            ])
        );
    }

    #[test]
    fn the_program_depends_on_its_crates_and_they_on_theirs() {
        let relations = made()["relationships"].as_array().unwrap().clone();
        let pairs = relations.iter().map(|it| {
            ["spdxElementId", "relationshipType", "relatedSpdxElement"]
                .map(|key| it[key].as_str().unwrap().replace("SPDXRef-", ""))
                .join(" ")
        });
        assert_eq!(
            pairs.collect::<Vec<_>>(),
            [
                "DOCUMENT DESCRIBES hubctl-0.1.0",
                "hubctl-0.1.0 DEPENDS_ON derive-2.0.0",
                "hubctl-0.1.0 DEPENDS_ON serde-json-1.0.0",
                "serde-json-1.0.0 DEPENDS_ON serde-core-1.0.0-1",
            ]
        );
    }

    #[test]
    fn a_crate_of_the_registry_has_its_checksum_and_a_crate_of_the_workspace_has_none() {
        let version = LOCK
            .split("name = \"anyhow\"\nversion = \"")
            .nth(1)
            .unwrap();
        let version = version.split('"').next().unwrap();
        let (_, anyhow) = package(&format!("1|anyhow v{version}|MIT")).unwrap();
        let value = anyhow["checksums"][0]["checksumValue"].as_str().unwrap();
        assert!(LOCK.contains(&format!("checksum = \"{value}\"")) && value.len() == 64);
        let (_, own) = package("0|hubctl v0.1.0 (/clone)|MIT").unwrap();
        assert!(own.get("checksums").is_none() && own["downloadLocation"] == "NOASSERTION");
    }
}
