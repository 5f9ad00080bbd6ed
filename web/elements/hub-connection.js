/** The state of the connection: whether the page is up to date. */

import { h } from './dom.js';

const LABELS = {
  connecting: 'connecting',
  live: 'live',
  retrying: 'not connected',
  'signed-out': 'signed out',
};

export class HubConnection extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  #stop = () => {};
  #timer = 0;

  connectedCallback() {
    this.setAttribute('role', 'status');
    this.#stop = this.store?.watch(['connection'], () => this.#render()) ?? this.#stop;
    this.#timer = window.setInterval(() => this.store?.connection.state === 'retrying' && this.#updateDetail(), 1000);
  }

  disconnectedCallback() {
    this.#stop();
    clearInterval(this.#timer);
  }

  #render() {
    const connection = this.store?.connection;
    if (!connection) return;
    this.dataset.state = connection.state;
    this.replaceChildren(h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', {}, LABELS[connection.state]), h('span', { class: 'detail', 'aria-hidden': 'true' }));
    this.title = connection.reason ?? `${LABELS[connection.state]} since ${new Date(connection.since).toLocaleTimeString()}`;
    this.#updateDetail();
  }

  /** Updates the countdown, which is hidden from screen readers, because it changes every second. */
  #updateDetail() {
    const { state, retryAt, since } = this.store?.connection ?? {};
    const detail = this.querySelector('.detail');
    if (!detail || !since) return;
    const seconds = Math.max(0, Math.round(((retryAt ?? 0) - Date.now()) / 1000));
    const next = seconds > 0 ? `retrying in ${seconds} s` : 'retrying';
    detail.textContent = state === 'retrying' ? ` since ${new Date(since).toLocaleTimeString()}, ${next}` : '';
  }
}

customElements.define('hub-connection', HubConnection);
