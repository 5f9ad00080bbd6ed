/**
 * The feed as rows, newest first. Repeats share one row, and so do notifications with the same key, at the position of
 * the newest one. Rows are updated incrementally, so that an arrival costs the same in a long feed as in a short one.
 */

import { matches } from './filter.js';
import { SortedList } from './sorted-list.js';

/** @import { Filter } from './filter.js' */
/** @import { Notification } from './types.js' */

/**
 * @typedef {object} Row
 * @property {number} id of its newest notification
 * @property {Notification[]} items newest first; never empty
 * @property {string} [key] that its items share if they replace each other; absent for repeats
 */

export class Rows {
  /** @type {SortedList<Row>} */
  #rows = new SortedList();
  /** Rows whose items replace each other. @type {Map<string, Row>} */
  #keyed = new Map();

  /** The highest id that was examined. */
  head = -Infinity;
  /** All notifications down to this id were examined. */
  floor = Infinity;
  /** Whether further notifications remain to be examined. */
  partial = false;
  /** Whether the rows must be rebuilt. */
  stale = false;

  /** @param {Filter} filter tidy */
  constructor(filter) {
    this.filter = filter;
  }

  get length() {
    return this.#rows.length;
  }

  /**
   * @param {number} index 0 is the newest
   * @returns {Row|undefined}
   */
  at(index) {
    return this.#rows.at(index);
  }

  /**
   * The index of the row that contains a notification, or would contain it.
   *
   * @param {Notification} notification
   * @returns {number} -1 if there is none
   */
  indexOf(notification) {
    const key = keyOf(notification);
    const row = key === undefined ? this.#repeatsAround(notification.id) : this.#keyed.get(key);
    return row?.items.some((item) => item.id === notification.id) ? this.#rows.indexOf(row.id) : -1;
  }

  /**
   * The first row at or below an id.
   *
   * @param {number} id
   * @returns {number}
   */
  below(id) {
    return this.#rows.indexOf(id);
  }

  /**
   * The repeats around an id: the last row that begins at or above it.
   *
   * @param {number} id
   */
  #repeatsAround(id) {
    const index = this.#rows.indexOf(id);
    if (this.#rows.at(index)?.id === id) return this.#rows.at(index);
    for (let above = index - 1; above >= 0; above -= 1) {
      const row = this.#rows.at(above);
      if (row && row.key === undefined) return row;
    }
    return undefined;
  }

  /**
   * Adds a notification that is newer than all others.
   *
   * @param {Notification} notification
   */
  addNewer(notification) {
    this.head = notification.id;
    if (this.floor === Infinity) this.floor = notification.id;
    if (!matches(this.filter, notification)) return;
    const key = keyOf(notification);
    const first = this.#rows.newest;
    if (key !== undefined) this.#addToKeyed(key, notification);
    else if (first && repeats(first, notification)) this.#prepend(first, notification);
    else this.#rows.add({ id: notification.id, items: [notification] });
  }

  /**
   * Adds a notification that is older than all others.
   *
   * @param {Notification} notification
   */
  addOlder(notification) {
    this.floor = notification.id;
    if (this.head === -Infinity) this.head = notification.id;
    if (!matches(this.filter, notification)) return;
    const key = keyOf(notification);
    const last = this.#rows.oldest;
    const replaced = key !== undefined && this.#keyed.get(key);
    if (replaced) replaced.items.push(notification);
    else if (key !== undefined) this.#addKeyed(key, [notification]);
    else if (last && repeats(last, notification)) last.items.push(notification);
    else this.#rows.add({ id: notification.id, items: [notification] });
  }

  /**
   * @param {string} key
   * @param {Notification} notification
   */
  #addToKeyed(key, notification) {
    const row = this.#keyed.get(key);
    const index = row ? this.#rows.indexOf(row.id) : -1;
    if (!row) {
      this.#addKeyed(key, [notification]);
    } else if (index === 0) {
      this.#prepend(row, notification);
    } else {
      this.#rows.remove(index);
      this.#mergeAt(index);
      row.items.unshift(notification);
      this.#addKeyed(key, row.items);
    }
  }

  /**
   * @param {string} key
   * @param {Notification[]} items
   */
  #addKeyed(key, items) {
    const row = { id: items[0].id, items, key };
    this.#keyed.set(key, row);
    this.#rows.add(row);
  }

  /**
   * @param {Row} row the first
   * @param {Notification} notification
   */
  #prepend(row, notification) {
    row.items.unshift(notification);
    row.id = notification.id;
  }

  /**
   * Merges two rows of repeats, after the row between them was removed.
   *
   * @param {number} index of the second row
   */
  #mergeAt(index) {
    const above = this.#rows.at(index - 1);
    const below = this.#rows.at(index);
    if (!above || !below || below.key !== undefined || !repeats(above, below.items[0])) return;
    above.items = above.items.concat(below.items);
    this.#rows.remove(index);
  }

  /** From the newest to the oldest. @returns {Iterator<Row>} */
  [Symbol.iterator]() {
    return this.#rows[Symbol.iterator]();
  }
}

/**
 * @param {Notification} notification
 * @returns {string|undefined} equal for notifications that replace each other
 */
function keyOf({ key, project, from, to }) {
  return key === undefined ? undefined : JSON.stringify([key, project, from, to]);
}

/**
 * Whether a notification repeats a row.
 *
 * @param {Row} row
 * @param {Notification} notification
 */
function repeats(row, notification) {
  const newest = row.items[0];
  return (
    row.key === undefined &&
    notification.key === undefined &&
    newest.msg === notification.msg &&
    newest.from === notification.from &&
    newest.type === notification.type &&
    newest.project === notification.project
  );
}
