import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../web/", import.meta.url));

/** The globals of a browser that perform I/O or hold state. */
const IMPURE =
  /(?<!\.)\b(document|window|location|history|navigator|fetch|setTimeout|setInterval)[.(]/;

/** The imports of each file, including those of JSDoc types: a type couples two files too. @type {Map<string, string[]>} */
const imports = new Map(
  readdirSync(WEB, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".js"))
    .map((name) => [name, importsOf(name)]),
);

/** @param {string} name */
function importsOf(name) {
  const found = readFileSync(WEB + name, "utf8").matchAll(
    /\b(?:from |import |import\()'(\.[^']+)'/g,
  );
  return [...found]
    .map(([, path]) => join(name, "..", path ?? ""))
    .filter((path) => !path.startsWith("../tests/"));
}

/** @param {string} name */
const folderOf = (name) => (name.includes("/") ? name.replace(/\/.*/, "") : "");

test("no file imports itself through other files", () => {
  const left = new Map(imports);
  for (let before = Infinity; left.size < before;) {
    before = left.size;
    // A file of a cycle imports another one and is imported by another one.
    for (const [name, targets] of left) {
      const imported = [...left.values()].some((others) =>
        others.includes(name),
      );
      if (!imported || !targets.some((target) => left.has(target)))
        left.delete(name);
    }
  }
  assert.deepEqual([...left.keys()], []);
});

test("the core uses no global of the browser", () => {
  for (const name of imports.keys()) {
    if (folderOf(name) !== "core") continue;
    const code = readFileSync(WEB + name, "utf8").replace(
      /\/\*[^]*?\*\/|\/\/.*/g,
      "",
    );
    assert.doesNotMatch(code, IMPURE, name);
  }
});
