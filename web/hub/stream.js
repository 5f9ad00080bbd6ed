/** The event stream, read by fetch, because EventSource cannot send a token; it resumes where it broke off. */

import { EventParser } from "../core/sse.js";
import { Problem } from "./problem.js";

/** @import { ServerEvent } from '../core/sse.js' */

/** The silence after which the connection counts as dead, in ms; the hub sends data at least every 15 s. */
const MAX_SILENCE = 40_000;
/** The longest pause before another attempt, in ms. */
const MAX_PAUSE = 10_000;
/** The duration after which a connection counts as good, in ms: when it breaks, the stream reconnects at once. */
const STABLE_AFTER = 2_000;

export class Stream {
  #attempts = 0;
  #retry = 1000;
  /** @type {AbortController|null} */
  #stop = null;
  /** @type {(() => void)|null} */
  #endPause = null;

  /**
   * @param {import('./api.js').Api} api
   * @param {object} on
   * @param {(events: ServerEvent[]) => void} on.events
   * @param {(connection: {state: 'connecting'|'live'|'retrying', retryAt?: number, reason?: string}) => void} on.connection
   * @param {() => string} query called before each attempt
   */
  constructor(api, on, query) {
    this.api = api;
    this.on = on;
    this.query = query;
  }

  /**
   * Reads the stream until it is stopped.
   *
   * @param {() => string} cursor the place at which to begin, empty for now; called before each attempt
   */
  async run(cursor) {
    const stop = new AbortController();
    this.#stop = stop;
    this.on.connection({ state: "connecting" });
    while (!stop.signal.aborted) {
      let reason = "the connection was lost";
      try {
        await this.#read(cursor(), stop.signal);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof Problem) reason = error.message;
        if (error instanceof Problem && error.status === 401) return;
      }
      if (stop.signal.aborted) return;
      await this.#pause(reason);
    }
  }

  /** Reconnects at once. */
  reconnect() {
    this.#endPause?.();
  }

  stop() {
    this.#stop?.abort();
    this.#endPause?.();
  }

  /**
   * @param {string} cursor
   * @param {AbortSignal} stop
   */
  async #read(cursor, stop) {
    const connection = new AbortController();
    const abort = () => connection.abort();
    stop.addEventListener("abort", abort);
    let silence = setTimeout(abort, MAX_SILENCE);
    let since = Infinity;
    try {
      const headers = {
        ...(cursor && { "last-event-id": cursor }),
        accept: "text/event-stream",
      };
      const response = await this.api.stream(
        `/events?${this.query()}`,
        headers,
        connection.signal,
      );
      const reader = /** @type {ReadableStream<Uint8Array>} */ (
        response.body
      ).getReader();
      const text = new TextDecoder();
      const parser = new EventParser();
      since = Date.now();
      this.on.connection({ state: "live" });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(abort, MAX_SILENCE);
        const events = parser.push(text.decode(value, { stream: true }));
        this.#retry = parser.retry ?? this.#retry;
        if (events.length > 0) this.on.events(events);
      }
    } finally {
      this.api.doubt();
      clearTimeout(silence);
      stop.removeEventListener("abort", abort);
      if (Date.now() - since > STABLE_AFTER) this.#attempts = 0;
    }
  }

  /** @param {string} reason */
  async #pause(reason) {
    const ms = Math.min(
      MAX_PAUSE,
      this.#attempts === 0 ? 100 : this.#retry * 1.5 ** (this.#attempts - 1),
    );
    this.#attempts += 1;
    this.on.connection({ state: "retrying", retryAt: Date.now() + ms, reason });
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
    this.#endPause = null;
  }
}
