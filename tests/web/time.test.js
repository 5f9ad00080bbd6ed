import assert from "node:assert/strict";
import { test } from "node:test";

import { absolute, age, longDuration, relative } from "../../web/core/time.js";

test("an age has the largest unit of which there is at least one", () => {
  const cases = /** @type {[number, string][]} */ ([
    [0, "0 s"],
    [999, "0 s"],
    [12_345, "12 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [3_599_999, "59 min"],
    [3_600_000, "1 h"],
    [86_399_999, "23 h"],
    [86_400_000, "1 d"],
    [45 * 86_400_000, "45 d"],
  ]);
  for (const [ms, text] of cases) assert.equal(age(ms), text);
});

test("a time in the future, from a clock ahead of ours, has no negative age", () => {
  assert.equal(age(-5000), "0 s");
  assert.equal(
    relative("2026-11-22T05:10:10Z", Date.parse("2026-11-22T05:10:00Z"), "ago"),
    "0 s ago",
  );
});

test("the exact time is the reader's own, and says its zone", () => {
  assert.equal(
    absolute("2026-11-22T05:10:34.000Z", "Europe/Berlin"),
    "Sun, 22 Nov 2026, 06:10:34 CET",
  );
  assert.equal(
    absolute(Date.parse("2026-11-22T05:10:34Z"), "UTC"),
    "Sun, 22 Nov 2026, 05:10:34 UTC",
  );
});

test("a deadline shows the time left, then that it is due", () => {
  const now = Date.parse("2026-11-22T05:00:00Z");
  assert.equal(relative("2026-11-22T05:04:30Z", now, "left"), "4 min left");
  assert.equal(relative("2026-11-22T05:00:00Z", now, "left"), "due");
});

test("an invalid time has no text", () => {
  assert.equal(absolute("yesterday"), "");
  assert.equal(relative("", 0), "");
});

test("a ticking duration has at most two units", () => {
  const cases = /** @type {[number, string][]} */ ([
    [0, "0 s"],
    [-5, "0 s"],
    [48_400, "48 s"],
    [59_700, "1 min"],
    [80_000, "1 min 20 s"],
    [7_500_000, "2 h 5 min"],
    [7_200_000, "2 h"],
    [273_600_000, "3 d 4 h"],
  ]);
  for (const [ms, text] of cases) assert.equal(longDuration(ms), text);
});
