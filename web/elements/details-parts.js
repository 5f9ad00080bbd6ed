/** The parts of a notification's details. */

import { copyable } from "./copyable.js";
import { h } from "./dom.js";
import { revealHidden } from "./parts.js";
import { timeElement } from "./time.js";
import { describeEvidence } from "../core/approvers.js";
import { curlCommand, hubctlCommand } from "../core/commands.js";
import { describeStep } from "../core/delivery.js";
import { senderName } from "../core/thread.js";
import { valueText } from "../core/tool.js";
import { absolute, exactClockTime, shortDate } from "../core/time.js";

/** @import { Notification, Step } from '../core/types.js' */
/** @import { Child } from './dom.js' */

/**
 * @typedef {() => number} Now
 */

/** Data with more characters than this is folded. */
const LONG = 1200;

/**
 * The facts of a notification: sender, project, times.
 *
 * @param {Notification} notification
 * @param {(part: import('../core/filter.js').Filter) => void} setFilter restricts the feed to such notifications
 */
export function facts(notification, setFilter) {
  const session = notification.session ?? notification.from;
  const filterButton = (
    /** @type {string} */ text,
    /** @type {import('../core/filter.js').Filter} */ part,
  ) =>
    h(
      "button",
      {
        class: "link",
        title: "Show only these",
        onclick: () => setFilter(part),
      },
      text,
    );
  /** @type {[string, Child|Child[]][]} */
  const all = [
    ["From", filterButton(senderName(notification), { session })],
    [
      "About",
      session !== notification.from && filterButton(session, { session }),
    ],
    ["To", notification.to],
    [
      "Given by",
      notification.evidence &&
        revealHidden(describeEvidence(notification.evidence)),
    ],
    ["Worker of", notification.parent],
    [
      "Project",
      filterButton(notification.project, { project: notification.project }),
    ],
    ["Priority", notification.priority !== "normal" && notification.priority],
    ["Sent", absolute(notification.ts)],
    ["Received", notification.received && absolute(notification.received)],
    ["Expires", absolute(notification.expires_at)],
    ["Key", notification.key],
    ["Hops", notification.hops],
  ];
  return h(
    "dl",
    {},
    ...all
      .filter(([, value]) => value)
      .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

/** @param {Notification} notification */
export function options({ options: offered = [] }) {
  return (
    offered.length > 0 &&
    h(
      "ul",
      { class: "options", "aria-label": "Options" },
      ...offered.map((option) => h("li", {}, revealHidden(option))),
    )
  );
}

/** @param {Notification} notification */
export function data({ data: added }) {
  if (added === undefined) return null;
  const text = valueText(added);
  return h(
    "details",
    { open: text.length <= LONG },
    h(
      "summary",
      {},
      "Data",
      h("span", { class: "muted" }, ` ${size(text.length)}`),
    ),
    h("pre", { tabindex: "0" }, text),
  );
}

/** @param {number} characters */
function size(characters) {
  return characters < 1000
    ? `${characters} characters`
    : `${(characters / 1000).toFixed(1)} k characters`;
}

/**
 * @param {Notification} notification
 * @param {string|null} stateDir of the hub
 */
export function commands(notification, stateDir) {
  return h(
    "details",
    { class: "commands" },
    h("summary", {}, "As a command"),
    copyable(hubctlCommand(notification), "Copy the hubctl command"),
    copyable(
      curlCommand(notification, { origin: location.origin, stateDir }),
      "Copy the curl command",
    ),
  );
}

/**
 * A list of notifications that are related to another one.
 *
 * @param {string} title
 * @param {Notification[]} list
 * @param {number} current
 * @param {Now} now
 */
export function relatedList(title, list, current, now) {
  if (list.length < 2) return null;
  const line = (/** @type {Notification} */ one) =>
    h(
      "li",
      { "aria-current": one.id === current && "true" },
      h(
        "a",
        { href: `?id=${one.id}`, "data-id": one.id },
        h("b", {}, senderName(one)),
        " ",
        short(one),
      ),
      timeElement(one.ts, now),
    );
  return h(
    "section",
    {},
    h("h3", {}, title),
    h("ol", { class: "related" }, ...list.map(line)),
  );
}

/** @param {Notification} notification */
function short({ title, msg }) {
  return (title ?? msg).slice(0, 200);
}

/**
 * The delivery of a notification, step by step.
 *
 * @param {Step[]} steps
 */
export function timeline(steps) {
  const line = (/** @type {Step} */ step) => {
    const { text, why } = describeStep(step);
    return h(
      "li",
      { "data-state": step.state },
      h(
        "span",
        { class: "step" },
        text,
        why && h("span", { class: "muted" }, `; ${why}`),
      ),
      step.at
        ? h(
            "time",
            { datetime: step.at, title: absolute(step.at) },
            shortTime(step.at),
          )
        : h("span", { class: "muted" }, "now"),
    );
  };
  return h("ol", { class: "trace" }, ...steps.map(line));
}

/** @param {string} ts */
function shortTime(ts) {
  const day = shortDate(ts);
  const time = exactClockTime(ts);
  return day === shortDate(Date.now()) ? time : `${day} ${time}`;
}
