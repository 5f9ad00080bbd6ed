/** Keeps a store up to date: one tab reads the stream and forwards its events, and every tab applies them. */

import { Stream } from './stream.js';
import { Problem } from './api.js';

/**
 * @typedef {import('../core/sse.js').ServerEvent} ServerEvent
 * @typedef {import('../core/types.js').Notification} Notification
 * @typedef {import('../core/types.js').Schemas} Schemas
 * @typedef {import('./store.js').Store} Store
 */

/** The shortest interval between requests for the sessions, in ms. */
const REFRESH = 250;
/** The longest interval between these requests, in ms, because a session that falls silent causes no event. */
const PATROL = 30_000;

export class Live {
  /** The place up to which the log was read, `EPOCH-SEQ`. */
  #cursor = '';
  /** Events that arrived while the page was loading. @type {ServerEvent[]|null} */
  #held = [];
  /** Approvals for which a hook waits now. @type {Set<number>} */
  #heldByHooks = new Set();
  #refreshed = 0;
  #refreshing = false;
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
    signal.addEventListener('abort', () => this.#end());
    const deaf = tabs.hear((message) => {
      if (message.kind === 'events') this.#take(message.events);
      if (message.kind === 'connection') store.connected(message.connection);
      if (message.kind === 'hello' && store.leads) this.#introduce();
    });
    signal.addEventListener('abort', deaf);
    const patrol = setInterval(() => document.hidden || this.#refreshSessions(), PATROL);
    signal.addEventListener('abort', () => clearInterval(patrol));
    const hurry = () => document.hidden || this.#stream?.hurry();
    addEventListener('online', hurry, { signal });
    document.addEventListener('visibilitychange', hurry, { signal });
    await this.#begin();
    tabs.candidate(() => this.#lead(), signal);
    tabs.tell({ kind: 'hello' });
  }

  #end() {
    this.#stream?.stop();
    this.store.leads = false;
    this.store.connected({ state: 'signed-out' });
  }

  /** Retries loading until it succeeds, because a hub that is down may return. */
  async #begin() {
    const { store } = this;
    for (let pause = 500; !store.closed.aborted; pause = Math.min(pause * 1.5, 10_000)) {
      try {
        const about = await store.ask();
        this.#cursor ||= `${about.epoch}-${about.head}`;
        return await this.#load();
      } catch (error) {
        if (!(error instanceof Problem) || error.status === 401) throw error;
        store.connected({ state: 'retrying', retryAt: Date.now() + pause, reason: error.message });
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  /** Loads all data; events that arrive in the meantime are applied afterwards, in order. */
  async #load() {
    this.#held ??= [];
    await this.store.load();
    const held = this.#held ?? [];
    this.#held = null;
    this.#apply(held, false);
  }

  #lead() {
    const { store, tabs } = this;
    store.leads = true;
    this.#stream = new Stream(store.api, {
      events: (events) => {
        tabs.tell({ kind: 'events', events });
        this.#take(events);
      },
      connection: (connection) => {
        store.connected(connection);
        tabs.tell({ kind: 'connection', connection: store.connection });
      },
    });
    this.#stream.run(() => this.#cursor);
  }

  /** Sends a new tab the state that no later event repeats. */
  #introduce() {
    this.tabs.tell({ kind: 'connection', connection: this.store.connection });
    const waiters = [...this.store.waiters].map(([place, waiter]) => {
      const slash = place.lastIndexOf('/');
      return { project: place.slice(0, slash), inbox: place.slice(slash + 1), waiter };
    });
    this.tabs.tell({ kind: 'events', events: [{ event: 'presence', data: JSON.stringify({ waiters, held: [...this.#heldByHooks] }) }] });
  }

  /** @param {ServerEvent[]} events */
  #take(events) {
    for (const { id } of events) this.#cursor = id ?? this.#cursor;
    if (this.#held) this.#held.push(...events);
    else this.#apply(events, true);
  }

  /**
   * @param {ServerEvent[]} events
   * @param {boolean} news whether they arrived after the page was loaded
   */
  #apply(events, news) {
    /** @type {Notification[]} */
    const arrived = [];
    for (const { event, data } of events) {
      const body = JSON.parse(data);
      if (event === 'notification') arrived.push(body);
      else this.#one(event, body);
    }
    if (arrived.length > 0) this.#arrive(arrived, news);
  }

  /**
   * @param {Notification[]} notifications
   * @param {boolean} news
   */
  #arrive(notifications, news) {
    const { store } = this;
    const unknown = notifications.filter(({ id }) => !store.feed.get(id));
    store.feed.add(notifications);
    for (const { id, type, reply_to } of unknown) {
      if (type === 'question' || type === 'approval') this.#question(id);
      if (type === 'answer' && reply_to) this.#question(reply_to);
    }
    store.touch('feed');
    this.#refreshSessions();
    if (news && store.leads && unknown.length > 0) {
      store.dispatchEvent(new CustomEvent('arrived', { detail: { notifications: unknown } }));
    }
  }

  /**
   * @param {string} event
   * @param {any} body
   */
  #one(event, body) {
    const { store } = this;
    if (event === 'seen') {
      store.markSeen(body);
      if (body.seen) this.#settled(body.ids);
    } else if (event === 'delivery') {
      store.feed.delivery(body);
      store.touch('feed');
      this.#refreshSessions();
    } else if (event === 'question') {
      this.#changed(body);
    } else if (event === 'session' || event === 'listener') {
      this.#refreshSessions();
    } else if (event === 'presence') {
      this.#presence(body);
    } else if (event === 'preferences') {
      store.preferences = body;
      store.touch('preferences');
    } else if (event === 'reset' || event === 'gap') {
      this.#lost(event, body);
    }
  }

  /** @param {Schemas['NewsEvent']} body */
  #changed({ id = 0, what, state, by }) {
    const known = this.store.questions.get(id);
    if (known) {
      // The event alone removes the question from the list of needs; the answer's text is loaded afterwards.
      const now = state ?? (what === 'claimed' ? 'claimed' : known.state);
      this.store.questions.set(id, { ...known, state: now, by: by ?? known.by });
      this.store.touch('questions');
    }
    if (what === 'settled') this.#settled([id]);
    this.#question(id);
  }

  /** @param {number} id */
  #question(id) {
    this.store.refreshQuestion(id).catch((error) => {
      if (!(error instanceof Problem)) throw error;
    });
  }

  /** @param {number[]} ids */
  #settled(ids) {
    this.store.dispatchEvent(new CustomEvent('settled', { detail: { ids } }));
  }

  /** @param {Schemas['PresenceEvent']} presence */
  #presence({ waiters, held }) {
    this.store.waiters = new Map(waiters.map((it) => [`${it.project}/${it.inbox}`, it.waiter]));
    this.store.touch('waiters');
    this.#refreshSessions();
    // Whether the page can answer an approval depends on whether a hook holds it.
    const before = this.#heldByHooks;
    this.#heldByHooks = new Set(held);
    for (const id of new Set([...held, ...before])) {
      if (before.has(id) !== this.#heldByHooks.has(id)) this.#question(id);
    }
  }

  /**
   * @param {'reset'|'gap'} event
   * @param {Partial<Schemas['GapEvent']>} body
   */
  async #lost(event, { from, to }) {
    this.#held ??= [];
    this.store.toast(
      event === 'reset'
        ? 'The hub has another log than before: this page was loaded anew.'
        : `Notifications ${from} to ${to} are no longer kept: this page was loaded anew.`,
    );
    await this.#begin();
  }

  /** Requests the sessions soon, but at most once an interval. */
  #refreshSessions() {
    if (this.#refreshing) return;
    this.#refreshing = true;
    const wait = Math.max(0, this.#refreshed + REFRESH - Date.now());
    setTimeout(async () => {
      this.#refreshing = false;
      this.#refreshed = Date.now();
      try {
        const { sessions } = await this.store.api.get('/sessions');
        this.store.setSessions(sessions);
      } catch (error) {
        // The stream reports that the hub is unreachable, and the next event retries this request.
        if (!(error instanceof Problem)) throw error;
      }
    }, wait);
  }
}
