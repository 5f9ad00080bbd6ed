/** `<time>` elements that show their distance from now. */

import { absolute, relative } from "../core/time.js";

/** @import { Form } from '../core/time.js' */

const SECOND = 1000;

/**
 * A `<time>` element with a relative time that ticks, and the exact time on hover.
 *
 * @param {string|number} ts RFC 3339, or ms
 * @param {() => number} now the hub's clock: `() => store.now()`
 * @param {Form} [form]
 * @returns {HTMLTimeElement}
 */
export function timeElement(ts, now, form = "age") {
  const element = document.createElement("time");
  element.dataset.form = form;
  startTicking(now);
  return setTime(element, ts);
}

/**
 * Makes a `<time>` of {@link timeElement} show another time.
 *
 * @param {HTMLTimeElement} element
 * @param {string|number} ts
 * @returns {HTMLTimeElement}
 */
export function setTime(element, ts) {
  const at = new Date(ts);
  const iso = Number.isNaN(at.getTime()) ? "" : at.toISOString();
  if (element.dataset.ts !== iso) {
    element.dataset.ts = iso;
    element.dateTime = iso;
    element.title = absolute(ts);
  }
  show(element);
  return element;
}

/** @type {(() => number)|undefined} */
let clock;

/** @param {() => number} now */
function startTicking(now) {
  if (!clock) {
    setInterval(tick, SECOND);
    document.addEventListener("visibilitychange", tick);
  }
  clock = now;
}

/** Updates every relative time on the page; one timer serves all of them. */
export function tick() {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[data-ts]"))
    show(/** @type {HTMLTimeElement} */ (element));
}

/** @param {HTMLTimeElement} element */
function show(element) {
  const { ts, form } = element.dataset;
  const text =
    ts && clock ? relative(ts, clock(), /** @type {Form} */ (form)) : "";
  if (element.textContent !== text) element.textContent = text;
}
