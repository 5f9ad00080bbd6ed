/** Opens the feed at the last notification that a session had sent by a time. */

import { toSearch } from "../core/filter.js";
import { Problem } from "./problem.js";

/** @import { Notification, Schemas } from '../core/types.js' */
/** @import { Store } from './store.js' */

/** The most pages of older notifications to load, so that the feed has the place. */
const MAX_PAGES = 10;

/**
 * Restricts the feed to a session and opens its last notification by then.
 *
 * @param {Store} store
 * @param {{project: string, session: string}} lane
 * @param {number} at ms
 */
export async function openPlace(store, { project, session }, at) {
  /** @type {Schemas['Moment']} */
  const { sessions } = await store.api.get(
    `/timeline/moment?at=${new Date(at).toISOString()}`,
  );
  const report = sessions.find(
    (one) => one.project === project && one.session === session,
  )?.report;
  const notification = report === undefined ? null : await find(store, report);
  const filter = {
    project,
    session: notification
      ? (notification.session ?? notification.from)
      : session,
  };
  if (notification) await loadDownTo(store, filter, notification);
  const search = toSearch(filter, new URLSearchParams({ view: "feed" }));
  if (notification) search.set("id", String(notification.id));
  history.pushState(null, "", `${location.pathname}?${search}`);
  dispatchEvent(new PopStateEvent("popstate"));
}

/**
 * @param {Store} store
 * @param {number} id
 * @returns {Promise<Notification|null>} null if the hub no longer has it
 */
async function find(store, id) {
  try {
    return await store.api.get(`/notifications/${id}`);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}

/**
 * @param {Store} store
 * @param {import('../core/filter.js').Filter} filter
 * @param {Notification} notification
 */
async function loadDownTo(store, filter, notification) {
  for (
    let page = 0;
    page < MAX_PAGES && !store.feed.get(notification.id);
    page += 1
  ) {
    if (!(await store.loadOlder(filter))) break;
  }
  // A place that is further back is opened too; the feed shows a gap above it.
  store.feed.add([notification]);
  store.changed("feed");
}
