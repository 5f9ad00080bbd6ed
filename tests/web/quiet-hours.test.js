import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isQuiet,
  minuteOfDay,
  parseTimeOfDay,
} from "../../web/core/quiet-hours.js";

const NIGHT = { quiet: { from: "22:00", to: "07:00", zone: "Europe/Berlin" } };
const at = Date.parse;

test("hours over midnight are quiet on both sides of it only", () => {
  // Berlin is at UTC+1 in winter.
  const cases = /** @type {[string, boolean][]} */ ([
    ["2026-01-10T20:59:59Z", false],
    ["2026-01-10T21:00:00Z", true],
    ["2026-01-10T23:00:00Z", true],
    ["2026-01-11T05:59:59Z", true],
    ["2026-01-11T06:00:00Z", false],
    ["2026-01-11T12:00:00Z", false],
  ]);
  for (const [time, quiet] of cases)
    assert.equal(isQuiet(NIGHT, at(time)), quiet, time);
});

test("hours within a day are quiet from their first minute until before their last", () => {
  const lunch = {
    quiet: { from: "12:30", to: "13:00", zone: "Asia/Kathmandu" },
  };
  const cases = /** @type {[string, boolean][]} */ ([
    ["2026-01-10T06:44:59Z", false],
    ["2026-01-10T06:45:00Z", true],
    ["2026-01-10T07:14:59Z", true],
    ["2026-01-10T07:15:00Z", false],
  ]);
  for (const [time, quiet] of cases)
    assert.equal(isQuiet(lunch, at(time)), quiet, time);
});

test("quiet hours follow the wall clock when summer time begins and ends", () => {
  // On 29 March 2026 Berlin goes to UTC+2 at 01:00 UTC, on 25 October back to UTC+1.
  assert.equal(
    isQuiet(NIGHT, at("2026-03-29T05:00:00Z")),
    false,
    "07:00 in summer",
  );
  assert.equal(
    isQuiet(NIGHT, at("2026-03-29T04:59:00Z")),
    true,
    "06:59 in summer",
  );
  assert.equal(
    isQuiet(NIGHT, at("2026-03-28T05:00:00Z")),
    true,
    "06:00 in winter",
  );
  assert.equal(
    isQuiet(NIGHT, at("2026-10-25T05:00:00Z")),
    true,
    "06:00 in winter",
  );
  assert.equal(
    isQuiet(NIGHT, at("2026-10-24T05:00:00Z")),
    false,
    "07:00 in summer",
  );
});

test("an hour skipped by summer time silences nothing, a repeated one is quiet twice", () => {
  const gap = { quiet: { from: "02:00", to: "03:00", zone: "Europe/Berlin" } };
  for (
    let time = at("2026-03-28T23:30:00Z");
    time < at("2026-03-29T10:00:00Z");
    time += 600_000
  )
    assert.equal(isQuiet(gap, time), false);
  assert.equal(
    isQuiet(gap, at("2026-10-25T00:30:00Z")),
    true,
    "02:30 in summer",
  );
  assert.equal(
    isQuiet(gap, at("2026-10-25T01:30:00Z")),
    true,
    "02:30 in winter",
  );
  assert.equal(isQuiet(gap, at("2026-10-25T02:00:00Z")), false);
});

test("without quiet hours, with equal ends, or with invalid values, nothing is quiet", () => {
  const now = at("2026-01-10T23:00:00Z");
  assert.equal(isQuiet({ quiet: null }, now), false);
  for (const change of [
    { from: "07:00" },
    { zone: "Europe/Atlantis" },
    { from: "25:00" },
    { to: "soon" },
  ]) {
    assert.equal(
      isQuiet({ quiet: { ...NIGHT.quiet, ...change } }, now),
      false,
      JSON.stringify(change),
    );
  }
});

test("the time in a zone is in minutes since midnight", () => {
  assert.equal(minuteOfDay("Europe/Berlin", at("2026-01-09T23:00:00Z")), 0);
  assert.equal(minuteOfDay("Asia/Kolkata", at("2026-01-10T00:00:00Z")), 330);
  assert.equal(minuteOfDay("No/Where", 0), null);
  assert.deepEqual(
    ["00:00", "23:59", "24:00", "7:00", ""].map(parseTimeOfDay),
    [0, 1439, null, null, null],
  );
});
