/** The views of the page, as its address names them. */

import { isEmpty, parseFilter } from "./filter.js";

/** The views, each with the key that follows `v`. */
export const VIEWS = /** @type {const} */ ([
  { name: "queue", title: "Queue", key: "q" },
  { name: "agents", title: "Agents", key: "a" },
  { name: "feed", title: "Feed", key: "f" },
  { name: "time", title: "Time", key: "t" },
]);

/** @typedef {typeof VIEWS[number]['name']} View */

/**
 * The view that an address shows. Links to a notification or an agent need not name it.
 *
 * @param {URLSearchParams} search
 * @returns {View}
 */
export function viewOf(search) {
  const named = VIEWS.find(({ name }) => name === search.get("view"));
  if (named) return named.name;
  if (search.has("need")) return "queue";
  if (search.has("agent")) return "agents";
  return search.has("id") || !isEmpty(parseFilter(search)) ? "feed" : "queue";
}
