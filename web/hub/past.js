/** Data outside the live parts of the page: ended sessions, and old notifications that other items refer to. */

import { Problem } from './api.js';
import { isOver } from '../core/sessions.js';

/**
 * @typedef {import('../core/types.js').Session} Session
 * @typedef {import('../core/types.js').Notification} Notification
 * @typedef {import('./store.js').Store} Store
 */

/** The maximum of parallel requests: the browser has six connections, and the person's own calls take precedence. */
const AT_ONCE = 2;
/** The number of old notifications to keep. */
const KEPT = 2000;

export class Past {
  /** Ended sessions, by `project/id`. @type {Map<string, Session>} */
  sessions = new Map();
  /** Old notifications by id; null for one that the hub no longer has. @type {Map<number, Notification|null>} */
  #found = new Map();
  /** @type {Set<number>} */
  #wanted = new Set();
  #asking = 0;
  /** @type {Map<string, Session>} */
  #alive = new Map();
  #loaded = false;

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    const stop = store.watch(['sessions'], () => this.#compare());
    store.live.ended.addEventListener('abort', stop);
    store.addEventListener('settled', (event) => this.#again(/** @type {CustomEvent<{ids: number[]}>} */ (event).detail.ids));
  }

  /**
   * A notification, from the feed or from history; undefined until it is loaded, null if it is no longer kept.
   *
   * @param {number} id
   * @returns {Notification|null|undefined}
   */
  notification(id) {
    const known = this.store.feed.get(id) ?? this.#found.get(id);
    if (known === undefined && this.store.ready) {
      this.#wanted.add(id);
      this.#ask();
    }
    return known;
  }

  /**
   * Sets the person's mark on a notification, in the page and at the hub.
   *
   * @param {number} id
   * @param {boolean} seen
   */
  async mark(id, seen) {
    const path = `/notifications/${id}/seen`;
    await (seen ? this.store.api.put(path) : this.store.api.delete(path));
    const old = this.#found.get(id);
    if (old) this.#found.set(id, { ...old, seen });
    this.store.feed.markSeen({ ids: [id], seen });
    this.store.touch('feed');
  }

  /** Finds sessions that were live and are no longer listed: they have ended, and each is requested once. */
  #compare() {
    const { store } = this;
    if (!store.ready) return;
    if (!this.#loaded) this.#load();
    for (const [place, session] of this.#alive) {
      if (!store.sessions.has(place)) this.#over(session);
    }
    for (const place of store.sessions.keys()) this.sessions.delete(place);
    this.#alive = new Map(store.sessions);
  }

  async #load() {
    this.#loaded = true;
    await this.#quietly(async () => {
      const { sessions } = await this.store.api.get('/sessions?all=true');
      for (const session of sessions) this.#keep(session);
    });
  }

  /** @param {Session} session */
  async #over({ id, project }) {
    await this.#quietly(async () => {
      this.#keep(await this.store.api.get(`/sessions/${encodeURIComponent(id)}?project=${encodeURIComponent(project)}`));
    });
  }

  /** @param {Session} session */
  #keep(session) {
    const place = `${session.project}/${session.id}`;
    if (!isOver(session) || this.store.sessions.has(place)) return;
    this.sessions.set(place, session);
    this.store.touch('sessions');
  }

  /** Loads notifications again, because their marks may have changed. @param {number[]} ids */
  #again(ids) {
    for (const id of ids) if (this.#found.delete(id)) this.notification(id);
  }

  async #ask() {
    if (this.#asking >= AT_ONCE) return;
    const [id] = this.#wanted;
    if (id === undefined) return;
    this.#asking += 1;
    this.#wanted.delete(id);
    await this.#quietly(async () => this.#keepFound(id, await this.#get(id)));
    this.#asking -= 1;
    this.#ask();
  }

  /** @param {number} id */
  async #get(id) {
    try {
      return await this.store.api.get(`/notifications/${id}`);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    }
  }

  /**
   * @param {number} id
   * @param {Notification|null} notification
   */
  #keepFound(id, notification) {
    this.#found.set(id, notification);
    for (const old of this.#found.keys()) {
      if (this.#found.size <= KEPT) break;
      this.#found.delete(old);
    }
    this.store.touch('feed');
  }

  /**
   * Ignores an unreachable hub: the connection's state reports it, and the next change retries.
   *
   * @param {() => Promise<void>} doing
   */
  async #quietly(doing) {
    try {
      await doing();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }
}
