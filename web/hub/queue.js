/** The queue of this page: without the needs that the person has just settled here. */

import { outboxOf } from "./outbox.js";
import { queueOf } from "../core/queue.js";

/** @import { Need } from '../core/types.js' */
/** @import { Store } from './store.js' */

/** For how long a need is put off, in ms. */
const SNOOZE = 3_600_000;
/** After this time an ended need that the hub still has is shown again, in ms. */
const PATIENCE = 5000;

/** The ids of needs that were ended here, while the hub may still have them. @type {WeakMap<Store, Set<string>>} */
const endings = new WeakMap();

/** @param {Store} store */
export function queueNow(store) {
  const outbox = outboxOf(store);
  return queueOf(store, {
    isAnswered: (key) =>
      outbox.held(key) !== undefined || outbox.isSending(key),
    isEnding: (key) => endings.get(store)?.has(key) ?? false,
  });
}

/**
 * Ends a need, or puts it off. It leaves the queue at once.
 *
 * @param {Store} store
 * @param {Need} need
 * @param {'done'|'snooze'} how
 */
export async function endNeed(store, { id, kind, name }, how) {
  const ending = endings.get(store) ?? new Set();
  const mark = (/** @type {'add'|'delete'} */ change) => {
    ending[change](id);
    store.changed("needs");
  };
  endings.set(store, ending);
  mark("add");
  const body =
    how === "snooze"
      ? { until: new Date(store.now() + SNOOZE).toISOString() }
      : undefined;
  if (!(await store.attempt(() => store.api.post(`/needs/${id}/${how}`, body))))
    return mark("delete");
  setTimeout(() => mark("delete"), PATIENCE);
  const undo = () => {
    mark("delete");
    store.attempt(() => store.api.delete(`/needs/${id}/done`));
  };
  // An acknowledged message does not come back.
  store.toast(
    how === "done" ? `${name}: done.` : `${name} is put off for 1 h.`,
    { undo: kind === "urgent" ? undefined : undo },
  );
}
