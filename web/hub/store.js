/** The page's data: loaded once, then updated by events. Elements render from here and keep no copies. */

import { Feed } from "../core/feed.js";
import { toQuery } from "../core/filter.js";
import { Problem } from "./problem.js";

/** @import { Filter } from '../core/filter.js' */
/** @import { Connection, Holder, Need, Notification, Preferences, Session } from '../core/types.js' */

/**
 * @typedef {import('../core/types.js').Schemas['HubInfo']} HubInfo
 * @typedef {'sessions'|'needs'|'feed'|'waiters'|'preferences'|'connection'|'info'} Part
 *
 * @typedef {object} Toast
 * @property {string} text
 * @property {() => void} [undo]
 * @property {Problem} [problem]
 */

/** The number of notifications in a page of older ones. */
const PAGE = 200;
/** The number of older notifications to keep. */
const KEPT = 2000;

export class Store extends EventTarget {
  /** @type {Map<string, Session>} by `project/id` */
  sessions = new Map();
  /** @type {Map<string, Session>} by `project/id` */
  endedSessions = new Map();
  /** The number of ended sessions that the hub knows. */
  endedCount = 0;
  /** The products whose hooks have reported sessions. @type {string[]} */
  reporting = [];
  /** The person's needs, and the answers that are on their way. @type {Need[]} */
  needs = [];
  feed = new Feed();
  /** Notifications that the feed does not have; null for one that the hub no longer has. @type {Map<number, Notification|null>} */
  #older = new Map();
  /** Needs with all that they say, by their ids; null while one is loaded. @type {Map<string, Need|null>} */
  #wholes = new Map();
  /** @type {Map<string, Holder>} by `project/inbox` */
  waiters = new Map();
  /** @type {Preferences} */
  preferences = { quiet: null, mutes: [], notify: [], sound: [] };
  /** @type {Connection} */
  connection = { state: "connecting", since: Date.now() };
  /** @type {HubInfo|null} */
  info = null;
  /** The browsers that are signed in. @type {import('../core/types.js').Schemas['Device'][]} */
  devices = [];
  /** Whether the first load is complete. */
  ready = false;
  /** Whether this tab reads the stream for all tabs. */
  isLeader = false;

  /** @type {Set<Part>} */
  #changed = new Set();
  #clockOffset = 0;
  /** @type {Map<string, Promise<boolean>>} */
  #loading = new Map();
  #close = new AbortController();

  /** @param {import('./api.js').Api} api */
  constructor(api) {
    super();
    this.api = api;
  }

  /** Aborted when the session ends. */
  get closed() {
    return this.#close.signal;
  }

  close() {
    this.#close.abort();
  }

  /** The rights of this device, if it is a paired phone. */
  get access() {
    return this.devices.find(({ own }) => own)?.access;
  }

  /** Whether the hub takes only reads from this device. */
  get onlyReads() {
    return this.access === "reads";
  }

  /** The hub's clock, in ms since 1970. */
  now() {
    return Date.now() + this.#clockOffset;
  }

