import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as chart from '../../web/core/chart.js';

/** @typedef {import('../../web/core/types.js').Question} Question */

const BOX = { left: 30, right: 450, top: 10, bottom: 150 };
const HOUR = { from: '2026-01-10T11:00:00Z', to: '2026-01-10T12:00:00Z' };
/** @param {number} at */
const utc = (at) => new Date(at).toISOString().slice(11, 16);

/** @param {any[]} minutes */
function hour(...minutes) {
  return chart.everyMinute({ ...HOUR, minutes });
}

test('an axis has few round steps, and the last one covers the highest value', () => {
  const cases = /** @type {[number, number[]][]} */ ([
    [1, [0, 1]], [4, [0, 1, 2, 3, 4]], [5, [0, 2, 4, 6]], [37, [0, 10, 20, 30, 40]], [60, [0, 20, 40, 60]], [1234, [0, 500, 1000, 1500]],
  ]);
  for (const [max, steps] of cases) assert.deepEqual(chart.axisTicks(max), steps);
});

test('an hour has sixty minutes, with or without notifications', () => {
  const minutes = hour({ at: '2026-01-10T11:30:00Z', counts: { error: 2, progress: 3 } });
  assert.equal(minutes.length, 60);
  assert.equal(minutes[30].total, 5);
  assert.equal(minutes[29].total, 0);
});

test('an hour that begins within a minute shows that minute as well', () => {
  const minutes = chart.everyMinute({ from: '2026-01-10T11:00:30Z', to: '2026-01-10T11:02:30Z', minutes: [{ at: '2026-01-10T11:00:00Z', counts: { error: 1 } }] });
  assert.deepEqual(minutes.map(({ total }) => total), [1, 0, 0]);
});

test('bars stand side by side within the plot, the same at any width', () => {
  for (const right of [330, 450, 1200]) {
    const { bars } = chart.stackBars(hour(), { ...BOX, right });
    for (const [index, { x, width }] of bars.entries()) {
      assert.ok(width >= 1 && x >= BOX.left && x + width <= right, `bar ${index} of ${right}`);
      if (index > 0) assert.ok(bars[index - 1].x + bars[index - 1].width <= x, `bar ${index} of ${right}`);
    }
  }
});

test('the parts of a bar are stacked by how much they need the person, as high as their counts', () => {
  const { bars, grid } = chart.stackBars(hour({ at: '2026-01-10T11:00:00Z', counts: { progress: 6, question: 2 } }), BOX);
  const [question, progress] = bars[0].segments;
  assert.deepEqual([question.kind, progress.kind], ['question', 'progress']);
  assert.equal(question.y + question.height, BOX.bottom);
  assert.equal(progress.y + progress.height, question.y);
  assert.equal(progress.height / question.height, 3);
  assert.deepEqual(grid.map(({ value }) => value), [0, 2, 4, 6, 8]);
  assert.equal(grid[4].y, BOX.top);
});

test('an empty hour has an axis', () => {
  assert.deepEqual(chart.stackBars(hour(), BOX).grid.map(({ value }) => value), [0, 1, 2, 3, 4]);
});

test('times stand on round minutes of the reader\'s clock, with room between', () => {
  /** @param {number} at */
  const kathmandu = (at) => new Date(at + 45 * 60_000).getUTCMinutes();
  const labels = chart.timeLabels(hour(), BOX, kathmandu);
  assert.deepEqual(labels.map(({ at }) => utc(at + 5.75 * 3_600_000)), ['16:50', '17:00', '17:10', '17:20', '17:30', '17:40']);
  const narrow = chart.timeLabels(hour(), { ...BOX, right: 200 }, (at) => new Date(at).getUTCMinutes());
  for (const [index, { x }] of narrow.entries()) if (index > 0) assert.ok(x - narrow[index - 1].x >= 56);
});

test('a scale of durations covers every value, and gives equal space to equal ratios', () => {
  const { at, ticks } = chart.logScale([3, 40, 2500], 0, 400);
  assert.deepEqual(ticks.map(({ ms }) => ms), [1, 10, 100, 1000, 10_000]);
  assert.deepEqual([at(1), at(10_000)], [0, 400]);
  assert.ok(Math.abs(at(100) - 200) < 1e-9);
  assert.equal(at(0), 0);
});

