/** The lanes of the timeline: the phases of each session over time, as coordinates and as sentences. */

import { groupBy } from "./group.js";
import { longDuration } from "./time.js";

/** @import { Schemas } from './types.js' */

/**
 * @typedef {Schemas['PhaseName']} PhaseName
 * @typedef {{start: number, phase: PhaseName}} Segment It lasts until the next one starts, in ms.
 * @typedef {{project: string, session: string, name: string, segments: Segment[]}} Lane
 * @typedef {{phase: PhaseName, x: number, width: number}} Bar
 * @typedef {{from: number, to: number}} Span ms
 */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The distances between two labels of the axis. */
const STEPS = [
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
];

/** The phases, most urgent first. Where two share a pixel, the first is drawn. */
export const PHASES = /** @type {const} */ ([
  { name: "needs_you", label: "needs you", waits: true },
  { name: "blocked", label: "blocked", waits: true },
  { name: "your_turn", label: "your turn", waits: true },
  { name: "working", label: "working", waits: false },
  { name: "done", label: "done", waits: false },
  { name: "gone", label: "gone", waits: false },
]);

/** @type {Map<string, number>} */
const RANK = new Map(PHASES.map(({ name }, rank) => [name, rank]));

/** @param {PhaseName} phase */
export function phaseLabel(phase) {
  return PHASES[RANK.get(phase) ?? 0].label;
}

/** @param {PhaseName} phase */
function waits(phase) {
  return PHASES[RANK.get(phase) ?? 0].waits;
}

/**
 * A lane with its times in ms. It is parsed once, because a long lane is drawn often.
 *
 * @param {Schemas['Lane']} lane
 * @returns {Lane}
 */
export function parseLane({ project, session, name, segments }) {
  return {
    project,
    session,
    name,
    segments: segments.map(({ at, phase }) => ({
      start: Date.parse(at),
      phase,
    })),
  };
}

/**
 * The segments with their start and end in ms, cut to a span. The last one lasts until the span's end.
 *
 * @param {Segment[]} segments
 * @param {Span} span
 */
function cut(segments, { from, to }) {
  const parts = segments.map(({ start, phase }, index) => ({
    phase,
    start: Math.max(from, start),
    end: Math.min(
      to,
      index + 1 < segments.length ? segments[index + 1].start : to,
    ),
  }));
  return parts.filter(({ start, end }) => end > start);
}

/**
 * How long a session waited for the person within a span.
 *
 * @param {Segment[]} segments
 * @param {Span} span
 * @returns {number} ms
 */
export function waitedMs(segments, span) {
  return cut(segments, span).reduce(
    (sum, { phase, start, end }) => sum + (waits(phase) ? end - start : 0),
    0,
  );
}

/**
 * The segments as bars on a line of `width` units. A short segment gets one unit, and the most urgent phase wins it. The
 * time before the first segment and after the end of the session has no bar.
 *
 * @param {Segment[]} segments
 * @param {Span} span
 * @param {number} width
 * @returns {Bar[]}
 */
export function laneBars(segments, span, width) {
  const none = PHASES.length;
  const ranks = new Uint8Array(width).fill(none);
  const scale = width / (span.to - span.from);
  for (const { phase, start, end } of cut(segments, span)) {
    const rank = RANK.get(phase) ?? none;
    const first = Math.min(width - 1, Math.floor((start - span.from) * scale));
    const last = Math.max(first + 1, Math.round((end - span.from) * scale));
    for (let x = first; x < last; x += 1) ranks[x] = Math.min(ranks[x], rank);
  }
  /** @type {Bar[]} */
  const bars = [];
  for (let x = 0, from = 0; x < width; x += 1) {
    if (ranks[x + 1] === ranks[x]) continue;
    const phase = PHASES[ranks[x]];
    if (phase && phase.name !== "gone")
      bars.push({ phase: phase.name, x: from, width: x + 1 - from });
    from = x + 1;
  }
  return bars;
}

/** The height of a lane, and of the bar of each phase. Waiting is a block, work a band, and rest a line. */
export const LANE_HEIGHT = 14;
const BAR_HEIGHT = {
  needs_you: 14,
  blocked: 14,
  your_turn: 14,
  working: 6,
  done: 2,
  gone: 0,
};

/**
 * The bars of each phase as the data of an SVG path.
 *
 * @param {Bar[]} bars
 * @returns {Map<PhaseName, string>}
 */
export function lanePaths(bars) {
  /** @type {Map<PhaseName, string>} */
  const paths = new Map();
  for (const { phase, x, width } of bars) {
    const height = BAR_HEIGHT[phase];
    const path = `M${x} ${(LANE_HEIGHT - height) / 2}h${width}v${height}h${-width}z`;
    paths.set(phase, (paths.get(phase) ?? "") + path);
  }
  return paths;
}

/**
 * A lane in words: how long the session was in each phase, most urgent first.
 *
 * @param {Segment[]} segments
 * @param {Span} span
 */
export function describeLane(segments, span) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { phase, start, end } of cut(segments, span))
    sums.set(phase, (sums.get(phase) ?? 0) + end - start);
  const parts = PHASES.filter(({ name }) => name !== "gone" && sums.has(name));
  return (
    parts
      .map(
        ({ name, label }) => `${label} ${roundDuration(sums.get(name) ?? 0)}`,
      )
      .join(", ") || "no data"
  );
}

/**
 * A duration in whole minutes; under a minute in seconds.
 *
 * @param {number} ms
 */
export function roundDuration(ms) {
  return longDuration(ms < MINUTE ? ms : Math.round(ms / MINUTE) * MINUTE);
}

/**
 * The time that all agents waited for the person since midnight, in a sentence.
 *
 * @param {Lane[]} lanes
 * @param {Span} today
 */
export function waitedToday(lanes, today) {
  const sum = lanes.reduce(
    (all, { segments }) => all + waitedMs(segments, today),
    0,
  );
  return sum < 1000
    ? "No agent waited for you today."
    : `Agents waited ${roundDuration(sum)} for you today.`;
}

/**
 * The last midnight by the reader's clock.
 *
 * @param {number} now ms
 */
export function midnight(now) {
  return new Date(now).setHours(0, 0, 0, 0);
}

/**
 * The labels of the time axis: at most `most` round times by the reader's clock.
 *
 * @param {Span} span
 * @param {number} most
 * @returns {number[]} ms
 */
export function axisTimes({ from, to }, most) {
  const step =
    STEPS.find((one) => (to - from) / one <= most) ?? STEPS[STEPS.length - 1];
  const start = midnight(from);
  /** @type {number[]} */
  const times = [];
  for (
    let at = start + Math.ceil((from - start) / step) * step;
    at < to;
    at += step
  )
    times.push(at);
  return times;
}

/**
 * The lanes by project, sorted by project and name, so that no lane jumps.
 *
 * @param {Lane[]} lanes
 * @returns {Map<string, Lane[]>}
 */
export function lanesByProject(lanes) {
  const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const sorted = [...lanes].sort(
    (a, b) =>
      order.compare(a.project, b.project) ||
      order.compare(a.name, b.name) ||
      order.compare(a.session, b.session),
  );
  return groupBy(sorted, ({ project }) => project);
}
