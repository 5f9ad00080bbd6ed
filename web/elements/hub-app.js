/** The page's frame: its views, its dialogs, and the keys that work everywhere. */

import './hub-connection.js';
import './hub-empty.js';
import './hub-feed.js';
import './hub-help.js';
import './hub-needs-you.js';
import './hub-sessions.js';
import './hub-settings.js';
import './hub-stats.js';
import './hub-toast.js';
import { h } from './dom.js';
import { isOpen, parse } from '../core/filter.js';
import { actionOf } from '../core/keys.js';
import { needs } from '../core/needs.js';

/** The views; a narrow page shows one at a time. */
const VIEWS = /** @type {const} */ ([
  { name: 'needs', title: 'Needs you', tag: 'hub-needs-you' },
  { name: 'sessions', title: 'Sessions', tag: 'hub-sessions' },
  { name: 'feed', title: 'Feed', tag: 'hub-feed' },
  { name: 'stats', title: 'Pictures', tag: 'hub-stats' },
]);

export class HubApp extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  #stops = [() => {}];
  #keys = (/** @type {KeyboardEvent} */ event) => this.#key(event);
  /** Opens the feed if the address names a notification or a filter. */
  #address = () => {
    const search = new URLSearchParams(location.search);
    if (search.has('id') || !isOpen(parse(search))) this.#show('feed', false);
  };

  connectedCallback() {
    const store = this.store;
    if (!store) return;
    const [needsYou, sessions, feed, pictures] = VIEWS.map((view) => this.#section(view));
    this.replaceChildren(
      h('a', { class: 'skip', href: '#main' }, 'Skip to what needs you'),
      h(
        'header',
        {},
        h('h1', {}, 'hub'),
        h('nav', { 'aria-label': 'Views' }, ...VIEWS.map((view) => this.#tab(view))),
        h('hub-connection', { store }),
        h('button', { class: 'quiet', 'aria-keyshortcuts': ',', title: 'Settings (,)', onclick: () => this.#dialog('hub-settings') }, 'Settings'),
        h('button', { class: 'quiet', 'aria-keyshortcuts': '?', title: 'Help (?)', onclick: () => this.#dialog('hub-help') }, 'Help'),
      ),
      h(
        'main',
        { id: 'main', tabindex: '-1' },
        h('hub-empty', { store }),
        h('div', { class: 'side' }, needsYou, sessions, pictures),
        feed,
      ),
      h('hub-settings', { store }),
      h('hub-help', { store }),
      h('hub-toast', { store }),
    );
    this.#show('needs', false);
    this.#address();
    addEventListener('popstate', this.#address);
    this.#stops = [
      store.watch(['questions', 'sessions', 'feed'], () => this.#count()),
      store.watch(['connection', 'feed'], () => this.toggleAttribute('data-ready', store.ready)),
    ];
    document.addEventListener('keydown', this.#keys);
  }

  disconnectedCallback() {
    for (const stop of this.#stops) stop();
    document.removeEventListener('keydown', this.#keys);
    removeEventListener('popstate', this.#address);
  }

  /** @param {typeof VIEWS[number]} view */
  #tab({ name, title }) {
    return h('button', { class: 'quiet', 'data-view': name, onclick: () => this.#show(name) }, title, h('span', { class: 'count' }));
  }

  /** @param {typeof VIEWS[number]} view */
  #section({ name, title, tag }) {
    const heading = h('h2', { id: `view-${name}`, tabindex: '-1' }, title, h('span', { class: 'count' }));
    return h('section', { 'data-view': name, 'aria-labelledby': heading.id }, heading, h(tag, { store: this.store }));
  }

  /** Updates the number of items that need the person. */
  #count() {
    if (!this.store) return;
    const count = needs(this.store).length;
    const text = count > 0 ? ` ${count}` : '';
    for (const badge of this.querySelectorAll('[data-view=needs] > .count, #view-needs > .count')) {
      if (badge.textContent !== text) badge.textContent = text;
    }
  }

  /**
   * @param {string} name
   * @param {boolean} [focus]
   */
  #show(name, focus = true) {
    this.dataset.view = name;
    for (const tab of this.querySelectorAll('nav button')) {
      tab.setAttribute('aria-pressed', String(/** @type {HTMLElement} */ (tab).dataset.view === name));
    }
    if (!focus) return;
    const section = this.querySelector(`section[data-view=${name}]`);
    const heading = /** @type {HTMLElement|null} */ (section?.querySelector('h2'));
    // The focus moves to the active item of the view's list, else to the view's heading, from which Tab continues.
    const first = /** @type {HTMLElement|null} */ (section?.querySelector('[role=listitem][tabindex="-1"], hub-row[tabindex="0"]'));
    (first ?? heading)?.focus();
  }

  /** @param {string} tag */
  #dialog(tag) {
    const dialog = /** @type {(HTMLElement & {open: () => void})|null} */ (this.querySelector(tag));
    dialog?.open();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || target.closest('dialog')) return;
    const action = actionOf(event, target.closest('input, textarea, select, [contenteditable]') !== null);
    if (VIEWS.some(({ name }) => name === action)) this.#show(/** @type {string} */ (action));
    else if (action === 'help' || action === 'settings') this.#dialog(`hub-${action}`);
    else if (action === 'undo') /** @type {import('./hub-toast.js').HubToast|null} */ (this.querySelector('hub-toast'))?.undo();
    else if (action === 'search') this.#search();
    else return;
    event.preventDefault();
  }

  #search() {
    this.#show('feed', false);
    /** @type {HTMLElement|null} */ (this.querySelector('hub-filters input[type=search]'))?.focus();
  }
}

customElements.define('hub-app', HubApp);
