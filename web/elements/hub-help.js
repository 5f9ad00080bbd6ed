/** The help: about the hub, and its keys. */

import { h } from './dom.js';
import { caps, KEYS } from '../core/keys.js';

export class HubHelp extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  /** @type {HTMLDialogElement|null} */
  #dialog = null;

  /** Opens the dialog; closing it returns the focus to its former element. */
  open() {
    const dialog = this.#build();
    if (!dialog.open) dialog.showModal();
  }

  #build() {
    if (this.#dialog) return this.#dialog;
    const places = [...new Set(KEYS.map(({ where }) => where))];
    this.#dialog = h(
      'dialog',
      { class: 'help', 'aria-labelledby': 'help-title' },
      h('header', {}, h('h2', { id: 'help-title', tabindex: '-1', autofocus: true }, 'Help'), closeButton(() => this.#dialog?.close())),
      h(
        'p',
        {},
        'The hub is where the coding agents, scripts and cron jobs of this machine say what they do, what they need and when they are ' +
          'done. It keeps every notification and brings it to whoever should know: an agent that waits is woken, and what only you can ' +
          'answer stands under ',
        h('b', {}, 'Needs you'),
        ' until somebody has answered it, here or in a terminal.',
      ),
      h('div', { class: 'keys' }, ...places.map((where) => keyList(where))),
      this.store?.about && h('p', { class: 'muted about' }, `hub ${this.store.about.version} on ${this.store.about.host}. In a terminal: `, h('code', {}, 'hubctl --help')),
    );
    this.append(this.#dialog);
    return this.#dialog;
  }
}

/**
 * The close button in a dialog's head.
 *
 * @param {() => void} close
 */
export function closeButton(close) {
  return h('button', { class: 'quiet close', 'aria-label': 'Close', title: 'Close (Esc)', onclick: close }, '×');
}

/** @param {string} where */
function keyList(where) {
  const keys = KEYS.filter((key) => key.where === where);
  return h(
    'section',
    {},
    h('h3', {}, where),
    h('dl', {}, ...keys.map(({ keys, what }) => h('div', {}, h('dt', {}, ...keys.flatMap((key, index) => [index > 0 && ' ', h('span', {}, ...caps(key).map((cap) => h('kbd', {}, cap)))])), h('dd', {}, what)))),
  );
}

customElements.define('hub-help', HubHelp);
