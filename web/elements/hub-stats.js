/** The charts: notifications a minute, times to answer, the longest wait, times to wake. */

import { h } from './dom.js';
import { answers, rate, since, timeOfDay, wakes } from './pictures.js';
import { clock, oldestOpen } from '../core/chart.js';
import { textOf } from '../core/needs.js';
import { finder } from '../core/sessions.js';
import { absolute } from '../core/time.js';
import { showItem } from '../hub/attention.js';
import { Problem } from '../hub/api.js';

/** @typedef {import('../core/types.js').Stats} Stats */

const MINUTES = 60;
/** The interval of requests, the delay after news, and the shortest interval after news, each in ms. */
const EACH = 30_000;
const SOON = 1_000;
const SELDOM = 4_000;
/** The share of the width for the chart column of the answers. */
const COLUMN = 0.32;

export class HubStats extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  /** @type {Stats|null} */
  #stats = null;
  /** @type {Problem|null} */
  #problem = null;
  #asked = -Infinity;
  #soon = 0;
  #width = 0;
  #stops = [() => {}];
  #wait = h('figure', { class: 'picture wait' });
  #drawn = h('div', { class: 'drawn' });
  #said = h('p', { class: 'said', role: 'status' });

  connectedCallback() {
    const { store } = this;
    if (!store) return;
    this.replaceChildren(this.#wait, this.#drawn, this.#said);
    const each = setInterval(() => this.#load(), EACH);
    const tick = setInterval(() => document.hidden || this.#tick(), 1000);
    const size = new ResizeObserver(() => this.#resize());
    size.observe(this);
    const seen = () => performance.now() - this.#asked > EACH && this.#load();
    document.addEventListener('visibilitychange', seen);
    this.#stops = [
      store.watch(['questions'], () => this.#renderWait()),
      store.watch(['feed', 'questions', 'connection'], () => store.ready && this.#hurry()),
      () => document.removeEventListener('visibilitychange', seen),
      () => [each, tick, this.#soon].forEach(clearTimeout),
      () => size.disconnect(),
    ];
  }

  disconnectedCallback() {
    for (const stop of this.#stops) stop();
  }

  /** The width is 0 while another view is shown; a chart is updated when it becomes visible. */
  #resize() {
    const width = Math.floor(this.#drawn.clientWidth);
    if (width === this.#width) return;
    const appeared = this.#width === 0;
    this.#width = width;
    this.#render();
    if (appeared && performance.now() - this.#asked > SELDOM) this.#load();
  }

  #hurry() {
    if (this.#soon) return;
    const wait = Math.max(SOON, this.#asked + SELDOM - performance.now());
    this.#soon = window.setTimeout(() => {
      this.#soon = 0;
      this.#load();
    }, wait);
  }

  /** Requests the statistics, if they are visible. */
  async #load() {
    const { store } = this;
    if (!store?.ready || document.hidden || this.#width === 0) return;
    this.#asked = performance.now();
    try {
      this.#stats = await store.api.get(`/stats?minutes=${MINUTES}`);
      this.#problem = null;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#problem = error;
    }
    this.#renderWait();
    this.#render();
  }

  /** Shows the longest wait, from the store, so that an answer ends it at once. */
  #renderWait() {
    const { store } = this;
    if (!store) return;
    const oldest = oldestOpen(store.questions.values(), this.#stats?.oldest_open ?? null);
    const caption = h('figcaption', {}, h('h3', {}, 'Oldest open wait'));
    if (!oldest) {
      this.#wait.replaceChildren(caption, h('p', { class: 'nothing' }, 'Nobody waits for an answer.'));
      return;
    }
    const { id, ts, question } = oldest;
    const name = question && (finder(store.sessions.values())(question.project, question.from)?.name ?? question.from);
    this.#wait.replaceChildren(
      caption,
      h('p', { class: 'big', role: 'timer', 'aria-label': 'The oldest open question waits', 'data-since': ts }),
      h('p', { class: 'who' }, h('b', {}, name ?? `question ${id}`), ' since ', h('time', { datetime: ts, title: absolute(ts) }, since(ts, store.now()))),
      h('a', { class: 'what', href: `?id=${id}`, onclick: (/** @type {Event} */ event) => follow(event, id) }, question ? textOf(question) : 'Show the question'),
    );
    this.#tick();
  }

  #tick() {
    const big = /** @type {HTMLElement|null} */ (this.#wait.querySelector('.big'));
    const now = this.store?.now();
    if (!big || !now) return;
    const text = clock(now - Date.parse(big.dataset.since ?? ''));
    if (big.textContent !== text) big.textContent = text;
  }

  #render() {
    const stats = this.#stats;
    this.#note();
    if (!stats || this.#width === 0) return;
    this.#drawn.replaceChildren(rate(stats, this.#width), answers(stats, Math.round(this.#width * COLUMN)), wakes(stats, this.#width));
  }

  /** Warns if the statistics are incomplete or out of date. */
  #note() {
    const { hint, message } = this.#problem ?? {};
    let text = '';
    if (message) text = `${this.#stats ? `As of ${timeOfDay(this.#stats.to)}` : 'No numbers'}: ${message}. ${hint ?? ''}`;
    else if (this.#stats?.partial) text = 'The log holds more than was counted: these numbers are of its newest part.';
    if (this.#said.textContent !== text) this.#said.textContent = text;
  }
}

/**
 * @param {Event} event
 * @param {number} id
 */
function follow(event, id) {
  event.preventDefault();
  showItem(id);
}

customElements.define('hub-stats', HubStats);
