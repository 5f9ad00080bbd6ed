/** The difference of two texts by lines. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { diffLines } from "../../web/core/diff.js";

const patch = (/** @type {string} */ before, /** @type {string} */ after) =>
  diffLines(before, after).map(({ sign, text }) => sign + text);

test("removed lines stand above the added lines of the same place", () => {
  assert.deepEqual(patch("a\nb\nc\nd\n", "a\nB\nC\nd\n"), [
    " a",
    "-b",
    "-c",
    "+B",
    "+C",
    " d",
  ]);
  assert.deepEqual(patch("a\nx\nb\ny\n", "A\nx\nB\ny\n"), [
    "-a",
    "+A",
    " x",
    "-b",
    "+B",
    " y",
  ]);
});

test("a new file has only added lines, an emptied one only removed lines", () => {
  assert.deepEqual(patch("", "a\n\nb\n"), ["+a", "+", "+b"]);
  assert.deepEqual(patch("a\n", ""), ["-a"]);
});

test("unchanged lines far from a change are counted", () => {
  const lines = Array.from({ length: 30 }, (_, n) => `${n}`);
  const after = lines.with(15, "new");
  assert.deepEqual(patch(lines.join("\n"), after.join("\n")), [
    "…12 unchanged lines",
    " 12",
    " 13",
    " 14",
    "-15",
    "+new",
    " 16",
    " 17",
    " 18",
    "…11 unchanged lines",
  ]);
});

test("applying the changed lines to the old text gives the new text", () => {
  let seed = 7;
  const random = (/** @type {number} */ n) =>
    (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 300; round += 1) {
    const text = () =>
      Array.from({ length: random(6) }, () => "abc"[random(3)]).join("\n");
    const [before, after] = [text(), text()];
    const lines = diffLines(before, after);
    const side = (/** @type {string} */ other) =>
      lines
        .filter(({ sign }) => sign !== other)
        .map((line) => line.text)
        .join("\n");
    if (lines.some(({ sign }) => sign === "…")) continue;
    assert.deepEqual(
      [side("+"), side("-")],
      [before, after].map((it) => it.replace(/\n$/, "")),
    );
  }
});

test("a comparison that is too large shows everything as replaced", () => {
  const before = Array.from({ length: 3000 }, (_, n) => `a${n}`).join("\n");
  const lines = diffLines(before, before.replaceAll("a", "b"));
  assert.equal(lines.length, 6000);
  assert.deepEqual(
    [lines[0].sign, lines[2999].sign, lines[3000].sign],
    ["-", "-", "+"],
  );
});
