/** Loads data outside the live parts of the page: sessions that have just ended, and old notifications that other items refer to. */

import { Problem } from "./problem.js";
import { isEnded } from "../core/sessions.js";

/** @import { Session } from '../core/types.js' */
/** @import { Store } from './store.js' */

/** The maximum of parallel requests: the browser has six connections, and the person's own calls take precedence. */
const PARALLEL = 2;

export class Archive {
  /** The ids of notifications to load. @type {Set<number>} */
  #missing = new Set();
  #requests = 0;
  /** The sessions that were live at the last change. @type {Map<string, Session>} */
  #live = new Map();

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    const stop = store.watch(["sessions"], () => this.#compare());
    store.closed.addEventListener("abort", stop);
    store.addEventListener("missing", (event) => {
      this.#missing.add(/** @type {CustomEvent<number>} */ (event).detail);
      this.#loadMissing();
    });
  }

  /** Finds sessions that were live and are no longer listed: they have ended, and each is requested once. */
  #compare() {
    const { store } = this;
    if (!store.ready) return;
    for (const [key, session] of this.#live) {
      if (!store.sessions.has(key)) this.#loadSession(session);
    }
    for (const key of store.sessions.keys()) store.endedSessions.delete(key);
    this.#live = new Map(store.sessions);
  }

  /** @param {Session} session */
  async #loadSession({ id, project }) {
    await this.#retryLater(async () => {
      this.#add(
        await this.store.api.get(
          `/sessions/${encodeURIComponent(id)}?project=${encodeURIComponent(project)}`,
        ),
      );
    });
  }

  /** @param {Session} session */
  #add(session) {
    const key = `${session.project}/${session.id}`;
    if (!isEnded(session) || this.store.sessions.has(key)) return;
    this.store.endedSessions.set(key, session);
    this.store.changed("sessions");
  }

  async #loadMissing() {
    if (this.#requests >= PARALLEL) return;
    const [id] = this.#missing;
    if (id === undefined) return;
    this.#requests += 1;
    this.#missing.delete(id);
    await this.#retryLater(async () =>
      this.store.addOlder(id, await this.#get(id)),
    );
    this.#requests -= 1;
    this.#loadMissing();
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
   * Ignores an unreachable hub: the connection's state reports it, and the next change retries.
   *
   * @param {() => Promise<void>} load
   */
  async #retryLater(load) {
    try {
      await load();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }
}
