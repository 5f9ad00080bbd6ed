/** Sets the person's marks: one, several, or all. Each change can be undone exactly. */

import { isOpen, matches, query, tidy } from '../core/filter.js';

/**
 * @typedef {import('./store.js').Store} Store
 * @typedef {import('../core/filter.js').Filter} Filter
 */

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
export async function mark(store, ids, seen) {
  const changed = store.markSeen({ ids, seen });
  const done = await store.attempt(() => post(store, ids, seen));
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
export async function markAll(store, filter) {
  const chosen = { ...tidy(filter), unseen: true };
  const upTo = store.feed.newest;
  const here = [...store.feed].filter((one) => matches(chosen, one)).map(({ id }) => id);
  local(store, filter, here, true);
  const older = { ids: /** @type {number[]} */ ([]), stopped: false, marked: false };
  const done = store.attempt(async () => {
    await lookThrough(store, chosen, older);
    if (older.stopped) return;
    older.marked = true;
    if (isOpen({ ...chosen, unseen: false })) await store.api.post('/seen', { up_to: upTo, seen: true });
    else await post(store, [...here, ...older.ids], true);
  });
  store.toast('Marked all seen.', {
    undo: async () => {
      older.stopped = true;
      local(store, filter, here, false);
      await done;
      if (older.marked) await mark(store, [...here, ...older.ids], false);
      local(store, filter, [], false);
    },
  });
  if (!(await done)) local(store, filter, here, false);
}

/**
 * @param {Store} store
 * @param {Filter} filter whose rows are rebuilt
 * @param {number[]} ids
 * @param {boolean} seen
 */
function local(store, filter, ids, seen) {
  store.feed.renew(filter);
  store.markSeen({ ids, seen });
}

/**
 * Finds unseen notifications that are older than the loaded ones.
 *
 * @param {Store} store
 * @param {Filter} chosen
 * @param {{ids: number[], stopped: boolean}} found
 */
async function lookThrough(store, chosen, found) {
  let { before, end } = store.feed.place(chosen);
  while (!end && !found.stopped) {
    const search = query(chosen);
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
async function post(store, ids, seen) {
  for (let from = 0; from < ids.length; from += BATCH) {
    await store.api.post('/seen', { ids: ids.slice(from, from + BATCH), seen });
  }
}
