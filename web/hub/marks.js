/** Sets the person's marks: one, several, or all of a filter. Each change can be undone exactly. */

import { matches, normalize, toMarks } from "../core/filter.js";

/** @import { Filter } from '../core/filter.js' */
/** @import { Store } from './store.js' */

/** The number of ids that one request accepts. */
const BATCH = 1000;

/**
 * Marks notifications, first in the page and then at the hub; a refusal removes the mark. A device that only reads marks nothing.
 *
 * @param {Store} store
 * @param {number[]} ids
 * @param {boolean} seen
 * @returns {Promise<boolean>} whether the hub stored it
 */
export async function setMarks(store, ids, seen) {
  if (store.onlyReads) return false;
  const changed = store.markSeen({ ids, seen });
  const done = await store.attempt(async () => {
    for (let from = 0; from < ids.length; from += BATCH) {
      await store.api.post("/seen", {
        ids: ids.slice(from, from + BATCH),
        seen,
      });
    }
  });
  if (!done) store.markSeen({ ids: changed, seen: !seen });
  return done;
}

/**
 * Marks all notifications of a filter as read, including those that are not loaded, and offers to undo it.
 *
 * @param {Store} store
 * @param {Filter} filter
 */
export async function markAllSeen(store, filter) {
  if (store.onlyReads) return;
  const chosen = { ...normalize(filter), unseen: true };
  const loaded = [...store.feed]
    .filter((one) => matches(chosen, one))
    .map(({ id }) => id);
  const show = (/** @type {boolean} */ seen) => {
    store.feed.invalidate(filter);
    store.markSeen({ ids: loaded, seen });
  };
  show(true);
  await store.attempt(async () => {
    try {
      const { changed, undo } = await store.api.post(
        "/seen",
        toMarks(filter, store.feed.newest),
      );
      const setBack = () =>
        store.attempt(async () => {
          await store.api.post("/seen", { undo });
          show(false);
        });
      store.toast(
        changed === 1 ? "Marked 1 as read." : `Marked ${changed} as read.`,
        undo === undefined ? {} : { undo: setBack },
      );
    } catch (error) {
      show(false);
      throw error;
    }
  });
}