test('a scale of one value, of none and of a year can be drawn', () => {
  for (const values of [[1], [10], [], [365 * 86_400_000]]) {
    const { at, ticks } = chart.logScale(values, 0, 100);
    for (const value of [...values, ...ticks.map(({ ms }) => ms)]) assert.ok(at(value) >= 0 && at(value) <= 100, String(values));
  }
});

test('labels that would touch are moved apart and stay inside', () => {
  assert.deepEqual(chart.spreadLabels([10, 12], 14, 0, 100), [10, 24]);
  assert.deepEqual(chart.spreadLabels([96, 98], 14, 0, 100), [86, 100]);
  assert.deepEqual(chart.spreadLabels([10, 60], 14, 0, 100), [10, 60]);
});

test('a duration has one unit and at least two digits', () => {
  const cases = /** @type {[number, string][]} */ ([
    [0, '0 ms'], [41.4, '41 ms'], [999, '999 ms'], [999.7, '1 s'], [1240, '1.2 s'], [9960, '10 s'], [95_000, '95 s'], [310_000, '5.2 min'],
    [1_900_000, '32 min'], [7_500_000, '2.1 h'], [273_600_000, '3.2 d'],
  ]);
  for (const [ms, text] of cases) assert.equal(chart.shortDuration(ms), text);
});

test('a ticking duration has whole seconds and at most two units', () => {
  const cases = /** @type {[number, string][]} */ ([
    [-5, '0 s'], [400, '0 s'], [48_000, '48 s'], [60_000, '1 min'], [80_000, '1 min 20 s'], [7_500_000, '2 h 5 min'], [273_600_000, '3 d 4 h'],
  ]);
  for (const [ms, text] of cases) assert.equal(chart.longDuration(ms), text);
});

test('the ticks of durations are whole numbers of one unit', () => {
  const { ticks } = chart.logScale([1, 14_400 * 60_000], 0, 1);
  assert.deepEqual(ticks.map(({ ms }) => chart.tickLabel(ms)), ['1 ms', '10 ms', '100 ms', '1 s', '10 s', '1 min', '10 min', '1 h', '10 h', '1 d', '10 d']);
});

test('an axis that is too short for its labels keeps its ends', () => {
  /** @param {number[]} places @param {number} room */
  const kept = (places, room) => chart.fittingLabels(places.map((at) => ({ at })), room).map(({ at }) => at);
  assert.deepEqual(kept([0, 30, 60, 90, 120], 42), [0, 60, 120]);
  assert.deepEqual(kept([0, 30], 42), [0, 30]);
  assert.deepEqual(kept([5], 42), [5]);
  assert.deepEqual(kept([], 42), []);
});

test('the longest wait comes from the page where it is newer than the statistics', () => {
  /** @param {number} id @param {string} state @param {string} ts */
  const question = (id, state, ts) => /** @type {Question} */ (/** @type {unknown} */ ({ id, state, ts }));
  const named = { id: 1, ts: '2026-01-10T10:00:00Z' };
  const later = question(2, 'open', '2026-01-10T11:00:00Z');
  assert.equal(chart.oldestOpen([], null), null);
  assert.equal(chart.oldestOpen([later], named)?.id, 1, 'the page does not have it');
  assert.equal(chart.oldestOpen([question(1, 'answered', named.ts), later], named)?.id, 2, 'it was settled since');
  assert.equal(chart.oldestOpen([question(1, 'answered', named.ts)], named), null);
  assert.equal(chart.oldestOpen([question(3, 'claimed', '2026-01-10T09:00:00Z'), later], named)?.id, 3);
});

test('each chart has a sentence', () => {
  const minutes = hour({ at: '2026-01-10T11:30:00Z', counts: { progress: 3, error: 1 } }, { at: '2026-01-10T11:31:00Z', counts: { error: 1 } });
  assert.equal(chart.describeRate(minutes, utc), '5 notifications in 60 minutes: 2 error, 3 progress. The busiest minute was 11:30, with 4.');
  assert.equal(chart.describeRate(hour(), utc), 'No notifications in 60 minutes.');
  assert.equal(chart.describeWakes({ count: 1, median_ms: 41, p90_ms: 120, recent: [] }), '1 wake: half took up to 41 ms, nine in ten up to 120 ms.');
  assert.equal(chart.describeWakes({ count: 0, median_ms: null, p90_ms: null, recent: [] }), 'No wakes.');
});
