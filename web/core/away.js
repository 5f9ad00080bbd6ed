/** The notifications that arrived while the page was not visible: decisions, then results, then the rest by agent. */

import { Feed } from "./feed.js";
import { groupBy } from "./group.js";
import { leadOf } from "./rows.js";
import { senderName } from "./thread.js";

/** @import { Kind, Notification } from './types.js' */

/** The absence from which on the page offers a summary, in ms. */
export const MIN_ABSENCE = 5 * 60_000;
/** @type {Kind[]} */
export const DECISIONS = ["question", "approval"];
/** @type {Kind[]} */
export const RESULTS = ["error", "waiting", "testing", "complete"];
/** @type {Kind[]} */
export const REST = ["message", "answer", "progress", "ended"];

/**
 * @typedef {object} Absence
 * @property {string} epoch of the hub's log
 * @property {number} id of the newest notification that the page had
 * @property {number} at when the page was last visible, in ms
 *
 * @typedef {object} Summary
 * @property {Notification[]} decisions open ones first, each newest first
 * @property {Notification[]} results errors first, each newest first
 * @property {{name: string, project: string, items: Notification[]}[]} rest by agent, the busiest first
 */

/**
 * The stored state of the page when it was last visible, if it was long enough ago and of this log.
 *
 * @param {string|null} stored JSON
 * @param {string} epoch
 * @param {number} now ms
 * @returns {Absence|null}
 */
export function absence(stored, epoch, now) {
  try {
    const last = JSON.parse(stored ?? "null");
    const valid =
      last &&
      last.epoch === epoch &&
      Number.isFinite(last.id) &&
      now - last.at >= MIN_ABSENCE;
    return valid ? last : null;
  } catch {
    return null;
  }
}

/**
 * Sorts the rows of notifications into a summary. The person's own are left out.
 *
 * @param {Notification[]} notifications
 * @returns {Summary}
 */
export function summarizeAbsence(notifications) {
  const feed = new Feed();
  feed.add(notifications);
  const shown = [...feed.rows()]
    .map(leadOf)
    .filter(({ from }) => from !== "person");
  const of = (/** @type {Kind[]} */ kinds) =>
    shown.filter(({ type }) => kinds.includes(type));
  const groups = groupBy(of(REST), ({ project, from }) =>
    JSON.stringify([project, from]),
  );
  const rest = [...groups.values()].map((items) => ({
    name: senderName(items[0]),
    project: items[0].project,
    items,
  }));
  return {
    decisions: firstIf(of(DECISIONS), isOpen),
    results: firstIf(of(RESULTS), ({ type }) => type === "error"),
    rest: rest.sort((a, b) => b.items.length - a.items.length),
  };
}

/** Whether a decision is still to be made. @param {Pick<Notification, 'status'>} decision */
export function isOpen({ status }) {
  return status === "pending";
}

/**
 * @param {Notification[]} items
 * @param {(item: Notification) => boolean} isFirst
 */
function firstIf(items, isFirst) {
  return [...items.filter(isFirst), ...items.filter((item) => !isFirst(item))];
}

/**
 * The summary in one line: `2 decisions, 1 settled decision, 5 results, 31 others`.
 *
 * @param {Summary} summary
 */
export function countAbsence({ decisions, results, rest }) {
  const open = decisions.filter(isOpen).length;
  const others = rest.reduce((sum, { items }) => sum + items.length, 0);
  const parts = /** @type {[number, string][]} */ ([
    [open, "decision"],
    [decisions.length - open, "settled decision"],
    [results.length, "result"],
    [others, "other"],
  ]);
  return parts
    .filter(([count]) => count > 0)
    .map(([count, noun]) => `${count} ${noun}${count === 1 ? "" : "s"}`)
    .join(", ");
}
