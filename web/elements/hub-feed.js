/** The feed: the notifications that the filter in the page's address selects, newest first, and the details of one. */

import './hub-details.js';
import './hub-filters.js';
import { h } from './dom.js';
import { VirtualList } from './virtual-list.js';
import { actionOf } from '../core/keys.js';
import { isOpen, parse, same, write } from '../core/filter.js';
import { mark, markAll } from '../hub/marks.js';
import { Problem } from '../hub/api.js';

/**
 * @typedef {import('../core/filter.js').Filter} Filter
 * @typedef {import('../core/rows.js').Row} Row
 * @typedef {import('../core/types.js').Notification} Notification
 * @typedef {import('./hub-details.js').HubDetails} HubDetails
 * @typedef {import('./hub-filters.js').HubFilters} HubFilters
 * @typedef {import('./hub-filters.js').Change} Change
 */

/** The number of remaining rows below at which the next older page is requested. */
const AHEAD = 30;
/** The number of consecutive pages without a match after which the person is asked whether to continue the search. */
const BARREN = 10;
/** The number of notifications that a new filter examines in a frame: about 10 ms. */
const SLICE = 20_000;
/** The pause in typing after which a search starts, in ms. */
const PAUSE = 120;

export class HubFeed extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  /** @type {Filter} */
  #filter = {};
  #open = 0;
  #loading = false;
  #barren = 0;
  /** @type {string} */
  #failed = '';
  #others = true;
  #typing = 0;
  #further = 0;
  #partial = false;
  /** The id of the notification whose details were opened and which was marked as seen for that. */
  #met = 0;
  #stop = new AbortController();
  #filters = /** @type {HubFilters} */ (h(/** @type {any} */ ('hub-filters'), { onfilter: (/** @type {CustomEvent<Change>} */ event) => this.#choose(event.detail) }));
  #details = /** @type {HubDetails} */ (h(/** @type {any} */ ('hub-details'), {
    hidden: true,
    onclose: () => this.open(0),
    onfollow: (/** @type {CustomEvent<number>} */ event) => this.open(event.detail),
    onnarrow: (/** @type {CustomEvent<Filter>} */ event) => this.#only(event.detail),
  }));
  #fresh = h('button', { class: 'fresh', hidden: true, onclick: () => this.#list.toTop() });
  #all = h('button', { class: 'quiet all-seen', 'aria-keyshortcuts': 'Shift+E', onclick: () => this.#markAll() }, 'Mark all seen');
  #host = h('div', { class: 'rows', role: 'feed', 'aria-label': 'Notifications' });
  #foot = h('p', { class: 'foot', role: 'status' });
  #scroller = h('div', { class: 'scroller' }, this.#host, this.#foot);
  #main = h(
    'div',
    { class: 'main' },
    h('div', { class: 'controls' }, this.#filters, this.#all),
    h('div', { class: 'list' }, this.#fresh, this.#scroller),
  );
  /** Matches pages on which the details cover the feed. */
  #narrow = matchMedia('(width < 60rem)');
  #list = new VirtualList(this.#scroller, this.#host, () => this.#moved());

  connectedCallback() {
    const store = this.store;
    if (!store) return;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#details.store = store;
    this.replaceChildren(this.#main, this.#details);
    this.#host.addEventListener('click', (event) => this.#clicked(event), { signal });
    addEventListener('popstate', () => this.#read(), { signal });
    document.addEventListener('keydown', (event) => this.#key(event), { signal });
    this.#narrow.addEventListener('change', () => this.#cover(), { signal });
    this.#read();
    signal.addEventListener('abort', store.watch(['feed', 'sessions'], () => this.#show()));
  }

  disconnectedCallback() {
    this.#stop.abort();
  }

  /**
   * Shows the details of a notification; closes them for 0.
   *
   * @param {number} id
   * @param {'push'|'replace'} [how] the way in which the page's address changes
   */
  open(id, how = 'push') {
    if (id === this.#open) return;
    const search = new URLSearchParams(location.search);
    if (id) search.set('id', String(id));
    else search.delete('id');
    this.#go(search, how);
    this.#detail(id);
  }

  /** Reads the filter and the details from the page's address. */
  #read() {
    const search = new URLSearchParams(location.search);
    const filter = parse(search);
    this.#others ||= !same(filter, this.#filter);
    if (this.#others) this.#begin(filter);
    this.#filters.show(filter);
    this.#detail(Number(search.get('id')) || 0);
    this.#show();
  }

  /** @param {Filter} filter */
  #begin(filter) {
    this.store?.feed.renew(filter);
    this.#filter = filter;
    this.#others = true;
    this.#barren = 0;
    this.#failed = '';
  }

  /** @param {Change} change */
  #choose({ filter, typing }) {
    clearTimeout(this.#typing);
    const apply = () => {
      this.#go(write(filter, new URLSearchParams(location.search)), typing ? 'replace' : 'push');
      this.#begin(filter);
      this.#show();
    };
    if (typing) this.#typing = setTimeout(apply, PAUSE);
    else apply();
  }

  /** Restricts the filter and shows the feed, which the details cover on a narrow page. @param {Filter} filter */
  #only(filter) {
    this.#filters.show(filter);
    this.#choose({ filter, typing: false });
    if (this.#narrow.matches) this.open(0, 'replace');
  }

  /**
   * @param {URLSearchParams} search
   * @param {'push'|'replace'} how
   */
  #go(search, how) {
    const query = search.toString();
    const url = location.pathname + (query && `?${query}`);
    if (how === 'push') history.pushState(null, '', url);
    else history.replaceState(null, '', url);
  }

  #show() {
    const store = this.store;
    if (!store) return;
    cancelAnimationFrame(this.#further);
    const rows = store.feed.rows(this.#filter, SLICE);
    this.#partial = rows.partial;
    const setSize = !rows.partial && store.feed.place(this.#filter).end ? rows.length : -1;
    this.#list.show(rows, { now: () => store.now(), setSize, open: this.#open }, this.#others);
    this.#others = false;
    // The role `feed` requires articles, so an empty list must not have it.
    this.#host.role = rows.length > 0 ? 'feed' : 'group';
    this.#all.disabled = store.feed.unseen === 0;
    this.#filters.offer(...choices(store));
    this.#meet(store);
    if (rows.partial) this.#further = requestAnimationFrame(() => this.#show());
  }

  /** After each drawing, checks for new rows above and for older pages to load below. */
  #moved() {
    const fresh = this.#list.fresh;
    this.#fresh.hidden = fresh === 0;
    const text = `${fresh} new`;
    if (fresh > 0 && this.#fresh.textContent !== text) this.#fresh.textContent = text;
    this.#tail();
  }

  #tail() {
    const store = this.store;
    if (!store?.ready) return this.#say('Loading…');
    const { end } = store.feed.place(this.#filter);
    const none = this.#list.count === 0;
    if (this.#partial) return this.#say('Searching…');
    if (this.#failed) return this.#say(`Older ones could not be loaded: ${this.#failed}.`, 'Try again');
    if (end && none && isOpen(this.#filter)) return this.#say('Nothing was said yet.');
    if (end && none) return this.#say('Nothing matches.', 'Clear filters');
    if (end) return this.#say('That is the beginning.');
    if (this.#barren >= BARREN) return this.#say('Nothing more for a long way back.', 'Search on');
    if (this.#list.left < AHEAD) this.#older();
    this.#say(this.#loading || none ? 'Loading older ones…' : '');
  }

  /**
   * @param {string} text
   * @param {'Try again'|'Clear filters'|'Search on'} [offer]
   */
  #say(text, offer) {
    if (this.#foot.dataset.says === text) return;
    this.#foot.dataset.says = text;
    const accept = () => {
      this.#failed = '';
      this.#barren = 0;
      if (offer === 'Clear filters') this.#choose({ filter: {}, typing: false });
      else this.#tail();
    };
    this.#foot.replaceChildren(text, ...(offer ? [' ', h('button', { class: 'link', onclick: accept }, offer)] : []));
  }

  async #older() {
    const store = this.store;
    if (!store || this.#loading) return;
    const filter = this.#filter;
    const before = this.#list.count;
    this.#loading = true;
    try {
      await store.loadOlder(filter);
      if (filter === this.#filter) this.#barren = store.feed.rows(filter, SLICE).length > before ? 0 : this.#barren + 1;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (filter === this.#filter) this.#failed = error.message;
    } finally {
      this.#loading = false;
    }
    this.#show();
  }

  /** @param {Event} event */
  #clicked(event) {
    const mouse = /** @type {MouseEvent} */ (event);
    const target = /** @type {HTMLElement} */ (event.target);
    const row = /** @type {import('./hub-row.js').HubRow|null} */ (target.closest('hub-row'))?.row;
    if (!row || mouse.ctrlKey || mouse.metaKey || mouse.shiftKey) return;
    event.preventDefault();
    if (target.closest('.mark')) this.#toggleSeen(row.items);
    else this.#enter(row);
  }

  /**
   * Shows a row's details and moves the focus to them.
   *
   * @param {Row} row
   */
  #enter(row) {
    this.#list.activate(this.#list.indexOf(row.items[0]), false);
    this.open(row.id);
    this.#details.enter();
  }

  /** @param {number} id */
  #detail(id) {
    const had = this.#details.contains(document.activeElement);
    if (id !== this.#open) this.#met = 0;
    this.#open = id;
    this.toggleAttribute('data-details', id > 0);
    this.#cover();
    this.#show();
    if (!id && had) this.#list.activate(Math.max(this.#list.activeIndex, 0), true);
  }

  #cover() {
    this.#main.inert = this.#open > 0 && this.#narrow.matches;
  }

  /**
   * Shows the details of the open notification and marks it as seen; only once, so that the person can remove the mark.
   *
   * @param {import('../hub/store.js').Store} store
   */
  #meet(store) {
    if (!store.ready) return;
    const items = this.#opened;
    this.#details.show(this.#open, items);
    if (items.length === 0 || this.#met === this.#open) return;
    this.#met = this.#open;
    const unseen = items.filter((item) => !item.seen).map((item) => item.id);
    if (unseen.length > 0) mark(store, unseen, true);
  }

  /** The notifications of the row whose details are open. @returns {Notification[]} */
  get #opened() {
    const said = this.store?.feed.get(this.#open);
    if (!said) return [];
    return this.#list.at(this.#list.indexOf(said))?.items ?? [said];
  }

  /** @param {Notification[]} items of a row */
  #toggleSeen(items) {
    const unseen = items.filter((item) => !item.seen);
    const ids = (unseen.length > 0 ? unseen : items.slice(0, 1)).map((item) => item.id);
    if (this.store) mark(this.store, ids, unseen.length > 0);
  }

  #markAll() {
    if (this.store && this.store.feed.unseen > 0) markAll(this.store, this.#filter);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const inside = this.contains(target);
    if (event.defaultPrevented || !(inside || target === document.body) || this.offsetParent === null) return;
    const typing = target.matches('input, textarea, select');
    if (typing && this.#filters.contains(target) && event.key === 'Escape') return target.blur();
    const action = actionOf(event, typing);
    if (action && this.#act(action, event, target)) event.preventDefault();
  }

  /**
   * @param {string} action
   * @param {KeyboardEvent} event
   * @param {HTMLElement} target
   * @returns {boolean} whether the action was performed
   */
  #act(action, event, target) {
    const arrow = event.key.startsWith('Arrow');
    const row = this.#list.at(this.#list.activeIndex);
    const opened = this.#open ? this.#opened : undefined;
    if (action === 'close' && this.#open) this.open(0);
    else if (action === 'all-seen') this.#markAll();
    else if (action === 'reply' && this.#open) this.#details.reply();
    else if (action === 'up' || action === 'down') {
      if (arrow && !this.#list.focused) return false;
      this.#step(action === 'down' ? 1 : -1);
    } else if (action === 'open' && row && target.matches('hub-row')) this.#enter(row);
    else if (action === 'seen' && (opened ?? row)) this.#toggleSeen(opened ?? row?.items ?? []);
    else return false;
    return true;
  }

  /** @param {1|-1} by */
  #step(by) {
    const at = this.#list.activeIndex;
    const inDetails = this.#details.contains(document.activeElement);
    const row = this.#list.activate(at < 0 ? 0 : at + by, !inDetails);
    // Open details follow the active row, without a history entry for each.
    if (row && this.#open) this.open(row.id, 'replace');
    if (inDetails) this.#details.enter();
  }
}

/**
 * The known projects and sessions.
 *
 * @param {import('../hub/store.js').Store} store
 * @returns {[string[], string[]]}
 */
function choices({ sessions }) {
  const projects = new Set([...sessions.values()].map(({ project }) => project));
  const names = new Set([...sessions.values()].map(({ name }) => name));
  return [[...projects].sort(), [...names].sort()];
}

customElements.define('hub-feed', HubFeed);
