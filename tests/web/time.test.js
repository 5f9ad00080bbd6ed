import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import {
  absolute,
  age,
  clockTime,
  exactClockTime,
  longDuration,
  relative,
  shortDate,
} from "../../web/core/time.js";

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

test("a time of day has 24 hours, and is the reader's own", () => {
  const at = "2026-11-22T13:37:59.900Z";
  assert.equal(clockTime(at, "Europe/Berlin"), "14:37");
  assert.equal(exactClockTime(at, "Europe/Berlin"), "14:37:59");
  assert.equal(clockTime("2026-11-22T00:05:00Z", "UTC"), "00:05");
  assert.equal(shortDate(Date.parse(at), "UTC"), "22 Nov");
});

test("no other file of the page writes a time of day", () => {
  const web = fileURLToPath(new URL("../../web/", import.meta.url));
  const names = readdirSync(web, { recursive: true }).map(String);
  const others = names.filter(
    (name) =>
      name.endsWith(".js") &&
      // Quiet hours are in a zone of their own, and are not shown by this format.
      !["core/time.js", "core/quiet-hours.js"].includes(name) &&
      /toLocale|DateTimeFormat\([^)]/.test(readFileSync(web + name, "utf8")),
  );
  assert.deepEqual(others, []);
});

test("a deadline shows the time left, then that it is due", () => {
  const now = Date.parse("2026-11-22T05:00:00Z");
  assert.equal(relative("2026-11-22T05:04:30Z", now, "left"), "4 min left");
  assert.equal(relative("2026-11-22T05:00:00Z", now, "left"), "due");
});

test("an invalid time has no text", () => {
  assert.equal(absolute("yesterday"), "");
  assert.equal(clockTime("yesterday"), "");
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
