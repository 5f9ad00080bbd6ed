/**
 * Parses server-sent events from chunks of text, by the HTML standard's "parsing an event stream".
 *
 * @typedef {object} ServerEvent
 * @property {string} event name; `message` by default
 * @property {string} data
 * @property {string} [id] the last id in the stream
 */

export class EventParser {
  #rest = "";
  #event = "";
  /** @type {string[]} */
  #data = [];
  /** @type {string|undefined} */
  #id;
  /** The delay before a reconnect that the server asks for, in ms. @type {number|undefined} */
  retry;

  /**
   * Adds a chunk and returns the events that it completes.
   *
   * @param {string} chunk
   * @returns {ServerEvent[]}
   */
  push(chunk) {
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = /** @type {string} */ (lines.pop());
    /** @type {ServerEvent[]} */
    const events = [];
    for (const line of lines) {
      if (line === "") this.#dispatch(events);
      else this.#field(line);
    }
    return events;
  }

  /** @param {ServerEvent[]} events */
  #dispatch(events) {
    if (this.#data.length > 0) {
      events.push({
        event: this.#event || "message",
        data: this.#data.join("\n"),
        id: this.#id,
      });
    }
    this.#event = "";
    this.#data = [];
  }

  /** @param {string} line */
  #field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value))
      this.retry = Number(value);
  }
}
