/** The answers of this page: each is held back for a few seconds, in which the person can undo it, and then sent. */

import { Problem } from './problem.js';

/** @import { Question } from '../core/types.js' */
/** @import { Store } from './store.js' */

/** The time in which an answer can be undone, in ms. */
const UNDO_TIME = 5000;
/** An answer to a held request is sent at least this long before the agent stops waiting, in ms. */
const MARGIN = 1000;
/** The time for which a settled question stays, so that the person sees the result, in ms. */
const RESULT_TIME = 1500;

/** @typedef {{answer: import('../elements/answer-controls.js').Answer, label: string, due: number, timer: number}} Held `label` says it in the words of the page */

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
  /** @type {Map<number, Held>} */
  #held = new Map();
  /** @type {Set<number>} */
  #sending = new Set();
  /** Whether the hub accepted it from this page. @type {Map<number, Promise<boolean>>} */
  #sent = new Map();
  /** @type {Map<number, Problem>} */
  #problems = new Map();
  /** Questions that were settled here a moment ago. @type {Set<number>} */
  #recent = new Set();

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    const signal = store.closed;
    document.addEventListener('visibilitychange', () => document.hidden && this.flush(), { signal });
    addEventListener('pagehide', () => this.flush(), { signal });
    addEventListener('beforeunload', (event) => this.#beforeUnload(event), { signal });
  }

  /** A page that is closed sends nothing more, so the browser asks the person to wait. @param {BeforeUnloadEvent} event */
  #beforeUnload(event) {
    if (this.#held.size === 0) return;
    this.flush();
    event.preventDefault();
  }

  /** The answer that is held back. @param {number} id */
  held(id) {
    return this.#held.get(id);
  }

  /** Whether an answer is being sent. @param {number} id */
  isSending(id) {
    return this.#sending.has(id);
  }

  /** The newest question whose answer is held back. */
  get last() {
    return [...this.#held.keys()].at(-1);
  }

  /** The refusal of the last answer. @param {number} id */
  problem(id) {
    return this.#problems.get(id) ?? null;
  }

  /** Whether this page has settled the question a moment ago. @param {number} id */
  isRecent(id) {
    return this.#recent.has(id);
  }

  /** Resolves to whether this page settled the question, because two may answer at the same moment. @param {number} id */
  settledHere(id) {
    return this.#sent.get(id) ?? Promise.resolve(false);
  }

  /**
   * Holds an answer back, then sends it.
   *
   * @param {Question} question
   * @param {Held['answer']} answer
   * @param {string} label
   */
  hold({ id, held_until: until }, answer, label) {
    if (this.#held.has(id) || this.#sending.has(id)) return;
    const now = this.store.now();
    const left = until === undefined ? UNDO_TIME : Math.min(UNDO_TIME, Date.parse(until) - now - MARGIN);
    const wait = Math.max(0, left);
    this.#problems.delete(id);
    this.#held.set(id, { answer, label, due: now + wait, timer: setTimeout(() => this.send(id), wait) });
    this.store.changed('questions');
  }

  /** Takes a held answer back. @param {number} id */
  undo(id) {
    clearTimeout(this.#held.get(id)?.timer);
    this.#held.delete(id);
    this.store.changed('questions');
  }

  /** Sends a held answer at once. @param {number} id */
  send(id) {
    const held = this.#held.get(id);
    if (!held) return;
    clearTimeout(held.timer);
    this.#held.delete(id);
    this.settle(id, 'answer', { ...held.answer, revision: id });
  }

  flush() {
    for (const id of [...this.#held.keys()]) this.send(id);
  }

  /**
   * Answers or withdraws a question.
   *
   * @param {number} id
   * @param {'answer'|'withdraw'} how
   * @param {object} body
   * @returns {Promise<boolean>} whether the hub accepted it
   */
  settle(id, how, body) {
    const sent = this.#post(id, how, body);
    this.#sent.set(id, sent);
    this.store.changed('questions');
    return sent;
  }

  /**
   * @param {number} id
   * @param {string} how
   * @param {object} body
   */
  async #post(id, how, body) {
    const { store } = this;
    try {
      this.#problems.delete(id);
      this.#sending.add(id);
      if (how === 'answer') this.#recent.add(id);
      store.questions.set(id, await store.api.post(how === 'answer' ? `/needs/${id}/answer` : `/questions/${id}/withdraw`, body));
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#recent.delete(id);
      this.#problems.set(id, error);
      if (error.status === 409) store.refreshQuestion(id).catch(() => {});
      return false;
    } finally {
      this.#sending.delete(id);
      store.changed('questions');
      setTimeout(() => this.#recent.delete(id) && store.changed('questions'), RESULT_TIME);
    }
  }
}
