/** The feed's filter: as the page's address, as the hub's query, and as a test. */

import { KINDS, PRIORITIES } from "./types.js";

/** @import { Kind, Notification, Priority } from './types.js' */

/**
 * @typedef {object} Filter An absent part chooses all.
 * @property {Kind[]} [types] in the order of KINDS
 * @property {Priority} [priority] at least
 * @property {string} [project]
 * @property {string} [session]
 * @property {string} [q] text in sender, title or message, case-insensitive
 * @property {boolean} [unseen]
 */

/**
 * Parses the filter from the page's address; a malformed part chooses all.
 *
 * @param {URLSearchParams} search
 * @returns {Filter}
 */
export function parseFilter(search) {
  const named = (search.get("types") ?? "").split(",");
  const types = KINDS.filter((kind) => named.includes(kind));
  return normalize({
    types,
    priority: PRIORITIES.find(
      (priority) => priority === search.get("priority"),
    ),
    project: search.get("project") ?? undefined,
    session: search.get("session") ?? undefined,
    q: search.get("q") ?? undefined,
    unseen: search.has("unseen"),
  });
}

/**
 * The canonical form of a filter: without the parts that choose all.
 *
 * @param {Filter} filter
 * @returns {Filter}
 */
export function normalize({
  types = [],
  priority,
  project,
  session,
  q = "",
  unseen,
}) {
  const chosen = KINDS.filter((kind) => types.includes(kind));
  return {
    ...(chosen.length > 0 && chosen.length < KINDS.length && { types: chosen }),
    ...(priority && priority !== "low" && { priority }),
    ...(project && { project }),
    ...(session && { session }),
    ...(q.trim() && { q: q.trim() }),
    ...(unseen && { unseen }),
  };
}

/**
 * The page's address with this filter; its other parameters stay.
 *
 * @param {Filter} filter
 * @param {URLSearchParams} search
 * @returns {URLSearchParams}
 */
export function toSearch(filter, search) {
  const { types, ...others } = normalize(filter);
  const written = new URLSearchParams(search);
  for (const name of ["types", "priority", "project", "session", "q", "unseen"])
    written.delete(name);
  if (types) written.set("types", types.join(","));
  for (const [name, value] of Object.entries(others))
    written.set(name, value === true ? "1" : String(value));
  return written;
}

/**
 * The query for `GET /notifications`.
 *
 * @param {Filter} filter
 * @returns {URLSearchParams}
 */
export function toQuery(filter) {
  const { types, priority, project, session, q, unseen } = normalize(filter);
  const asked = new URLSearchParams();
  if (types) asked.set("types", types.join(","));
  if (priority) asked.set("min_priority", priority);
  if (project) asked.set("project", project);
  if (session) asked.set("session", session);
  if (q) asked.set("q", q);
  if (unseen) asked.set("seen", "false");
  return asked;
}

/**
 * The body of `POST /seen` that marks all notifications of a filter.
 *
 * @param {Filter} filter
 * @param {number} up_to the last notification to mark
 */
export function toMarks(filter, up_to) {
  const { types, priority, project, session, q } = normalize(filter);
  return {
    ...(types && { types }),
    ...(priority && { min_priority: priority }),
    ...(project && { project }),
    ...(session && { session }),
    ...(q && { q }),
    up_to,
    seen: true,
  };
}

/**
 * @param {Filter} filter
 * @returns {boolean} whether the filter chooses everything
 */
export function isEmpty(filter) {
  return Object.keys(normalize(filter)).length === 0;
}

/**
 * @param {Filter} one
 * @param {Filter} other
 * @returns {boolean}
 */
export function isSame(one, other) {
  return JSON.stringify(normalize(one)) === JSON.stringify(normalize(other));
}

/**
 * Whether a filter chooses a notification, as the hub would decide.
 *
 * @param {Filter} filter tidy
 * @param {Notification} notification
 * @returns {boolean}
 */
export function matches(filter, notification) {
  const { types, priority, project, session, q, unseen } = filter;
  return (
    (!types || types.includes(notification.type)) &&
    (!priority ||
      PRIORITIES.indexOf(notification.priority) <=
        PRIORITIES.indexOf(priority)) &&
    (!project || notification.project === project) &&
    (!session || (notification.session ?? notification.from) === session) &&
    (!unseen || !notification.seen) &&
    (!q || containsText(notification, q.toLowerCase()))
  );
}

/**
 * @param {Notification} notification
 * @param {string} text in lower case
 */
function containsText({ from, title, msg }, text) {
  return [msg, title, from].some(
    (part) => part !== undefined && part.toLowerCase().includes(text),
  );
}
