/** The geometry of the charts: converts numbers to coordinates. */

import { isOpenQuestion } from './attention.js';
import { KINDS } from './types.js';

/** @import { Kind, Question, Stats } from './types.js' */

/** @typedef {{left: number, right: number, top: number, bottom: number}} Box the plot's edges, in px */
/** @typedef {{at: number, counts: Partial<Record<Kind, number>>, total: number}} Minute */

const MINUTE = 60_000;

/**
 * Whole numbers for an axis that begins at 0: at most `count` steps of 1, 2 or 5 times a power of ten; the last is at
 * least `max`.
 *
 * @param {number} max
 * @param {number} [count]
 * @returns {number[]}
 */
export function axisTicks(max, count = 4) {
  const rough = Math.max(1, max / count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough) ?? 10 * power;
  const steps = Math.max(1, Math.ceil(max / step));
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}

/**
 * Every minute of the time that the statistics cover, including minutes without notifications.
 *
 * @param {Pick<Stats, 'from'|'to'|'minutes'>} stats
 * @returns {Minute[]}
 */
export function everyMinute(stats) {
  const counted = new Map(stats.minutes.map(({ at, counts }) => [floor(Date.parse(at)), counts]));
  const end = Date.parse(stats.to);
  const result = [];
  for (let at = floor(Date.parse(stats.from)); at < end; at += MINUTE) {
    const counts = counted.get(at) ?? {};
    result.push({ at, counts, total: sum(Object.values(counts)) });
  }
  return result;
}

/**
 * The count of each type, in the order of {@link KINDS}, without types that did not occur.
 *
 * @param {Minute[]} minutes
 * @returns {{kind: Kind, count: number}[]}
 */
export function totals(minutes) {
  return KINDS.map((kind) => ({ kind, count: sum(minutes.map(({ counts }) => counts[kind] ?? 0)) })).filter(({ count }) => count);
}

/**
 * Stacked bars, one for each minute. The types that ask most of the person are at the bottom, where heights are easy to
 * compare.
 *
 * @param {Minute[]} minutes
 * @param {Box} box
 */
export function stackBars(minutes, box) {
  const steps = axisTicks(Math.max(...minutes.map(({ total }) => total), 4));
  const top = steps[steps.length - 1];
  /** @param {number} value */
  const y = (value) => box.bottom - (value / top) * (box.bottom - box.top);
  const slot = (box.right - box.left) / Math.max(1, minutes.length);
  const gap = slot >= 8 ? 2 : slot >= 3 ? 1 : 0;
  const bars = minutes.map((minute, index) => {
    const x = Math.round(box.left + index * slot);
    const width = Math.max(1, Math.round(box.left + (index + 1) * slot) - x - gap);
    return { ...minute, x, width, segments: segments(minute.counts, y) };
  });
  return { bars, slot, grid: steps.map((value) => ({ value, y: y(value) })) };
}

/**
 * @param {Partial<Record<Kind, number>>} counts
 * @param {(value: number) => number} y
 * @returns {{kind: Kind, count: number, y: number, height: number}[]}
 */
function segments(counts, y) {
  let below = 0;
  return KINDS.flatMap((kind) => {
    const count = counts[kind] ?? 0;
    if (!count) return [];
    const bottom = y(below);
    below += count;
    return [{ kind, count, y: y(below), height: bottom - y(below) }];
  });
}

/**
 * Times of day for the axis of {@link stackBars}: as close as the labels' width allows, on round minutes of the wall clock.
 *
 * @param {Minute[]} minutes
 * @param {Box} box
 * @param {(at: number) => number} minuteOfHour by the reader's clock
 * @param {number} [room] px for one label
 * @returns {{at: number, x: number}[]}
 */
export function timeLabels(minutes, box, minuteOfHour, room = 56) {
  const slot = (box.right - box.left) / Math.max(1, minutes.length);
  const step = [5, 10, 15, 20, 30].find((size) => size * slot >= room) ?? 60;
  return minutes
    .map(({ at }, index) => ({ at, x: Math.round(box.left + index * slot) }))
    .filter(({ at, x }) => minuteOfHour(at) % step === 0 && x + room / 2 <= box.right && x - room / 2 >= 0);
}

/** Round durations for ticks, in ms. */
const STEPS = [1, 10, 100, 1000, 10_000, MINUTE, 10 * MINUTE, 60 * MINUTE, 600 * MINUTE, 1440 * MINUTE, 14_400 * MINUTE];

/**
 * A logarithmic scale for durations, wide enough for all the values, with its ticks.
 *
 * @param {number[]} values ms
 * @param {number} from px
 * @param {number} to px
 * @returns {{at: (ms: number) => number, ticks: {ms: number, at: number}[]}}
 */
export function logScale(values, from, to) {
  const known = values.filter((value) => Number.isFinite(value)).map((value) => Math.max(1, value));
  const low = STEPS.findLast((step) => step <= Math.min(...known)) ?? STEPS[0];
  const high = STEPS.find((step) => step > low && step >= Math.max(...known)) ?? Math.max(STEPS[1], ...known);
  const span = Math.log(high / low);
  /** @param {number} ms */
  const at = (ms) => from + (Math.log(Math.max(low, ms) / low) / span) * (to - from);
  return { at, ticks: STEPS.filter((step) => step >= low && step <= high).map((ms) => ({ ms, at: at(ms) })) };
}

