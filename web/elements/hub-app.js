/** The page's frame: its views, the pane, its dialogs, and the keys that work everywhere. */

import './hub-away.js';
import './hub-board.js';
import './hub-approvers.js';
import './hub-cluster.js';
import './hub-connection.js';
import './hub-empty.js';
import './hub-feed.js';
import './hub-help.js';
import './hub-needs-you.js';
import './hub-notify.js';
import './hub-pane.js';
import './hub-settings.js';
import './hub-timeline.js';
import './hub-toast.js';
import { onAddress } from './address.js';
import { h } from './dom.js';
import { StoreElement } from './store-element.js';
import { isEmpty, parseFilter } from '../core/filter.js';
import { actionOf } from '../core/keys.js';
import { attentionItems, counts } from '../core/attention.js';

/** @import { HubBoard } from './hub-board.js' */
/** @import { HubFeed } from './hub-feed.js' */
/** @import { HubPane } from './hub-pane.js' */

/** The views. A wide page shows the cards, the board and the feed at once, a narrow one a single view. */
const VIEWS = /** @type {const} */ ([
  { name: 'needs', title: 'Needs you', tag: 'hub-needs-you' },
  { name: 'sessions', title: 'Agents', tag: 'hub-board' },
  { name: 'feed', title: 'Feed', tag: 'hub-feed' },
  { name: 'stats', title: 'Time', tag: 'hub-timeline' },
]);
/** Matches pages that show the feed beside the board. */
const WIDE = matchMedia('(width >= 75rem)');
/** Matches pages that show one view at a time. */
const NARROW = matchMedia('(width < 56rem)');
/** Under this name the browser remembers that the feed is folded away. */
const FOLDED = 'hub.feed-folded';

export class HubApp extends StoreElement {
  /** The filter in the address, as text. */
  #filter = '';

