/** The answers of this page: each is held back for a few seconds, in which the person can undo it, and then sent. */

import { Problem } from "./problem.js";
import { isOpen } from "../core/attention.js";

/** @import { Need } from '../core/types.js' */
/** @import { Store } from './store.js' */

/** The time in which an answer can be undone, in ms. */
const UNDO_TIME = 5000;
/** An answer to a dialog that waits for it is sent at least this long before the agent stops waiting, in ms. */
const MARGIN = 1000;
/** After this time an accepted answer is no longer expected in the hub's list, in ms. */
const PATIENCE = 5000;

/**
 * @typedef {import('../elements/answer-controls.js').Answer} Answer
 *
 * @typedef {{answer: Answer & {revision: number}, label: string, due: number, timer: number}} Held `label` says it in the words of the page
 */

/** @type {WeakMap<Store, Outbox>} */
const outboxes = new WeakMap();

/**
 * The outbox of a store.
 *
 * @param {Store} store
 */
export function outboxOf(store) {
  const known = outboxes.get(store) ?? new Outbox(store);
  outboxes.set(store, known);
  return known;
}

class Outbox {
  /** @type {Map<string, Held>} */
  #held = new Map();
  /** The needs whose answers are being sent, or are accepted and not in the hub's list yet. @type {Set<string>} */
  #sending = new Set();
  /** Whether the hub accepted it from this page. @type {Map<string, Promise<boolean>>} */
  #sent = new Map();
  /** @type {Map<string, Problem>} */
  #problems = new Map();

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    const signal = store.closed;
    document.addEventListener(
      "visibilitychange",
      () => document.hidden && this.flush(),
      { signal },
    );
    addEventListener("pagehide", () => this.flush(), { signal });
    addEventListener("beforeunload", (event) => this.#beforeUnload(event), {
      signal,
    });
  }

  /** A page that is closed sends nothing more, so the browser asks the person to wait. @param {BeforeUnloadEvent} event */
  #beforeUnload(event) {
    if (this.#held.size === 0) return;
    this.flush();
    event.preventDefault();
  }

  /** The answer that is held back. @param {string} id */
  held(id) {
    return this.#held.get(id);
  }

  /** Whether an answer is being sent. @param {string} id */
  isSending(id) {
    return this.#sending.has(id);
  }

  /** The newest need whose answer is held back. */
  get last() {
    return [...this.#held.keys()].at(-1);
  }

  /** The refusal of the last answer. @param {string} id */
  problem(id) {
    return this.#problems.get(id) ?? null;
  }

  /** Resolves to whether this page settled the need, because two may answer at the same moment. @param {string} id */
  settledHere(id) {
    return this.#sent.get(id) ?? Promise.resolve(false);
  }

  /**
   * Holds an answer back, then sends it.
   *
   * @param {Need} need
   * @param {Answer} answer
   * @param {string} label
   */
  hold({ id, revision, until }, answer, label) {
    if (this.#held.has(id) || this.#sending.has(id)) return;
    const now = this.store.now();
    const left =
      until === undefined
        ? UNDO_TIME
        : Math.min(UNDO_TIME, Date.parse(until) - now - MARGIN);
    const wait = Math.max(0, left);
    this.#problems.delete(id);
    this.#held.set(id, {
      answer: { ...answer, revision },
      label,
      due: now + wait,
      timer: setTimeout(() => this.send(id), wait),
    });
    this.store.changed("needs");
  }

  /** Takes a held answer back. @param {string} id */
  undo(id) {
    clearTimeout(this.#held.get(id)?.timer);
    this.#held.delete(id);
    this.store.changed("needs");
  }

  /** Sends a held answer at once. @param {string} id */
  send(id) {
    const held = this.#held.get(id);
    if (!held) return;
    clearTimeout(held.timer);
    this.#held.delete(id);
    this.settle(id, "answer", held.answer);
  }

  flush() {
    for (const id of [...this.#held.keys()]) this.send(id);
  }

  /**
   * Answers a need, or withdraws its question.
   *
   * @param {string} id
   * @param {'answer'|'withdraw'} how
   * @param {object} body
   * @returns {Promise<boolean>} whether the hub accepted it
   */
  settle(id, how, body) {
    const sent = this.#post(id, how, body);
    this.#sent.set(id, sent);
    this.store.changed("needs");
    return sent;
  }

  /**
   * @param {string} id
   * @param {string} how
   * @param {object} body
   */
  async #post(id, how, body) {
    const { store } = this;
    this.#problems.delete(id);
    this.#sending.add(id);
    try {
      await store.api.post(
        how === "answer" ? `/needs/${id}/answer` : `/questions/${id}/withdraw`,
        body,
      );
      await this.#listed(id);
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#problems.set(id, error);
      return false;
    } finally {
      this.#sending.delete(id);
      store.changed("needs");
    }
  }

  /** Resolves once the hub's list shows that the need is settled. @param {string} id */
  async #listed(id) {
    const { store } = this;
    const isStillOpen = () =>
      store.needs.some((need) => need.id === id && isOpen(need));
    let stop = () => {};
    await new Promise((resolve) => {
      setTimeout(resolve, PATIENCE);
      stop = store.watch(["needs"], () => isStillOpen() || resolve(undefined));
    });
    stop();
  }
}
