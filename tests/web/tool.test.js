import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { showDirection, splitHidden } from "../../web/core/tool.js";

test("an invisible character is shown by its code point", () => {
  assert.deepEqual(splitHidden("rm \u202Eoof\u{E0041}"), [
    { text: "rm ", hidden: false },
    { text: "U+202E", hidden: true },
    { text: "oof", hidden: false },
    { text: "U+E0041", hidden: true },
  ]);
});

/** `protocol/src/text.rs` reads the same file. */
test("hidden are exactly the characters of the table", () => {
  const { ranges, texts } = JSON.parse(
    readFileSync(new URL("../fixtures/hidden.json", import.meta.url), "utf8"),
  );
  const listed = ranges.map((/** @type {string[]} */ range) =>
    range.map((code) => parseInt(code, 16)),
  );
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const expected = listed.some(
      (/** @type {number[]} */ [first, last]) => code >= first && code <= last,
    );
    assert.equal(
      splitHidden(String.fromCodePoint(code))[0]?.hidden,
      expected,
      code.toString(16),
    );
  }
  for (const { text, shown } of texts) {
    assert.equal(
      splitHidden(text)
        .map((it) => (it.hidden ? `[${it.text}]` : it.text))
        .join(""),
      shown,
    );
  }
});

test("marks that change the direction of a text are shown", () => {
  assert.equal(
    showDirection("a\u202eb\u2066c\u200f \u200d"),
    "a[U+202E]b[U+2066]c[U+200F] \u200d",
  );
});
