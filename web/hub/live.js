/**
 * Keeps a store up to date: one tab reads the stream and forwards its events, and every tab applies them.
 *
 * `GET /dashboard` returns the data and a position in the log from before the data was read; the page applies the events
 * from that position on. So no event is missed, and an event that arrives twice is recognised by its number. A Web Lock
 * elects the tab that reads the stream; when that tab is closed, another one continues after the last event.
 */

import { Stream } from "./stream.js";
import { Problem } from "./problem.js";

/** @import { ServerEvent } from '../core/sse.js' */
/** @import { Connection, Notification, Schemas } from '../core/types.js' */
/** @import { Store } from './store.js' */

const KINDS =
  "notification,sessions,delivery,seen,question,presence,preferences,need";

export class Live {
  /** The place up to which the log was read, `EPOCH-SEQ`. */
  #cursor = "";
  /** Events that arrived while the page was loading. @type {ServerEvent[]|null} */
  #queue = [];
  /** The names of the lists of the last load, until an event changes them. @type {Partial<Record<'sessions_tag'|'needs_tag', string>>} */
  #tags = {};
  /** @type {Stream|null} */
  #stream = null;

  /**
   * @param {Store} store
   * @param {import('./tabs.js').Tabs} tabs
   */
  constructor(store, tabs) {
    this.store = store;
    this.tabs = tabs;
  }

  /** Loads the data and keeps it up to date until the session ends. */
  async start() {
    const { store, tabs } = this;
    const signal = store.closed;
    signal.addEventListener("abort", () => this.#end());
    const unsubscribe = tabs.subscribe((message) => {
      if (message.kind === "events") this.#receive(message.events);
      if (message.kind === "connection")
        this.#noteConnection(message.connection);
      if (message.kind === "hello" && store.isLeader) this.#sendState();
    });
    signal.addEventListener("abort", unsubscribe);
    const reconnect = () => document.hidden || this.#stream?.reconnect();
    addEventListener("online", reconnect, { signal });
    document.addEventListener("visibilitychange", reconnect, { signal });
    await this.#loadUntilDone();
    tabs.lead(() => this.#lead(), signal);
    tabs.post({ kind: "hello" });
  }

  /** The connection of the tab that reads the stream. @param {Connection} connection */
  #noteConnection(connection) {
    if (connection.state !== "live") this.store.api.doubt();
    this.store.setConnection(connection);
  }

  #end() {
    this.#stream?.stop();
    this.store.isLeader = false;
    this.store.setConnection({ state: "signed-out" });
  }

  /** Retries loading until it succeeds, because a hub that is down may return. */
  async #loadUntilDone() {
    const { store } = this;
    for (
      let pause = 500;
      !store.closed.aborted;
      pause = Math.min(pause * 1.5, 10_000)
    ) {
      try {
        return await this.#load();
      } catch (error) {
        if (!(error instanceof Problem) || error.status === 401) throw error;
        store.setConnection({
          state: "retrying",
          retryAt: Date.now() + pause,
          reason: error.message,
        });
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  /** Loads all data; events that arrive in the meantime are applied afterwards, in order. */
  async #load() {
    this.#queue ??= [];
    const { epoch, head, tags } = await this.store.load();
    this.#tags = { sessions_tag: tags.sessions, needs_tag: tags.needs };
    this.#cursor ||= `${epoch}-${head}`;
    const held = this.#queue ?? [];
    this.#queue = null;
    this.#apply(held);
  }

  #lead() {
    const { store, tabs } = this;
    store.isLeader = true;
    this.#stream = new Stream(
      store.api,
      {
        events: (events) => {
          tabs.post({ kind: "events", events });
          this.#receive(events);
        },
        connection: (connection) => {
          store.setConnection(connection);
          tabs.post({ kind: "connection", connection: store.connection });
        },
      },
      () => `${new URLSearchParams({ kinds: KINDS, ...this.#tags })}`,
    );
    this.#stream.run(() => this.#cursor);
  }

  /** Sends a new tab the state that no later event repeats. */
  #sendState() {
    this.tabs.post({ kind: "connection", connection: this.store.connection });
    const waiters = [...this.store.waiters].map(([key, waiter]) => {
      const slash = key.lastIndexOf("/");
      return {
        project: key.slice(0, slash),
        inbox: key.slice(slash + 1),
        waiter,
      };
    });
    this.tabs.post({
      kind: "events",
      events: [
        { event: "presence", data: JSON.stringify({ waiters, held: [] }) },
      ],
    });
  }

  /** @param {ServerEvent[]} events */
  #receive(events) {
    for (const { id } of events) this.#cursor = id ?? this.#cursor;
    if (this.#queue) this.#queue.push(...events);
    else this.#apply(events);
  }

  /** @param {ServerEvent[]} events */
  #apply(events) {
    /** @type {Notification[]} */
    let arrived = [];
    const add = () => {
      if (arrived.length === 0) return;
      this.store.feed.add(arrived);
      this.store.changed("feed");
      arrived = [];
    };
    for (const { event, data } of events) {
      const body = JSON.parse(data);
      if (event === "notification") arrived.push(body);
      else {
        // It may be about one of them.
        add();
        this.#applyEvent(event, body);
      }
    }
    add();
  }

  /**
   * @param {string} event
   * @param {any} body
   */
  #applyEvent(event, body) {
    const { store } = this;
    if (event === "seen") {
      store.markSeen(body);
    } else if (event === "delivery") {
      store.feed.applyDelivery(body);
      store.changed("feed");
    } else if (event === "question") {
      if (body.what === "settled") store.feed.settleQuestion(body);
      store.changed("feed");
    } else if (event === "sessions") {
      delete this.#tags.sessions_tag;
      store.updateSessions(body);
    } else if (event === "presence") {
      this.#applyPresence(body);
    } else if (event === "need") {
      delete this.#tags.needs_tag;
      store.setNeeds(body.needs);
    } else if (event === "preferences") {
      store.preferences = body;
      store.changed("preferences");
    } else if (event === "reset" || event === "gap") {
      this.#reload(event, body);
    }
  }

  /** @param {Schemas['PresenceEvent']} presence */
  #applyPresence({ waiters }) {
    this.store.waiters = new Map(
      waiters.map((it) => [`${it.project}/${it.inbox}`, it.waiter]),
    );
    this.store.changed("waiters");
  }

  /**
   * @param {'reset'|'gap'} event
   * @param {Partial<Schemas['GapEvent']>} body
   */
  async #reload(event, { from, to }) {
    this.#queue ??= [];
    this.store.toast(
      event === "reset"
        ? "The hub has another log now. The page was reloaded."
        : `The hub no longer has the notifications ${from} to ${to}. The page was reloaded.`,
    );
    await this.#loadUntilDone();
  }
}
