/** The page's frame: its views, its dialogs, and the keys that work everywhere. */

import './hub-connection.js';
import './hub-empty.js';
import './hub-feed.js';
import './hub-help.js';
import './hub-needs-you.js';
import './hub-notify.js';
import './hub-sessions.js';
import './hub-settings.js';
import './hub-stats.js';
import './hub-toast.js';
import { h } from './dom.js';
import { StoreElement } from './store-element.js';
import { isEmpty, parseFilter } from '../core/filter.js';
import { actionOf } from '../core/keys.js';
import { attentionItems } from '../core/attention.js';

/** The views; a narrow page shows one at a time. */
const VIEWS = /** @type {const} */ ([
  { name: 'needs', title: 'Needs you', tag: 'hub-needs-you' },
  { name: 'sessions', title: 'Sessions', tag: 'hub-sessions' },
  { name: 'feed', title: 'Feed', tag: 'hub-feed' },
  { name: 'stats', title: 'Activity', tag: 'hub-stats' },
]);

export class HubApp extends StoreElement {
  connectedCallback() {
    const { removed: signal, store } = this;
    const [needsYou, sessions, feed, stats] = VIEWS.map((view) => this.#section(view));
    this.replaceChildren(
      h('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
      h(
        'header',
        {},
        h('h1', {}, 'hub'),
        h('nav', { 'aria-label': 'Views' }, ...VIEWS.map((view) => this.#tab(view))),
        h('hub-connection', { store }),
        h('button', { class: 'ghost', 'aria-keyshortcuts': ',', title: 'Settings (,)', onclick: () => this.#openDialog('hub-settings') }, 'Settings'),
        h('button', { class: 'ghost', 'aria-keyshortcuts': '?', title: 'Help (?)', onclick: () => this.#openDialog('hub-help') }, 'Help'),
      ),
      h('hub-notify', { store }),
      h(
        'main',
        { id: 'main', tabindex: '-1' },
        h('hub-empty', { store }),
        h('div', { class: 'side' }, needsYou, sessions, stats),
        feed,
      ),
      h('hub-settings', { store }),
      h('hub-help', { store }),
      h('hub-toast', { store }),
    );
    this.#showView('needs', false);
    this.#readAddress();
    addEventListener('popstate', () => this.#readAddress(), { signal });
    this.watch(['questions', 'sessions', 'feed'], () => this.#updateCount());
    this.watch(['connection', 'feed'], () => this.toggleAttribute('data-ready', store.ready));
    document.addEventListener('keydown', (event) => this.#handleKey(event), { signal });
  }

  /** Opens the feed if the address names a notification or a filter. */
  #readAddress() {
    const search = new URLSearchParams(location.search);
    if (search.has('id') || !isEmpty(parseFilter(search))) this.#showView('feed', false);
  }

  /** @param {typeof VIEWS[number]} view */
  #tab({ name, title }) {
    return h('button', { class: 'ghost', 'data-view': name, onclick: () => this.#showView(name) }, title, h('span', { class: 'count' }));
  }

  /** @param {typeof VIEWS[number]} view */
  #section({ name, title, tag }) {
    const heading = h('h2', { id: `view-${name}`, tabindex: '-1' }, title, h('span', { class: 'count' }));
    return h('section', { 'data-view': name, 'aria-labelledby': heading.id }, heading, h(tag, { store: this.store }));
  }

  /** Updates the number of items that need the person. */
  #updateCount() {
    const count = attentionItems(this.store).length;
    const text = count > 0 ? ` ${count}` : '';
    for (const badge of this.querySelectorAll('[data-view=needs] > .count, #view-needs > .count')) {
      if (badge.textContent !== text) badge.textContent = text;
    }
  }

  /**
   * @param {string} name
   * @param {boolean} [focus]
   */
  #showView(name, focus = true) {
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
  #openDialog(tag) {
    const dialog = /** @type {(HTMLElement & {open: () => void})|null} */ (this.querySelector(tag));
    dialog?.open();
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || target.closest('dialog')) return;
    const action = actionOf(event, target.closest('input, textarea, select, [contenteditable]') !== null);
    if (VIEWS.some(({ name }) => name === action)) this.#showView(/** @type {string} */ (action));
    else if (action === 'help' || action === 'settings') this.#openDialog(`hub-${action}`);
    else if (action === 'undo') /** @type {import('./hub-toast.js').HubToast|null} */ (this.querySelector('hub-toast'))?.undo();
    else if (action === 'search') this.#focusSearch();
    else return;
    event.preventDefault();
  }

  #focusSearch() {
    this.#showView('feed', false);
    /** @type {HTMLElement|null} */ (this.querySelector('hub-filters input[type=search]'))?.focus();
  }
}

customElements.define('hub-app', HubApp);
