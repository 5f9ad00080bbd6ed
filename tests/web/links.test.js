/** Links in texts. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { splitLinks } from "../../web/core/links.js";

const links = (
  /** @type {string} */ text,
  /** @type {import('../../web/core/links.js').Context} */ context = {},
) =>
  splitLinks(text, context)
    .filter(({ href }) => href)
    .map(({ text, href }) => [text, href]);

test("web addresses are links, without the punctuation around them", () => {
  assert.deepEqual(
    links(
      "See https://a.b/c?d=e#f, (https://a.b/x_(y)). http://localhost:3000!",
    ),
    [
      ["https://a.b/c?d=e#f", "https://a.b/c?d=e#f"],
      ["https://a.b/x_(y)", "https://a.b/x_(y)"],
      ["http://localhost:3000", "http://localhost:3000/"],
    ],
  );
});

test("an address that may mislead is no link", () => {
  for (const text of [
    "https://github.com@evil.example/",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "https://",
    "vscode://x",
  ])
    assert.deepEqual(
      links(text, { cwd: "/w", repository: "https://a.b/c" }),
      [],
      text,
    );
});

test("paths are links only where their directory is known", () => {
  const text =
    "in src/a.rs:12:3, ./b/c.js and ../up/d.py:4; /etc/x.conf. but/not, 1/2, and/or, src/dir/";
  assert.deepEqual(links(text), []);
  assert.deepEqual(links(text, { cwd: "/home/me/my repo" }), [
    ["src/a.rs:12:3", "vscode://file/home/me/my%20repo/src/a.rs:12"],
    ["./b/c.js", "vscode://file/home/me/my%20repo/b/c.js:1"],
    ["../up/d.py:4", "vscode://file/home/me/up/d.py:4"],
    ["/etc/x.conf", "vscode://file/etc/x.conf:1"],
  ]);
});

test("a path opens in the editor of the settings", () => {
  assert.deepEqual(
    links("see a/b.rs:7", { cwd: "/r", editor: "zed://file{path}:{line}" }),
    [["a/b.rs:7", "zed://file/r/a/b.rs:7"]],
  );
});

test("a number is a link only where the web address of the repository is known", () => {
  assert.deepEqual(links("fixed in #12"), []);
  assert.deepEqual(
    links("fixed in #12, a#3, &#60; #x", { repository: "https://a.b/c/d/" }),
    [["#12", "https://a.b/c/d/issues/12"]],
  );
});

test("the pieces together are the text", () => {
  const text = "a https://x.y/z. b/c.d:1 #5 \u202e e";
  assert.equal(
    splitLinks(text, { cwd: "/", repository: "https://x.y" })
      .map((it) => it.text)
      .join(""),
    text,
  );
});

test("a long text is split in a moment", () => {
  for (const part of [
    "a/",
    "/",
    "https://",
    "#1",
    "a.",
    "./",
    "(",
    "https://a)",
  ])
    splitLinks(part.repeat(20_000), { cwd: "/" });
});
