/**
 * The feed as rows, newest first. Notifications that belong together share a row, at the position of the newest one:
 * those with the same key, a question with its answer, those of a turn, and repeats. Rows are updated
 * incrementally, so that an arrival costs the same in a long feed as in a short one.
 */

import { matches } from "./filter.js";
import { SortedList } from "./sorted-list.js";

/** @import { Filter } from './filter.js' */
/** @import { Notification } from './types.js' */

/**
 * @typedef {object} Row
 * @property {number} id of its newest notification
 * @property {Notification[]} items newest first; never empty
 * @property {boolean} isKeyed whether its items share a question, a turn or a collapse key
 */

/** The types that tell how a turn goes. */
const OF_TURN = ["progress", "complete", "waiting", "testing", "error"];

export class Rows {
  /** @type {SortedList<Row>} */
  #rows = new SortedList();
  /** The row of each notification. @type {Map<number, Row>} */
  #byItem = new Map();
  /** The row of each key. @type {Map<string, Row>} */
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
    const keys = keysOf(notification);
    const first = this.#rows.newest;
    const row =
      keys.length > 0
        ? this.#find(keys)
        : first && repeats(first, first.items[0], notification)
          ? first
          : undefined;
    this.#note(
      keys,
      row
        ? this.#raise(row, notification)
        : this.#add(notification, keys.length > 0),
    );
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
    const keys = keysOf(notification);
    const last = this.#rows.oldest;
    const row =
      keys.length > 0
        ? this.#find(keys)
        : last && repeats(last, last.items[last.items.length - 1], notification)
          ? last
          : undefined;
    if (row) this.#put(row, "push", notification);
    this.#note(keys, row ?? this.#add(notification, keys.length > 0));
  }

  /** The row of one of these keys. @param {string[]} keys @returns {Row|undefined} */
  #find(keys) {
    return keys
      .map((key) => this.#keyed.get(key))
      .find((row) => row !== undefined);
  }

  /**
   * @param {string[]} keys
   * @param {Row} row
   */
  #note(keys, row) {
    for (const key of keys) this.#keyed.set(key, row);
  }

  /**
   * @param {Notification} notification
   * @param {boolean} isKeyed
   */
  #add(notification, isKeyed) {
    /** @type {Row} */
    const row = { id: notification.id, items: [notification], isKeyed };
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
   * @param {Row} row
   * @param {Notification} notification
   */
  #raise(row, notification) {
    const index = this.#rows.indexOf(row.id);
    this.#put(row, "unshift", notification);
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
    if (
      !above ||
      !below ||
      below.isKeyed ||
      !repeats(above, above.items[above.items.length - 1], below.items[0])
    )
      return;
    above.items = above.items.concat(below.items);
    for (const { id } of below.items) this.#byItem.set(id, above);
    this.#rows.remove(index);
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
  return items.find(isQuestion) ?? items[0];
}

/**
 * The answer to the question that a row shows.
 *
 * @param {Row} row
 * @returns {Notification|undefined}
 */
export function answerOf({ items }) {
  return items.some(isQuestion)
    ? items.find(({ type }) => type === "answer")
    : undefined;
}

/**
 * How a notification ended: a question in the hub's word, as one that its terminal settled was not withdrawn; else its status.
 *
 * @param {Pick<Notification, 'ended'|'status'>} notification
 */
export function endOf({ ended, status }) {
  return ended ?? status ?? "";
}

/** Whether the answer that a row shows is the one that counts. @param {Row} row */
export function counts(row) {
  const answer = answerOf(row);
  return answer !== undefined && leadOf(row).answer === answer.id;
}

/**
 * The notifications of a row besides the shown one and its answer, in words: '×3', 'updated ×2', '4 steps'.
 *
 * @param {Row} row
 */
export function others({ items }) {
  const count = items.length;
  if (count === 1 || items.some(isQuestion)) return "";
  if (turnOf(items[0]) === undefined)
    return items[0].key !== undefined ? `updated ×${count - 1}` : `×${count}`;
  return count === 2 ? "1 step" : `${count - 1} steps`;
}

/**
 * A heading for the notifications of a row.
 *
 * @param {Notification[]} items newest first
 */
export function rowTitle(items) {
  const [newest] = items;
  if (items.some(isQuestion)) return "This question";
  if (newest && turnOf(newest) !== undefined) return "This turn";
  return newest?.key !== undefined ? "Earlier versions" : "Repeats";
}

/** @param {Notification} notification */
function isQuestion({ type }) {
  return type === "question" || type === "approval";
}

/** The turn that a notification tells of. @param {Notification} notification */
function turnOf({ type, turn }) {
  return OF_TURN.includes(type) ? turn : undefined;
}

/**
 * The keys that a notification shares with others of its row: its question, its turn or its collapse key.
 *
 * @param {Notification} notification
 * @returns {string[]}
 */
function keysOf(notification) {
  const { id, type, key, project, from, to, reply_to, repeats } = notification;
  const turn = turnOf(notification);
  if (isQuestion(notification))
    return [id, repeats]
      .filter((it) => it !== undefined)
      .map((it) => `question ${it}`);
  if (type === "answer" && reply_to !== undefined)
    return [`question ${reply_to}`];
  if (turn !== undefined) return [`turn ${turn}`];
  return key !== undefined ? [JSON.stringify([key, project, from, to])] : [];
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
    !row.isKeyed &&
    next.msg === notification.msg &&
    next.from === notification.from &&
    next.type === notification.type &&
    next.project === notification.project
  );
}
