/** The charts: notifications a minute, times to answer, the longest wait, times to wake. */

import { h } from './dom.js';
import { answersChart, dayAndTime, rateChart, timeOfDay, wakesChart } from './charts.js';
import { StoreElement } from './store-element.js';
import { longDuration, oldestOpen } from '../core/chart.js';
import { questionText } from '../core/attention.js';
import { sessionFinder } from '../core/sessions.js';
import { absolute } from '../core/time.js';
import { openNotification } from '../hub/alerts.js';
import { Problem } from '../hub/problem.js';

/** @import { Stats } from '../core/types.js' */

const MINUTES = 60;
/** The interval of requests, the delay after news, and the shortest interval after news, each in ms. */
const INTERVAL = 30_000;
const MIN_DELAY = 1_000;
const MIN_INTERVAL = 4_000;
/** The share of the width for the chart column of the answers. */
const COLUMN_SHARE = 0.32;

export class HubStats extends StoreElement {
  /** @type {Stats|null} */
  #stats = null;
  /** @type {Problem|null} */
  #problem = null;
  #requestedAt = -Infinity;
  #timer = 0;
  #width = 0;
  #wait = h('figure', { class: 'chart longest-wait' });
  #charts = h('div', { class: 'charts' });
  #warning = h('p', { class: 'status', role: 'status' });

  connectedCallback() {
    const { removed: signal, store } = this;
    this.replaceChildren(this.#wait, this.#charts, this.#warning);
    this.every(INTERVAL, () => this.#load());
    this.every(1000, () => document.hidden || this.#tick());
    const size = new ResizeObserver(() => this.#resize());
    size.observe(this);
    document.addEventListener('visibilitychange', () => performance.now() - this.#requestedAt > INTERVAL && this.#load(), { signal });
    this.watch(['questions'], () => this.#renderWait());
    this.watch(['feed', 'questions', 'connection'], () => store.ready && this.#loadSoon());
    signal.addEventListener('abort', () => {
      clearTimeout(this.#timer);
      size.disconnect();
    });
  }

  /** The width is 0 while another view is shown; a chart is updated when it becomes visible. */
  #resize() {
    const width = Math.floor(this.#charts.clientWidth);
    if (width === this.#width) return;
    const appeared = this.#width === 0;
    this.#width = width;
    this.#render();
    if (appeared && performance.now() - this.#requestedAt > MIN_INTERVAL) this.#load();
  }

  #loadSoon() {
    if (this.#timer) return;
    const wait = Math.max(MIN_DELAY, this.#requestedAt + MIN_INTERVAL - performance.now());
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.#load();
    }, wait);
  }

  /** Requests the statistics, if they are visible. */
  async #load() {
    const { store } = this;
    if (!store.ready || document.hidden || this.#width === 0) return;
    this.#requestedAt = performance.now();
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
    const oldest = oldestOpen(store.questions.values(), this.#stats?.oldest_open ?? null);
    const caption = h('figcaption', {}, h('h3', {}, 'Longest wait'));
    if (!oldest) {
      this.#wait.replaceChildren(caption, h('p', { class: 'empty' }, 'No open questions.'));
      return;
    }
    const { id, ts, question } = oldest;
    const name = question && (sessionFinder(store.sessions.values())(question.project, question.from)?.name ?? question.from);
    this.#wait.replaceChildren(
      caption,
      h('p', { class: 'duration', role: 'timer', 'aria-label': 'Age of the oldest open question', 'data-since': ts }),
      h('p', { class: 'asker' }, h('b', {}, name ?? `question ${id}`), ' since ', h('time', { datetime: ts, title: absolute(ts) }, dayAndTime(ts, store.now()))),
      h('a', { class: 'question', href: `?id=${id}`, onclick: (/** @type {Event} */ event) => follow(event, id) }, question ? questionText(question) : 'Show the question'),
    );
    this.#tick();
  }

  #tick() {
    const timer = /** @type {HTMLElement|null} */ (this.#wait.querySelector('.duration'));
    const now = this.store.now();
    if (!timer || !now) return;
    const text = longDuration(now - Date.parse(timer.dataset.since ?? ''));
    if (timer.textContent !== text) timer.textContent = text;
  }

  #render() {
    const stats = this.#stats;
    this.#updateWarning();
    if (!stats || this.#width === 0) return;
    this.#charts.replaceChildren(rateChart(stats, this.#width), answersChart(stats, Math.round(this.#width * COLUMN_SHARE)), wakesChart(stats, this.#width));
  }

  /** Warns if the statistics are incomplete or out of date. */
  #updateWarning() {
    const { hint, message } = this.#problem ?? {};
    let text = '';
    if (message) text = `${this.#stats ? `As of ${timeOfDay(this.#stats.to)}` : 'No statistics'}: ${message}. ${hint ?? ''}`;
    else if (this.#stats?.partial) text = 'These numbers cover only the newest part of the log.';
    if (this.#warning.textContent !== text) this.#warning.textContent = text;
  }
}

/**
 * @param {Event} event
 * @param {number} id
 */
function follow(event, id) {
  event.preventDefault();
  openNotification(id);
}

customElements.define('hub-stats', HubStats);