  connectedCallback() {
    const { removed: signal, store } = this;
    const pane = /** @type {HubPane} */ (h('hub-pane', { hidden: true, role: 'complementary', 'aria-label': 'Selected', store }));
    pane.itemsOf = (id) => /** @type {HubFeed|null} */ (this.querySelector('hub-feed'))?.itemsOf(id) ?? [];
    pane.focusBack = (place) => this.#focusBack(place);
    this.replaceChildren(
      h('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
      h(
        'header',
        {},
        h('h1', {}, 'hub'),
        h('nav', { 'aria-label': 'Views' }, ...VIEWS.map((view) => this.#tab(view))),
        h('hub-away', { store }),
        h('hub-approvers', { store }),
        h('hub-cluster', { store }),
        h('hub-connection', { store }),
        h('button', { class: 'ghost', 'aria-keyshortcuts': ',', title: 'Settings (,)', onclick: () => this.#openDialog('hub-settings') }, 'Settings'),
        h('button', { class: 'ghost', 'aria-keyshortcuts': '?', title: 'Help (?)', onclick: () => this.#openDialog('hub-help') }, 'Help'),
      ),
      h('hub-notify', { store }),
      h('main', { id: 'main', tabindex: '-1' }, h('hub-empty', { store }), ...VIEWS.map((view) => this.#section(view)), pane),
      h('hub-settings', { store }),
      h('hub-help', { store }),
      h('hub-toast', { store }),
    );
    this.dataset.centre = 'sessions';
    this.toggleAttribute('data-feed-folded', localStorage.getItem(FOLDED) === 'yes');
    this.#showView('needs', false);
    this.#readAddress();
    onAddress(() => this.#readAddress(), signal);
    for (const width of [WIDE, NARROW]) width.addEventListener('change', () => this.#updateTabs(), { signal });
    for (const event of ['opened', 'restricted']) this.addEventListener(event, () => this.#moved(event), { signal });
    this.watch(['questions', 'needs', 'sessions', 'feed', 'preferences'], () => this.#updateCounts());
    this.watch(['connection', 'feed'], () => this.toggleAttribute('data-ready', store.ready));
    document.addEventListener('keydown', (event) => this.#handleKey(event), { signal });
  }

  /** Shows the feed if the address has another filter than before. */
  #readAddress() {
    const filter = parseFilter(new URLSearchParams(location.search));
    const text = JSON.stringify(filter);
    if (text !== this.#filter && !isEmpty(filter)) this.#showView('feed', false);
    this.#filter = text;
  }

  /** After a row was opened the focus moves into the pane, after a restriction to the feed. @param {string} event */
  #moved(event) {
    if (event === 'restricted') this.#showView('feed');
    else /** @type {HubPane|null} */ (this.querySelector('hub-pane'))?.focusHeading();
  }

  /** @param {{id: number, agent: string}} place */
  #focusBack({ id, agent }) {
    if (agent) return /** @type {HubBoard|null} */ (this.querySelector('hub-board'))?.focusRow(agent) ?? false;
    return /** @type {HubFeed|null} */ (this.querySelector('hub-feed'))?.focusRow(id) ?? false;
  }

  /** @param {typeof VIEWS[number]} view */
  #tab({ name, title }) {
    return h('button', { class: 'ghost', 'data-view': name, onclick: () => this.#choose(name) }, title, h('span', { class: 'count' }));
  }

  /** @param {typeof VIEWS[number]} view */
  #section({ name, title, tag }) {
    // The groups of the board are headings enough for the eye.
    const hidden = name === 'sessions' ? 'visually-hidden' : null;
    const heading = h('h2', { id: `view-${name}`, tabindex: '-1', class: hidden }, title, h('span', { class: 'count' }));
    return h('section', { 'data-view': name, 'aria-labelledby': heading.id }, heading, h(tag, { store: this.store }));
  }

  /** Updates the number of items that need the person. */
  #updateCounts() {
    const count = attentionItems(this.store).filter(counts).length;
    const text = count > 0 ? ` ${count}` : '';
    for (const badge of this.querySelectorAll('[data-view=needs] > .count, #view-needs > .count')) {
      if (badge.textContent !== text) badge.textContent = text;
    }
  }

  /** Shows a view; beside the board, the feed's own tab folds it away and back. @param {string} name */
  #choose(name) {
    if (name === 'feed' && WIDE.matches && !this.hasAttribute('data-feed-folded')) this.#foldFeed(true);
    else this.#showView(name);
  }

  /** @param {boolean} folded */
  #foldFeed(folded) {
    this.toggleAttribute('data-feed-folded', folded);
    localStorage.setItem(FOLDED, folded ? 'yes' : 'no');
    this.#updateTabs();
  }

  /**
   * @param {string} name
   * @param {boolean} [focus]
   */
  #showView(name, focus = true) {
    this.dataset.view = name;
    if (name !== 'needs') this.dataset.centre = name;
    if (name === 'feed' && WIDE.matches) this.#foldFeed(false);
    this.#updateTabs();
    if (!focus) return;
    const section = this.querySelector(`section[data-view=${name}]`);
    const heading = /** @type {HTMLElement|null} */ (section?.querySelector('h2'));
    // The focus moves to the active item of the view's list, else to the view's heading, from which Tab continues.
    const first = /** @type {HTMLElement|null} */ (section?.querySelector('[role=listitem][tabindex="-1"], hub-row[tabindex="0"], .board-row[tabindex="0"]'));
    (first ?? heading)?.focus();
  }

  #updateTabs() {
    const { view, centre } = this.dataset;
    for (const tab of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('nav button'))) {
      const { view: name } = tab.dataset;
      const beside = name === 'feed' ? !this.hasAttribute('data-feed-folded') : (name === 'stats') === (centre === 'stats');
      const shown = NARROW.matches ? name === view : WIDE.matches ? beside : name === centre;
      tab.setAttribute('aria-pressed', String(shown));
    }
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
