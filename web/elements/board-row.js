/** A row of the board: the session's name, what it does, where, and for how long. */

import { h } from "./dom.js";
import { setProperty, setText } from "./parts.js";
import { setTime, timeElement } from "./time.js";
import { activity, checkout } from "../core/board.js";
import { muteFor } from "../core/mutes.js";
import { progressOf } from "../core/progress.js";
import { projectName } from "../core/sessions.js";
import { clockTime } from "../core/time.js";
import { wordsOf } from "../core/attention.js";

/** @import { BoardRow } from '../core/board.js' */
/** @import { Store } from '../hub/store.js' */

/** The number of characters of a text that a row can show. */
const MAX_TEXT = 300;

/** @param {Store} store */
export function boardRow(store) {
  return h(
    "a",
    { class: "board-row" },
    h("span", { class: "dot" }),
    h("span", { class: "name" }, h("span", { class: "branch-mark" }), h("b")),
    h("span", { class: "text" }),
    h("span", { class: "place" }, h("span"), h("span", { class: "branch" })),
    h("span", { class: "kind" }),
    timeElement("", () => store.now()),
  );
}

/**
 * @param {HTMLElement} element of {@link boardRow}
 * @param {BoardRow} row
 * @param {Store} store
 */
export function updateBoardRow(
  element,
  { key, session, phase, depth, parent },
  store,
) {
  const [, name, text, place, kind, time] = /** @type {any} */ (
    element.children
  );
  const href = `?agent=${encodeURIComponent(key)}`;
  if (element.getAttribute("href") !== href) element.setAttribute("href", href);
  if (element.dataset.phase !== phase.name) element.dataset.phase = phase.name;
  if (element.dataset.depth !== String(depth))
    element.dataset.depth = String(depth);
  element.toggleAttribute(
    "data-muted",
    muteFor(store.preferences, session, store.now()) !== undefined,
  );
  setText(name.firstChild, depth > 0 || parent ? "↳ " : "");
  setText(name.lastChild, session.name);
  const does = line(phase, session, store);
  setText(text, does);
  setProperty(
    text,
    "className",
    phase.name === "working" && phase.tool ? "text tool" : "text",
  );
  const branch = checkout(session);
  setText(place.firstChild, projectName(session.project));
  setText(place.lastChild, branch && ` · ${branch}`);
  setText(kind, session.agent ?? "");
  const title = [
    session.name,
    parent && `worker of ${parent}`,
    session.agent,
    branch ? `${session.project} (${branch})` : session.project,
    does,
  ]
    .filter(Boolean)
    .join("\n");
  setProperty(element, "title", title);
  setTime(time, phase.since);
}

/**
 * @param {BoardRow['phase']} phase
 * @param {BoardRow['session']} session
 * @param {Store} store
 */
function line(phase, session, store) {
  const need =
    phase.question === undefined
      ? undefined
      : store.needs.find(({ notification }) => notification === phase.question);
  const report =
    session.last === undefined ? undefined : store.feed.get(session.last);
  const reported = report ? wordsOf(report) : "";
  const said = activity(phase, need) || reported || (session.title ?? "");
  const until = phase.until ? `until ${clockTime(phase.until)}` : "";
  const progress = phase.name === "working" ? progressOf(report)?.text : "";
  return [said.slice(0, MAX_TEXT).replace(/\s+/g, " ").trim(), progress, until]
    .filter(Boolean)
    .join(" · ");
}
