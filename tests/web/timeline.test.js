import assert from "node:assert/strict";
import { test } from "node:test";

import * as timeline from "../../web/core/timeline.js";

/** @typedef {import('../../web/core/timeline.js').Segment} Segment */

const MINUTE = 60_000;
const START = Date.parse("2026-11-23T08:00:00.000Z");

/** @param {[number, Segment['phase']][]} parts the minute of each start, and the phase */
const segments = (...parts) =>
  parts.map(([minute, phase]) => ({ start: START + minute * MINUTE, phase }));
/** @param {number} from @param {number} to minutes */
const span = (from, to) => ({
  from: START + from * MINUTE,
  to: START + to * MINUTE,
});

test("only the phases that wait for the person count, and only within the span", () => {
  const lane = segments(
    [0, "working"],
    [10, "needs_you"],
    [15, "working"],
    [20, "your_turn"],
    [30, "done"],
    [40, "blocked"],
    [41, "gone"],
  );
  assert.equal(timeline.waitedMs(lane, span(0, 60)), 16 * MINUTE);
  assert.equal(timeline.waitedMs(lane, span(12, 25)), 8 * MINUTE);
  assert.equal(timeline.waitedMs(lane, span(50, 60)), 0);
  assert.equal(
    timeline.waitedMs(segments([0, "needs_you"]), span(5, 9)),
    4 * MINUTE,
    "the last segment lasts until the end",
  );
});

test("a lane has no bar before its first segment and after its end", () => {
  const lane = segments([10, "working"], [20, "gone"]);
  assert.deepEqual(timeline.laneBars(lane, span(0, 40), 40), [
    { phase: "working", x: 10, width: 10 },
  ]);
  assert.deepEqual(timeline.laneBars([], span(0, 40), 40), []);
  assert.deepEqual(timeline.laneBars(lane, span(25, 40), 40), []);
});

test("a short wait is not hidden by the work around it", () => {
  const lane = segments(
    [0, "working"],
    [20.01, "needs_you"],
    [20.02, "working"],
  );
  assert.deepEqual(
    timeline
      .laneBars(lane, span(0, 40), 40)
      .map(({ phase, width }) => [phase, width]),
    [
      ["working", 20],
      ["needs_you", 1],
      ["working", 19],
    ],
  );
});

test("a lane of any length and any number of segments has at most a bar for each unit", () => {
  /** @type {[number, Segment['phase']][]} */
  const many = Array.from({ length: 5000 }, (_, n) => [
    n / 100,
    n % 2 ? "working" : "done",
  ]);
  const bars = timeline.laneBars(segments(...many), span(0, 50), 100);
  assert.ok(bars.length <= 100, `${bars.length}`);
  assert.equal(
    bars.reduce((sum, { width }) => sum + width, 0),
    100,
  );
});

test("waiting is drawn high, work as a band and rest as a line", () => {
  const paths = timeline.lanePaths([
    { phase: "needs_you", x: 0, width: 2 },
    { phase: "done", x: 2, width: 3 },
    { phase: "needs_you", x: 5, width: 1 },
  ]);
  assert.equal(paths.get("needs_you"), "M0 0h2v14h-2zM5 0h1v14h-1z");
  assert.equal(paths.get("done"), "M2 6h3v2h-3z");
});

test("a lane is described in words, most urgent first", () => {
  const lane = segments(
    [0, "working"],
    [50, "needs_you"],
    [62, "working"],
    [65, "gone"],
  );
  assert.equal(
    timeline.describeLane(lane, span(0, 120)),
    "needs you 12 min, working 53 min",
  );
  assert.equal(timeline.describeLane([], span(0, 120)), "no data");
});

test("the sum of all agents is a sentence", () => {
  const lane = (/** @type {number} */ minutes) => ({
    project: "p",
    session: "s",
    name: "n",
    segments: segments([0, "needs_you"], [minutes, "working"]),
  });
  assert.equal(
    timeline.waitedToday([lane(30), lane(17)], span(0, 60)),
    "Agents waited 47 min for you today.",
  );
  assert.equal(
    timeline.waitedToday([lane(50), lane(75)], span(0, 80)),
    "Agents waited 2 h 5 min for you today.",
  );
  assert.equal(
    timeline.waitedToday([], span(0, 60)),
    "No agent waited for you today.",
  );
});

test("the axis has round times, and no more than fit", () => {
  const from = new Date(2026, 10, 23, 7, 50).getTime();
  const times = timeline.axisTimes({ from, to: from + 8 * 60 * MINUTE }, 8);
  assert.deepEqual(
    times.map((at) => new Date(at).getMinutes()),
    times.map(() => 0),
  );
  assert.deepEqual(
    times.map((at) => new Date(at).getHours()),
    [8, 9, 10, 11, 12, 13, 14, 15],
  );
  assert.ok(
    timeline.axisTimes({ from, to: from + 24 * 60 * MINUTE }, 4).length <= 4,
  );
});

test("lanes are grouped by project and sorted by name, whatever their phase", () => {
  const lane = (/** @type {string} */ project, /** @type {string} */ name) => ({
    project,
    session: name,
    name,
    segments: [],
  });
  const groups = timeline.lanesByProject([
    lane("/b", "w10"),
    lane("/a", "x"),
    lane("/b", "w9"),
  ]);
  assert.deepEqual(
    [...groups].map(([project, lanes]) => [
      project,
      lanes.map(({ name }) => name),
    ]),
    [
      ["/a", ["x"]],
      ["/b", ["w9", "w10"]],
    ],
  );
});
