/**
 * The feed as rows, newest first. Notifications that belong together share a row, at the position of the newest one:
 * those with the same key, a question with its answer, the steps and the end of a turn, and repeats. Rows are updated
 * incrementally, so that an arrival costs the same in a long feed as in a short one.
 */

import { matches } from './filter.js';
import { SortedList } from './sorted-list.js';

/** @import { Filter } from './filter.js' */
/** @import { Notification } from './types.js' */

/**
 * @typedef {object} Row
 * @property {number} id of its newest notification
 * @property {Notification[]} items newest first; never empty
 * @property {string} [key] that its items share: a collapse key, or a question
 */

/** The types that end a turn. */
const ENDS = ['complete', 'waiting', 'testing', 'error'];

export class Rows {
  /** @type {SortedList<Row>} */
  #rows = new SortedList();
  /** The row of each notification. @type {Map<number, Row>} */
  #byItem = new Map();
  /** Rows with a key. @type {Map<string, Row>} */
  #keyed = new Map();
  /** The row of each sender that takes newer steps; null after a notification with a key. @type {Map<string, Row|null>} */
  #latest = new Map();
  /** The row of each sender that takes older steps. @type {Map<string, Row|null>} */
  #earliest = new Map();

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
   * The index of the row that contains a notification.
   *
   * @param {Pick<Notification, 'id'>} notification
   * @returns {number} -1 if there is none
   */
  indexOf({ id }) {
    const row = this.#byItem.get(id);
    return row ? this.#rows.indexOf(row.id) : -1;
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
   * Adds a notification that is newer than all others.
   *
   * @param {Notification} notification
   */
  addNewer(notification) {
    this.head = notification.id;
    if (this.floor === Infinity) this.floor = notification.id;
    if (!matches(this.filter, notification)) return;
    const key = keyOf(notification);
    const sender = senderOf(notification);
    const first = this.#rows.newest;
    const latest = this.#latest.get(sender);
    let row;
    if (key !== undefined) row = this.#raise(this.#keyed.get(key), notification) ?? this.#add(notification, key);
    else if (latest && isStep(latest.items[0]) && isOfTurn(notification)) row = this.#raise(latest, notification);
    else if (first && repeats(first, first.items[0], notification)) row = this.#raise(first, notification);
    row ??= this.#add(notification, key);
    this.#noteTurn(this.#latest, notification, row);
    if (!this.#earliest.has(sender)) this.#noteTurn(this.#earliest, notification, row);
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
    const sender = senderOf(notification);
    const last = this.#rows.oldest;
    const turn = isStep(notification) ? this.#earliest.get(sender) : undefined;
    let row;
    if (key !== undefined) row = this.#keyed.get(key);
    else if (turn) row = turn;
    else if (last && repeats(last, last.items[last.items.length - 1], notification)) row = last;
    if (row) this.#put(row, 'push', notification);
    else row = this.#add(notification, key);
    this.#noteTurn(this.#earliest, notification, row);
    if (!this.#latest.has(sender)) this.#noteTurn(this.#latest, notification, row);
  }

  /**
   * @param {Notification} notification
   * @param {string} [key]
   */
  #add(notification, key) {
    /** @type {Row} */
    const row = { id: notification.id, items: [notification], ...(key !== undefined && { key }) };
    if (key !== undefined) this.#keyed.set(key, row);
    this.#byItem.set(notification.id, row);
    this.#rows.add(row);
    return row;
  }

  /**
   * @param {Row} row
   * @param {'push'|'unshift'} how
   * @param {Notification} notification
   */
  #put(row, how, notification) {
    row.items[how](notification);
    this.#byItem.set(notification.id, row);
  }

  /**
   * Adds a newer notification to a row, which becomes the first one.
   *
   * @param {Row|undefined} row
   * @param {Notification} notification
   */
  #raise(row, notification) {
    if (!row) return undefined;
    const index = this.#rows.indexOf(row.id);
    this.#put(row, 'unshift', notification);
    if (index === 0) {
      row.id = notification.id;
      return row;
    }
    this.#rows.remove(index);
    this.#mergeAt(index);
    row.id = notification.id;
    this.#rows.add(row);
    return row;
  }

