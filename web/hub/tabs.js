/** Messages between the tabs of one browser: that one signed in, and the events of the stream that the tabs share. */

/** @import { ServerEvent } from '../core/sse.js' */
/** @import { Connection } from '../core/types.js' */

/**
 * @typedef {{kind: 'signed-in'}
 *   | {kind: 'events', events: ServerEvent[]} | {kind: 'connection', connection: Connection}
 *   | {kind: 'hello'}} Message
 */

export class Tabs {
  #channel = new BroadcastChannel("hub");
  /** @type {Set<(message: Message) => void>} */
  #subscribers = new Set();

  constructor() {
    this.#channel.onmessage = ({ data }) => {
      for (const reader of this.#subscribers) reader(data);
    };
  }

  /** @param {Message} message */
  post(message) {
    this.#channel.postMessage(message);
  }

  /**
   * @param {(message: Message) => void} reader
   * @returns {() => void} stops it
   */
  subscribe(reader) {
    this.#subscribers.add(reader);
    return () => this.#subscribers.delete(reader);
  }

  /**
   * Calls `lead` once this tab becomes the stream's reader: at once, or when the leading tab is closed.
   *
   * @param {() => void} lead
   * @param {AbortSignal} signal
   */
  lead(lead, signal) {
    const held = () => {
      lead();
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve(undefined)),
      );
    };
    navigator.locks.request("hub-stream", { signal }, held).catch(() => {});
  }
}
