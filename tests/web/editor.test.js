import assert from "node:assert/strict";
import { test } from "node:test";

import { editorProblem, editorUrl } from "../../web/core/editor.js";

test("a path opens at its line in Visual Studio Code by default", () => {
  assert.equal(
    editorUrl(undefined, "/src/a.rs", 12),
    "vscode://file/src/a.rs:12",
  );
  assert.equal(
    editorUrl("zed://file{path}:{line}", "/src/a.rs"),
    "zed://file/src/a.rs:1",
  );
});

test("a path cannot change the link", () => {
  assert.equal(
    editorUrl(null, "/a b/#c?d=$&/{line}"),
    "vscode://file/a%20b/%23c%3Fd%3D%24%26/%7Bline%7D:1",
  );
  assert.equal(editorUrl(null, "relative/a.rs"), null);
});

test("only the schemes of editors are accepted", () => {
  for (const bad of [
    "javascript:alert({path})",
    "https://example.com/{path}",
    "data:text/html,{path}",
    " vscode://{path}",
    "VSCODE://{path}",
    "{path}",
    "",
  ]) {
    assert.notEqual(editorProblem(bad), "", bad);
    if (bad) assert.equal(editorUrl(bad, "/a"), null, bad);
  }
  assert.match(editorProblem("vscode://file/"), /\{path\}/);
});
