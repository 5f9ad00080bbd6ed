/**
 * The notifications, newest first: arrivals, pages of history in any order, and their deliveries. Pure: no clock, no
 * I/O.
 *
 * The hub's log is long, so the feed records the part for which it is complete. Arrivals have no gaps, and `page`
 * records how far down a page of history went, for all notifications or for those of a filter. Rows show nothing below
 * that, so a gap is never mistaken for silence.
 */

import { isSame, normalize, toQuery } from "./filter.js";
import { SortedList } from "./sorted-list.js";
import { Rows } from "./rows.js";

/** @import { Filter } from './filter.js' */
/** @import { Notification, Schemas } from './types.js' */

/** The number of filters whose rows are kept up to date; the rows of other filters are rebuilt on use. */
const KEPT_VIEWS = 4;

/** The status of a notification after a delivery step; `emitted` does not change it. @type {Partial<Record<Schemas['DeliveryEvent']['state'], Schemas['Status']>>} */
const STATUS = {
  returned: "pending",
  acked: "acked",
  expired: "expired",
  evicted: "evicted",
  superseded: "superseded",
  withdrawn: "withdrawn",
  dropped: "dropped",
  answered: "answered",
};

export class Feed {
  /** @type {SortedList<Notification>} */
  #all = new SortedList();
  /** @type {Map<number, Notification>} */
  #byId = new Map();
  #unseen = 0;
  /**
   * The id down to which the feed is complete, by the hub's query of a filter; 0 is the log's start.
   *
   * @type {Map<string, number>}
   */
  #floors = new Map();
  /** Least recently used first. @type {Rows[]} */
  #views = [];

  /** The number of status changes of each notification. @type {WeakMap<Notification, number>} */
  #changes = new WeakMap();
  /** Replies by the id that they reply to. @type {Map<number, Notification[]>} */
  #replies = new Map();

  /** Increases with every reply that is added. */
  repliesVersion = 0;

  get size() {
    return this.#all.length;
  }

  /** The number of loaded notifications that the person has not seen. */
  get unseen() {
    return this.#unseen;
  }

  /** The highest id, 0 if empty. */
  get newest() {
    return this.#all.newest?.id ?? 0;
  }

  /** The lowest id, 0 if empty. */
  get oldest() {
    return this.#all.oldest?.id ?? 0;
  }

  /** @param {number} id */
  get(id) {
    return this.#byId.get(id);
  }

  /**
   * The loaded replies to a notification.
   *
   * @param {number} id
   * @returns {Notification[]}
   */
  replies(id) {
    return this.#replies.get(id) ?? [];
  }

