/** The page's address: its view, the selected need, the open pane and the feed's filter. Elements read it, and are notified when one of them changes it. */

import { viewOf } from "../core/view.js";

/** @import { View } from '../core/view.js' */

/**
 * Changes the address and notifies the elements that read it.
 *
 * @param {URLSearchParams} search
 * @param {'push'|'replace'} [how] replace: without a step in the browser's history
 */
export function setAddress(search, how = "push") {
  const query = search.toString();
  const url = location.pathname + (query && `?${query}`);
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  dispatchEvent(new Event("address"));
}

/**
 * Calls `read` whenever the address changes, also by the browser's Back.
 *
 * @param {() => void} read
 * @param {AbortSignal} signal
 */
export function onAddress(read, signal) {
  addEventListener("popstate", read, { signal });
  addEventListener("address", read, { signal });
}

/** The view that the address names. */
export function openView() {
  return viewOf(new URLSearchParams(location.search));
}

/** The address of a view alone. @param {View} view */
export function addressOf(view) {
  return new URLSearchParams(view === "queue" ? {} : { view });
}

/** The address of a need on the stage; without one, of the queue's list. @param {string} [key] */
export function withNeed(key) {
  return new URLSearchParams(key ? { need: key } : {});
}

/** The key of the need that the address names. */
export function openNeed() {
  return openView() === "queue"
    ? (new URLSearchParams(location.search).get("need") ?? "")
    : "";
}

/**
 * The address with a pane for a notification or an agent; without one, the pane is closed.
 *
 * @param {{id?: number, agent?: string}} place
 */
export function withPane({ id, agent }) {
  const search = new URLSearchParams(location.search);
  for (const name of ["id", "agent", "need"]) search.delete(name);
  if (id) search.set("id", String(id));
  else if (agent) search.set("agent", agent);
  return search;
}

/** The notification or the agent (`project/id`) that the address names, in the view that shows it. */
export function openPlace() {
  const search = new URLSearchParams(location.search);
  const view = viewOf(search);
  return {
    id: (view === "feed" && Number(search.get("id"))) || 0,
    agent: (view === "agents" && search.get("agent")) || "",
  };
}