  /**
   * Merges two rows of repeats, after the row between them was removed.
   *
   * @param {number} index of the second row
   */
  #mergeAt(index) {
    const above = this.#rows.at(index - 1);
    const below = this.#rows.at(index);
    if (!above || !below || below.key !== undefined || !repeats(above, above.items[above.items.length - 1], below.items[0])) return;
    above.items = above.items.concat(below.items);
    for (const { id } of below.items) this.#byItem.set(id, above);
    const sender = senderOf(below.items[0]);
    if (this.#earliest.get(sender) === below) this.#earliest.set(sender, above);
    this.#rows.remove(index);
  }

  /**
   * Records the row of a sender's turn. A notification with a key ends the turn before it, in a row of its own.
   *
   * @param {Map<string, Row|null>} turns
   * @param {Notification} notification
   * @param {Row} row
   */
  #noteTurn(turns, notification, row) {
    if (notification.type !== 'progress' && !ENDS.includes(notification.type)) return;
    turns.set(senderOf(notification), notification.key === undefined ? row : null);
  }

  /** From the newest to the oldest. @returns {Iterator<Row>} */
  [Symbol.iterator]() {
    return this.#rows[Symbol.iterator]();
  }
}

/**
 * The notification that a row shows: the question before its answer, else the newest.
 *
 * @param {Row} row
 */
export function leadOf({ items }) {
  return items.find(({ type }) => type === 'question' || type === 'approval') ?? items[0];
}

/**
 * The notifications of a row besides the shown one, in words: '×3', 'updated ×2', '4 steps', 'answered: yes'.
 *
 * @param {Row} row
 */
export function others(row) {
  const [newest] = row.items;
  const count = row.items.length;
  if (newest.type === 'answer' && leadOf(row) !== newest) return `answered: ${newest.msg}`;
  if (count === 1) return '';
  if (newest.key !== undefined) return `updated ×${count - 1}`;
  const steps = row.items.filter(isStep).length;
  if (steps > 0 && steps < count) return steps === 1 ? '1 step' : `${steps} steps`;
  return steps > 0 ? `${steps} steps` : `×${count}`;
}

/**
 * A heading for the notifications of a row.
 *
 * @param {Notification[]} items newest first
 */
export function rowTitle(items) {
  if (items[0]?.key !== undefined) return 'Earlier versions';
  return items.some(isStep) ? 'This turn' : 'Repeats';
}

/** @param {Notification} [notification] */
function isStep(notification) {
  return notification?.type === 'progress' && notification.key === undefined;
}

/** @param {Notification} notification */
function isOfTurn(notification) {
  return isStep(notification) || (ENDS.includes(notification.type) && notification.key === undefined);
}

/** @param {Notification} notification */
function senderOf({ project, from }) {
  return `${from} ${project}`;
}

/**
 * @param {Notification} notification
 * @returns {string|undefined} equal for notifications that replace each other, and for a question and its answers
 */
function keyOf({ id, type, key, project, from, to, reply_to }) {
  if (key !== undefined) return JSON.stringify([key, project, from, to]);
  if (type === 'question' || type === 'approval') return `question ${id}`;
  return type === 'answer' && reply_to !== undefined ? `question ${reply_to}` : undefined;
}

/**
 * Whether a notification repeats a row.
 *
 * @param {Row} row
 * @param {Notification} next the row's notification that is next to it
 * @param {Notification} notification
 */
function repeats(row, next, notification) {
  return (
    row.key === undefined &&
    notification.key === undefined &&
    next.msg === notification.msg &&
    next.from === notification.from &&
    next.type === notification.type &&
    next.project === notification.project
  );
}