  /**
   * The number of status changes of a notification since it was loaded; after each, its trace is longer.
   *
   * @param {number} id
   */
  statusChanges(id) {
    const notification = this.#byId.get(id);
    return (notification && this.#changes.get(notification)) ?? 0;
  }

  /** From the newest to the oldest. @returns {Iterator<Notification>} */
  [Symbol.iterator]() {
    return this.#all[Symbol.iterator]();
  }

  /**
   * Adds notifications in any order; known ones are only updated.
   *
   * @param {Notification[]} notifications
   * @returns {Notification[]} those that are new
   */
  add(notifications) {
    const head = this.newest;
    const added = notifications.filter((notification) =>
      this.#insert(notification),
    );
    added.sort((one, other) => other.id - one.id);
    const rising = added.filter(({ id }) => id > head).reverse();
    const others = added.slice(rising.length);
    // Both ends grow outwards, so no element is moved.
    for (const notification of [...rising, ...others])
      this.#all.add(notification);
    this.#updateViews(rising, others);
    return added;
  }

  /**
   * Adds a page of `GET /notifications`, which went from `nextPage(filter).before` down to `next`.
   *
   * @param {Filter} filter
   * @param {Pick<Schemas['HistoryPage'], 'notifications'|'next'>} page
   */
  addPage(filter, { notifications, next }) {
    const asked = toQuery(filter).toString();
    // Until the first page arrives, the rows show every known notification, with gaps.
    if (!this.#floors.has(""))
      for (const view of this.#views) view.stale = true;
    this.#floors.set(asked, next ?? 0);
    return this.add(notifications);
  }

  /**
   * The start of a filter's next older page, and whether the end is reached.
   *
   * @param {Filter} [filter]
   * @returns {{before: number|undefined, end: boolean}}
   */
  nextPage(filter = {}) {
    const floors = [
      this.#floors.get(""),
      this.#floors.get(toQuery(filter).toString()),
    ];
    const known = floors.filter((floor) => floor !== undefined);
    const before = known.length > 0 ? Math.min(...known) : undefined;
    return { before, end: before === 0 };
  }

  /**
   * Sets or removes the person's marks.
   *
   * @param {Pick<Schemas['SeenEvent'], 'ids'|'up_to'|'seen'> & {ranges?: number[][]}} mark
   * @returns {number[]} those whose mark changed, newest first
   */
  markSeen({ ids, up_to, ranges = [], seen }) {
    const marked = new Set(ids);
    /** @type {number[]} */
    const changed = [];
    const mark = (/** @type {Notification|undefined} */ notification) => {
      if (!notification || Boolean(notification.seen) === seen) return;
      notification.seen = seen;
      changed.push(notification.id);
    };
    for (const [first, last] of up_to ? [...ranges, [1, up_to]] : ranges) {
      for (
        let index = this.#all.indexOf(last);
        (this.#all.at(index)?.id ?? 0) >= first;
        index += 1
      )
        mark(this.#all.at(index));
    }
    for (const id of marked) {
      mark(this.#byId.get(id));
      this.#countChange(id);
    }
    this.#unseen += seen ? -changed.length : changed.length;
    return changed.sort((one, other) => other - one);
  }

  /**
   * Applies a delivery step to notifications, in one inbox or in all.
   *
   * @param {Pick<Schemas['DeliveryEvent'], 'ids'|'state'>} delivery
   */
  applyDelivery({ ids, state }) {
    for (const id of ids) {
      const notification = this.#byId.get(id);
      if (notification)
        notification.status = STATUS[state] ?? notification.status;
      if (state === "acked") this.#takeAnswer(notification);
      this.#countChange(id);
    }
  }

  /**
   * Notes how a question was settled. An answer that counted may turn out to have lost against that of the agent's terminal.
   *
   * @param {Pick<Schemas['NewsEvent'], 'id'|'answer'|'ended'>} settled
   */
  settleQuestion({ id = 0, answer, ended }) {
    const question = this.#byId.get(id);
    if (!question) return;
    question.answer = answer;
    question.ended = ended;
    if (answer === undefined) question.delivery = undefined;
    this.#countChange(id);
  }

  /** Clears the feed, because the log is another one or was not read for too long. */
  reset() {
    this.#all = new SortedList();
    this.#byId = new Map();
    this.#replies = new Map();
    this.#unseen = 0;
    this.#floors = new Map();
    this.#views = [];
  }

  /**
   * The rows of a filter, kept up to date while it is one of the last few that were used. With `unseen`, a row that is
   * marked in the meantime stays until {@link invalidate}.
   *
   * @param {Filter} [filter]
   * @param {number} [most] notifications to examine in this call; a new filter in a long feed would block a frame
   * @returns {Rows} `partial` if more remain to be examined
   */
  rows(filter = {}, most = Infinity) {
    const wanted = normalize(filter);
    const index = this.#views.findIndex((view) => isSame(view.filter, wanted));
    const kept = index >= 0 ? this.#views.splice(index, 1)[0] : undefined;
    const view = kept && !kept.stale ? kept : new Rows(wanted);
    this.#views.push(view);
    if (this.#views.length > KEPT_VIEWS) this.#views.shift();
    this.#extend(view, most);
    return view;
  }

  /** Rebuilds the rows of a filter at their next use. @param {Filter} filter */
  invalidate(filter) {
    for (const view of this.#views) view.stale ||= isSame(view.filter, filter);
  }

  /**
   * @param {Notification} notification
   * @returns {boolean} whether it is new
   */
  #insert(notification) {
    const known = this.#byId.get(notification.id);
    if (!known) {
      // The stream does not contain marks; the hub marks the person's own notifications at once.
      notification.seen ??= notification.from === "person";
      this.#byId.set(notification.id, notification);
      if (!notification.seen) this.#unseen += 1;
      this.#addReply(notification);
      return true;
    }
    // History contains the status of a notification; the stream does not. The mark stays: each change of it is an event,
    // and history that was requested before the person's last change would undo that.
    if (notification.status !== undefined) known.status = notification.status;
    if (notification.delivery !== undefined)
      known.delivery = notification.delivery;
    if (notification.answer ?? notification.ended) {
      known.answer = notification.answer;
      known.ended = notification.ended;
    }
    return false;
  }

  /** The asker has the answer to its question. @param {Notification} [answer] */
  #takeAnswer(answer) {
    const question =
      answer?.type === "answer" &&
      answer.reply_to !== undefined &&
      this.#byId.get(answer.reply_to);
    if (question) question.delivery = "taken";
  }

  /** @param {number} id */
  #countChange(id) {
    const notification = this.#byId.get(id);
    if (notification)
      this.#changes.set(notification, this.statusChanges(id) + 1);
  }

  /** @param {Notification} notification */
  #addReply(notification) {
    if (notification.reply_to === undefined) return;
    const others = this.#replies.get(notification.reply_to);
    if (others) others.push(notification);
    else this.#replies.set(notification.reply_to, [notification]);
    this.repliesVersion += 1;
  }

  /**
   * @param {Notification[]} rising newer than all before, oldest first
   * @param {Notification[]} others
   */
  #updateViews(rising, others) {
    for (const view of this.#views) {
      view.stale ||= others.some(({ id }) => id > view.floor);
      if (!view.stale)
        for (const notification of rising) view.addNewer(notification);
    }
  }

  /**
   * Extends a view downwards, as far as the feed has no gaps.
   *
   * @param {Rows} view
   * @param {number} most
   */
  #extend(view, most) {
    const floor = this.nextPage(view.filter).before ?? 0;
    view.partial = false;
    if (view.floor <= floor) return;
    const from = this.#indexBelow(view.floor);
    for (let index = from; index < this.size; index += 1) {
      const notification = /** @type {Notification} */ (this.#all.at(index));
      if (notification.id < floor) break;
      view.partial = index - from >= most;
      if (view.partial) return;
      view.addOlder(notification);
    }
    if (floor > 0) view.floor = floor;
  }

  /**
   * The index of the first notification below a place.
   *
   * @param {number} id
   */
  #indexBelow(id) {
    return id === Infinity ? 0 : this.#all.indexOf(id - 1);
  }
}
