import assert from "node:assert/strict";
import { test } from "node:test";

import { progressOf } from "../../web/core/progress.js";

/** @param {any} data */
const parse = (data) => progressOf({ type: "progress", data });

test("completed of total is a bar with a text", () => {
  assert.deepEqual(parse({ completed: 3, total: 10 }), {
    value: 3,
    max: 10,
    text: "3 of 10",
  });
  assert.deepEqual(parse({ completed: 0, total: 4, more: "x" }), {
    value: 0,
    max: 4,
    text: "0 of 4",
  });
  assert.equal(parse({ completed: 1 / 3, total: 1 })?.text, "0.3 of 1");
});

test("more than the total fills the bar, and the text keeps the numbers", () => {
  assert.deepEqual(parse({ completed: 12, total: 10 }), {
    value: 10,
    max: 10,
    text: "12 of 10",
  });
});

test("data without a count has no bar", () => {
  for (const data of [
    undefined,
    null,
    "x",
    3,
    [],
    {},
    { completed: 3 },
    { completed: "3", total: "10" },
    { completed: -1, total: 10 },
    { completed: 1, total: 0 },
    { completed: NaN, total: 1 },
    { completed: 1, total: Infinity },
  ]) {
    assert.equal(parse(data), null, JSON.stringify(data));
  }
});

test("only progress of a working session counts", () => {
  assert.equal(
    progressOf({ type: "complete", data: { completed: 3, total: 10 } }),
    null,
  );
  assert.equal(progressOf(null), null);
});