  /** Reports changed parts; readers are notified once a frame. @param {...Part} parts */
  changed(...parts) {
    const first = this.#changed.size === 0;
    for (const part of parts) this.#changed.add(part);
    if (!first || parts.length === 0) return;
    // A hidden page draws no frames, but its title must still change.
    if (document.hidden) setTimeout(() => this.#dispatchChange());
    else requestAnimationFrame(() => this.#dispatchChange());
  }

  #dispatchChange() {
    const parts = this.#changed;
    this.#changed = new Set();
    this.dispatchEvent(new CustomEvent("change", { detail: { parts } }));
  }

  /**
   * Calls `reader` now and whenever one of these parts changes.
   *
   * @param {Part[]} parts
   * @param {() => void} reader
   * @returns {() => void} stops it
   */
  watch(parts, reader) {
    const on = (/** @type {Event} */ event) => {
      const changed = /** @type {CustomEvent<{parts: Set<Part>}>} */ (event)
        .detail.parts;
      if (parts.some((part) => changed.has(part))) reader();
    };
    this.addEventListener("change", on);
    reader();
    return () => this.removeEventListener("change", on);
  }

  /** @param {Omit<Connection, 'since'>} connection */
  setConnection(connection) {
    const same = connection.state === this.connection.state;
    this.connection = {
      since: same ? this.connection.since : Date.now(),
      ...connection,
    };
    this.changed("connection");
  }

  /** Loads all data again; returns the head of the log before the data was read, and what names the lists in it. */
  async load() {
    /** @type {import('../core/types.js').Schemas['Dashboard']} */
    const {
      hub,
      sessions,
      needs,
      wholes,
      history,
      preferences,
      devices,
      tags,
    } = await this.api.get("/dashboard");
    const offset = Date.parse(hub.now) - Date.now();
    this.#clockOffset = Math.abs(offset) > 1000 ? offset : 0;
    this.info = hub;
    this.feed.reset();
    this.feed.addPage({}, history);
    this.preferences = preferences;
    this.devices = devices;
    this.setSessions(sessions);
    this.setNeeds(needs);
    this.#wholes = new Map(wholes.map((whole) => [whole.id, whole]));
    this.ready = true;
    this.changed("info", "sessions", "feed", "preferences");
    return { epoch: hub.epoch, head: hub.head, tags };
  }

  /** @param {import('../core/types.js').Schemas['SessionList']} list */
  setSessions(list) {
    this.updateSessions({ whole: true, gone: [], ...list });
  }

  /** @param {Need[]} needs the whole list */
  setNeeds(needs) {
    const listed = new Map(needs.map(({ id, revision }) => [id, revision]));
    // Needs that have left the list, or changed, are loaded again when they are looked at.
    for (const { id, revision } of this.needs)
      if (listed.get(id) !== revision) this.#wholes.delete(id);
    this.needs = needs;
    this.changed("needs");
  }

  /** A need with all that it says; undefined until it is loaded. @param {string} id */
  whole(id) {
    if (!this.#wholes.has(id)) this.#loadWhole(id);
    return this.#wholes.get(id) ?? undefined;
  }

  /** The words of a need; their beginning until they are loaded. @param {Need} need */
  wordsOf({ id, brief, complete }) {
    return complete ? brief : (this.whole(id)?.text ?? brief);
  }

  /** @param {string} id */
  async #loadWhole(id) {
    this.#wholes.set(id, null);
    for (const oldest of this.#wholes.keys()) {
      if (this.#wholes.size <= KEPT) break;
      this.#wholes.delete(oldest);
    }
    try {
      this.#wholes.set(id, await this.api.get(`/needs/${id}`));
      this.changed("needs");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // A need that is gone stays so; else it is loaded when it is looked at again.
      if (error.status !== 404) this.#wholes.delete(id);
    }
  }

  /** Applies the changes of the list of sessions. @param {import('../core/types.js').Schemas['SessionsEvent']} changes */
  updateSessions({ whole, sessions, gone, ended, reporting }) {
    if (whole) this.sessions.clear();
    for (const session of sessions)
      this.sessions.set(`${session.project}/${session.id}`, session);
    for (const { project, id } of gone)
      this.sessions.delete(`${project}/${id}`);
    this.endedCount = ended;
    this.reporting = reporting;
    this.changed("sessions");
  }

  /** Loads the sessions that have ended, which are many and seldom looked at. */
  async loadEnded() {
    /** @type {{sessions: Session[]}} */
    const { sessions } = await this.api.get("/sessions?all=true");
    for (const session of sessions.filter(({ phase }) => phase.name === "gone"))
      this.endedSessions.set(`${session.project}/${session.id}`, session);
    this.changed("sessions");
  }

  /**
   * Loads a page of older notifications into the feed. With a filter, the hub returns only matches, with gaps between.
   *
   * @param {Filter} [filter]
   * @returns {Promise<boolean>} whether there may be more
   */
  loadOlder(filter = {}) {
    const key = toQuery(filter).toString();
    const running =
      this.#loading.get(key) ??
      this.#page(filter).finally(() => this.#loading.delete(key));
    this.#loading.set(key, running);
    return running;
  }

  /** @param {Filter} filter */
  async #page(filter) {
    const { before, end } = this.feed.nextPage(filter);
    if (end) return false;
    const page = toQuery(filter);
    page.set("limit", String(PAGE));
    if (before !== undefined) page.set("before", String(before));
    this.feed.addPage(filter, await this.api.get(`/notifications?${page}`));
    this.changed("feed");
    return !this.feed.nextPage(filter).end;
  }

  /**
   * A notification, from the feed or older; undefined until it is loaded, null if the hub no longer has it.
   *
   * @param {number} id
   * @returns {Notification|null|undefined}
   */
  notification(id) {
    const known = this.feed.get(id) ?? this.#older.get(id);
    if (known === undefined && this.ready)
      this.dispatchEvent(new CustomEvent("missing", { detail: id }));
    return known;
  }

  /**
   * @param {number} id
   * @param {Notification|null} notification
   */
  addOlder(id, notification) {
    this.#older.set(id, notification);
    for (const oldest of this.#older.keys()) {
      if (this.#older.size <= KEPT) break;
      this.#older.delete(oldest);
    }
    this.changed("feed");
  }

  /**
   * Sets or removes the person's marks in the page.
   *
   * @param {Parameters<Feed['markSeen']>[0]} mark
   * @returns {number[]} the ids whose mark changed
   */
  markSeen(mark) {
    const { ids, up_to, ranges = [], seen } = mark;
    const changed = this.feed.markSeen(mark);
    const chosen = (/** @type {number} */ id) =>
      ids.includes(id) ||
      (up_to && id <= up_to) ||
      ranges.some(([first, last]) => first <= id && id <= last);
    for (const [id, older] of this.#older) {
      if (!older || older.seen === seen || !chosen(id)) continue;
      this.#older.set(id, { ...older, seen });
      changed.push(id);
    }
    this.changed("feed");
    return changed;
  }

  /** @param {Preferences} preferences */
  async savePreferences(preferences) {
    this.preferences = await this.api.put("/preferences", preferences);
    this.changed("preferences");
  }

  /**
   * Shows a short message, optionally with an undo action.
   *
   * @param {string} text
   * @param {Omit<Toast, 'text'>} [more]
   */
  toast(text, more = {}) {
    /** @type {CustomEvent<Toast>} */
    const event = new CustomEvent("toast", { detail: { text, ...more } });
    this.dispatchEvent(event);
  }

  /**
   * Performs an action that the hub may refuse, and shows a refusal.
   *
   * @param {() => Promise<unknown>} action
   * @returns {Promise<boolean>} whether it succeeded
   */
  async attempt(action) {
    try {
      await action();
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.toast(error.message, { problem: error });
      return false;
    }
  }
}
