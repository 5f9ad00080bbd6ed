/** Sets the person's marks: one, several, or all. Each change can be undone exactly. */

import { isEmpty, matches, normalize, toQuery } from '../core/filter.js';

/** @import { Filter } from '../core/filter.js' */
/** @import { Store } from './store.js' */

/** The number of ids that one request accepts. */
const BATCH = 1000;
/** The number of past notifications that one request returns. */
const PAGE = 500;

/**
 * Marks notifications, first in the page and then at the hub; a refusal removes the mark.
 *
 * @param {Store} store
 * @param {number[]} ids
 * @param {boolean} seen
 * @returns {Promise<boolean>} whether the hub stored it
 */
export async function setMarks(store, ids, seen) {
  const changed = store.markSeen({ ids, seen });
  const done = await store.attempt(() => postMarks(store, ids, seen));
  if (!done) store.markSeen({ ids: changed, seen: !seen });
  return done;
}

/**
 * Marks all notifications of a filter, including those that are not loaded, and offers to undo it.
 *
 * Notifications that are not loaded are searched before they are marked, because the hub does not report which marks a
 * request changed. An undo that guesses would lose unseen notifications.
 *
 * @param {Store} store
 * @param {Filter} filter
 */
export async function markAllSeen(store, filter) {
  const chosen = { ...normalize(filter), unseen: true };
  const upTo = store.feed.newest;
  const loaded = [...store.feed].filter((one) => matches(chosen, one)).map(({ id }) => id);
  markLocally(store, filter, loaded, true);
  const older = { ids: /** @type {number[]} */ ([]), stopped: false, marked: false };
  const done = store.attempt(async () => {
    await findOlder(store, chosen, older);
    if (older.stopped) return;
    older.marked = true;
    if (isEmpty({ ...chosen, unseen: false })) await store.api.post('/seen', { up_to: upTo, seen: true });
    else await postMarks(store, [...loaded, ...older.ids], true);
  });
  store.toast('Marked all as read.', {
    undo: async () => {
      older.stopped = true;
      markLocally(store, filter, loaded, false);
      await done;
      if (older.marked) await setMarks(store, [...loaded, ...older.ids], false);
      markLocally(store, filter, [], false);
    },
  });
  if (!(await done)) markLocally(store, filter, loaded, false);
}

/**
 * @param {Store} store
 * @param {Filter} filter whose rows are rebuilt
 * @param {number[]} ids
 * @param {boolean} seen
 */
function markLocally(store, filter, ids, seen) {
  store.feed.invalidate(filter);
  store.markSeen({ ids, seen });
}

/**
 * Finds unseen notifications that are older than the loaded ones.
 *
 * @param {Store} store
 * @param {Filter} chosen
 * @param {{ids: number[], stopped: boolean}} found
 */
async function findOlder(store, chosen, found) {
  let { before, end } = store.feed.nextPage(chosen);
  while (!end && !found.stopped) {
    const search = toQuery(chosen);
    search.set('limit', String(PAGE));
    if (before !== undefined) search.set('before', String(before));
    /** @type {import('../core/types.js').Schemas['HistoryPage']} */
    const { notifications, next } = await store.api.get(`/notifications?${search}`);
    found.ids.push(...notifications.filter(({ seen }) => !seen).map(({ id }) => id));
    before = next;
    end = next === undefined;
  }
}

/**
 * @param {Store} store
 * @param {number[]} ids
 * @param {boolean} seen
 */
async function postMarks(store, ids, seen) {
  for (let from = 0; from < ids.length; from += BATCH) {
    await store.api.post('/seen', { ids: ids.slice(from, from + BATCH), seen });
  }
}
