/**
 * Generates tests/web/api.d.ts, the schemas of openapi.yaml as TypeScript types. The dashboard's types are derived from
 * it (web/core/types.js). With `--check`, writes nothing and fails if the file is stale.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { tool } from "../browser/support/tools.js";

const FILE = fileURLToPath(new URL("api.d.ts", import.meta.url));
const COMMAND = "node tests/web/types.js";

const { default: generate, astToString } = tool("openapi-typescript");
const nodes = await generate(new URL("../../openapi.yaml", import.meta.url));
const schemas = nodes
  .find((/** @type {any} */ node) => node.name?.text === "components")
  .members.find(
    (/** @type {any} */ member) => member.name?.text === "schemas",
  ).type;
const body = astToString(schemas, {
  formatOptions: { removeComments: true },
}).replaceAll('components["schemas"]', "Schemas");
const text = `// Generated from openapi.yaml by \`${COMMAND}\`; do not edit.

export interface Schemas ${body}`;

if (!process.argv.includes("--check")) {
  writeFileSync(FILE, text);
} else if (readFileSync(FILE, "utf8") !== text) {
  console.error(
    `tests/web/api.d.ts does not match openapi.yaml: run \`${COMMAND}\` and commit the result`,
  );
  process.exit(1);
}