/**
 * Moves labels apart, keeping their order, so that none is nearer to the next than `room`, all between `top` and `bottom`.
 *
 * @param {number[]} wanted positions, ascending
 * @param {number} room
 * @param {number} top
 * @param {number} bottom
 * @returns {number[]}
 */
export function spreadLabels(wanted, room, top, bottom) {
  /** @type {number[]} */
  const placed = [];
  for (const at of wanted) placed.push(Math.max(at, top, (placed.at(-1) ?? -Infinity) + room));
  for (let index = placed.length - 1, limit = bottom; index >= 0; index -= 1, limit = placed[index + 1] - room) {
    placed[index] = Math.min(placed[index], limit);
  }
  return placed;
}

/**
 * Units of time: the duration below which the unit is used (ms), its length (ms), and its symbol.
 *
 * @type {[number, number, string][]}
 */
const UNITS = [
  [999.5, 1, 'ms'],
  [119_500, 1000, 's'],
  [120 * MINUTE, MINUTE, 'min'],
  [48 * 60 * MINUTE, 60 * MINUTE, 'h'],
  [Infinity, 1440 * MINUTE, 'd'],
];

/**
 * A duration in one unit, with two digits at least: `41 ms`, `1.2 s`, `95 s`, `5.2 min`, `32 min`, `3.5 h`.
 *
 * @param {number} ms
 */
export function shortDuration(ms) {
  const [, size, unit] = UNITS.find(([limit]) => ms < limit) ?? UNITS[UNITS.length - 1];
  const value = ms / size;
  return `${unit !== 'ms' && value < 9.95 ? value.toFixed(1).replace('.0', '') : Math.round(value)} ${unit}`;
}

/**
 * A tick of {@link logScale}: `100 ms`, `1 min`.
 *
 * @param {number} ms
 */
export function tickLabel(ms) {
  return ms < 1000 ? shortDuration(ms) : longDuration(ms);
}

/**
 * The labels of an axis that fit: its ends first, then those that fit in between.
 *
 * @template {{at: number}} T
 * @param {T[]} labels ascending
 * @param {number} room
 * @returns {T[]}
 */
export function fittingLabels(labels, room) {
  const [first, last] = [labels[0], labels[labels.length - 1]];
  /** @type {T[]} */
  const kept = [];
  for (const label of labels) {
    const clear = label.at - (kept.at(-1)?.at ?? -Infinity) >= room;
    if (label === first || label === last || (clear && last.at - label.at >= room)) kept.push(label);
  }
  return kept;
}

/**
 * A duration in whole seconds and at most two units, for texts that tick: `48 s`, `1 min 20 s`, `2 h 5 min`, `3 d 4 h`.
 *
 * @param {number} ms
 */
export function longDuration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minute = Math.floor(seconds / 60);
  if (minute < 60) return pair(minute, 'min', seconds % 60, 's');
  const hour = Math.floor(minute / 60);
  if (hour < 24) return pair(hour, 'h', minute % 60, 'min');
  return pair(Math.floor(hour / 24), 'd', hour % 24, 'h');
}

/**
 * @param {number} big
 * @param {string} unit
 * @param {number} small
 * @param {string} sub
 */
function pair(big, unit, small, sub) {
  return small ? `${big} ${unit} ${small} ${sub}` : `${big} ${unit}`;
}

/**
 * The question that has waited longest, of those that the page knows and the one that the statistics name. For the
 * latter, the page's own knowledge takes precedence.
 *
 * @param {Iterable<Question>} questions
 * @param {Stats['oldest_open']} named
 * @returns {{id: number, ts: string, question?: Question}|null}
 */
export function oldestOpen(questions, named) {
  /** @type {{id: number, ts: string, question?: Question}|null} */
  let oldest = named;
  const known = [...questions];
  if (known.some(({ id }) => id === named?.id)) oldest = null;
  for (const question of known) {
    if (!isOpenQuestion(question)) continue;
    if (!oldest || Date.parse(question.ts) < Date.parse(oldest.ts)) oldest = { id: question.id, ts: question.ts, question };
  }
  return oldest;
}

/**
 * The bars in a sentence, for screen readers.
 *
 * @param {Minute[]} minutes
 * @param {(at: number) => string} time
 */
export function describeRate(minutes, time) {
  const all = sum(minutes.map(({ total }) => total));
  const span = `in ${minutes.length} minutes`;
  if (all === 0) return `No notifications ${span}.`;
  const most = minutes.reduce((a, b) => (b.total > a.total ? b : a));
  const kinds = totals(minutes).map(({ kind, count }) => `${count} ${kind}`);
  return `${plural(all, 'notification')} ${span}: ${kinds.join(', ')}. The busiest minute was ${time(most.at)}, with ${most.total}.`;
}

/**
 * The chart of wakes in a sentence.
 *
 * @param {Stats['wakes']} wakes
 */
export function describeWakes({ count, median_ms, p90_ms }) {
  if (count === 0 || median_ms === null || p90_ms === null) return 'No wakes.';
  return `${plural(count, 'wake')}: half took up to ${shortDuration(median_ms)}, nine in ten up to ${shortDuration(p90_ms)}.`;
}

/**
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
  return `${count.toLocaleString('en-GB')} ${noun}${count === 1 ? '' : 's'}`;
}

/** @param {number[]} numbers */
function sum(numbers) {
  return numbers.reduce((all, one) => all + one, 0);
}

/** @param {number} at */
function floor(at) {
  return at - (at % MINUTE);
}
