/** Draws the rows of a long list that are in sight, once a frame at most, and keeps in place what is being read. */

import { BEYOND, drawn, kept, revealed } from '../core/virtual.js';
import { HubRow } from './hub-row.js';

/**
 * @typedef {import('../core/rows.js').Rows} Rows
 * @typedef {import('../core/rows.js').Row} Row
 * @typedef {import('../core/types.js').Notification} Notification
 *
 * @typedef {object} Look What a list looks like besides its rows.
 * @property {() => number} now
 * @property {number} setSize of all there may be, -1 if unknown
 * @property {number} open the id whose details are shown, 0 if none
 */

/** Nobody scrolls any more when nothing moved for so long, in ms. */
const REST = 150;

export class VirtualList {
  /** @type {Rows|null} */
  #rows = null;
  /** @type {Map<Row, HubRow>} */
  #shown = new Map();
  /** As they follow each other. @type {HubRow[]} */
  #order = [];
  #sorting = 0;
  #row = 44;
  #height = 0;
  #frame = 0;
  #left = 0;
  /** Where it was at the last drawing, in px. */
  #top = 0;
  /** Whether it was far from there at the one before. */
  #flew = false;
  /** The first row in sight, and where it was. @type {{item: Notification, index: number}|null} */
  #anchor = null;
  /** What is at or below it was in sight, or could be. */
  #known = 0;
  /** The row that has the focus, or gets it. @type {Notification|null} */
  #active = null;
  /** @type {Look} */
  #look = { now: Date.now, setSize: -1, open: 0 };
  #resized = new ResizeObserver(() => this.#measure());

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} host of the rows, inside the scroller
   * @param {() => void} moved called after each drawing
   */
  constructor(scroller, host, moved) {
    this.scroller = scroller;
    this.host = host;
    this.moved = moved;
    scroller.addEventListener('scroll', () => this.#soon(), { passive: true });
    host.addEventListener('focusin', (event) => this.#focused(event));
    this.#resized.observe(scroller);
  }

  /** Whether the newest is in sight. */
  get atTop() {
    return this.scroller.scrollTop <= 0;
  }

  /** How many rows came in above what is in sight. */
  get fresh() {
    return this.#known ? (this.#rows?.below(this.#known) ?? 0) : 0;
  }

  /** How many rows are left below what is in sight. */
  get left() {
    return this.#left;
  }

  /** The row that has the focus, or gets it. */
  get active() {
    return this.#active;
  }

  get activeIndex() {
    return this.#active ? this.indexOf(this.#active) : -1;
  }

  get count() {
    return this.#rows?.length ?? 0;
  }

  /** @param {number} index */
  at(index) {
    return this.#rows?.at(index);
  }

  /**
   * @param {Notification} notification
   * @returns {number} -1 if no row shows it
   */
  indexOf(notification) {
    return this.#rows?.indexOf(notification) ?? -1;
  }

  /**
   * Shows rows; what is being read stays in place, unless they are others than before.
   *
   * @param {Rows} rows
   * @param {Look} look
   * @param {boolean} others whether to begin at the top
   */
  show(rows, look, others) {
    this.#rows = rows;
    this.#look = look;
    if (others) {
      this.#anchor = null;
      this.#active = null;
      this.#known = 0;
      this.host.style.height = `${rows.length * this.#row}px`;
      this.scroller.scrollTop = 0;
    }
    this.#draw(true);
  }

  toTop() {
    this.#anchor = null;
    this.#active = this.#rows?.at(0)?.items[0] ?? null;
    this.scroller.scrollTop = 0;
    this.#draw(true);
  }

  /**
   * Makes a row active and brings it into sight.
   *
   * @param {number} index
   * @param {boolean} focus
   * @returns {Row|undefined}
   */
  activate(index, focus) {
    const row = this.#rows?.at(index);
    if (!row) return undefined;
    this.#active = row.items[0];
    const sight = this.#sight();
    const top = revealed(sight, index);
    if (top !== sight.top) this.scroller.scrollTop = top;
    this.#anchor = null;
    this.#draw(true);
    if (focus) this.#shown.get(row)?.focus({ preventScroll: true });
    return row;
  }

  /** Whether the list shows that its focus is on a row. */
  get focused() {
    return this.host.contains(document.activeElement);
  }

  /** @param {FocusEvent} event */
  #focused(event) {
    const row = /** @type {HTMLElement} */ (event.target).closest('hub-row');
    if (row instanceof HubRow && row.row) this.#active = row.row.items[0];
    this.#stops();
  }

  #measure() {
    const probe = this.#shown.values().next().value;
    this.#row = probe?.offsetHeight || parseFloat(getComputedStyle(this.host).getPropertyValue('--row')) || this.#row;
    this.#height = this.scroller.clientHeight;
    this.#soon();
  }

  #soon() {
    this.#frame ||= requestAnimationFrame(() => this.#draw(false));
  }

  #sight() {
    return { top: this.scroller.scrollTop, height: this.#height, row: this.#row, count: this.count };
  }

  /** @param {boolean} changed whether more than the place changed */
  #draw(changed) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const rows = this.#rows;
    if (!rows) return;
    // All reading comes before any writing: no layout is done twice.
    const sight = this.#sight();
    const focused = this.focused;
    if (changed) {
      sight.top = this.#hold(sight, rows, focused && this.activeIndex > 0);
    }
    this.#note(sight, rows);
    // Where one flies through, nothing stays long enough to be scrolled to: what is beyond comes at rest.
    this.#flew = !changed && Math.abs(sight.top - this.#top) > sight.height;
    this.#top = sight.top;
    this.#place(drawn(sight, this.#flew ? 1 : BEYOND), rows, changed);
    this.moved();
  }

  /**
   * Keeps in place what is being read.
   *
   * @param {import('../core/virtual.js').Sight} sight
   * @param {Rows} rows
   * @param {boolean} reading
   */
  #hold(sight, rows, reading) {
    const anchor = this.#anchor;
    let top = sight.top;
    if (anchor) {
      const found = rows.indexOf(anchor.item);
      const is = found >= 0 ? found : rows.below(anchor.item.id);
      top = kept(sight.top, sight.row, anchor.index, is, reading);
    }
    this.host.style.height = `${rows.length * sight.row}px`;
    if (top !== sight.top) this.scroller.scrollTop = top;
    return top;
  }

  /**
   * Remembers what is in sight.
   *
   * @param {import('../core/virtual.js').Sight} sight
   * @param {Rows} rows
   */
  #note(sight, rows) {
    const index = Math.min(Math.floor(Math.max(sight.top, 0) / sight.row), rows.length - 1);
    const row = rows.at(index);
    this.#anchor = row ? { item: row.items[0], index } : null;
    this.#left = sight.count - Math.ceil((sight.top + sight.height) / sight.row);
    if (sight.height > 0 && row) this.#known = Math.max(this.#known, row.id);
  }

  /**
   * @param {{first: number, last: number}} range
   * @param {Rows} rows
   * @param {boolean} changed whether the rows that are shown already say something else, too
   */
  #place({ first, last }, rows, changed) {
    const wanted = this.#wanted(first, last, rows);
    const free = [];
    /** @type {Map<Row, HubRow>} */
    const shown = new Map();
    for (const [row, element] of this.#shown) {
      if (wanted.has(row)) shown.set(row, element);
      else free.push(element);
    }
    for (const [row, index] of wanted) {
      const old = shown.get(row);
      const element = old ?? free.pop() ?? this.host.appendChild(new HubRow());
      if (!old || changed) {
        element.show(row, { index, ...this.#look });
        element.style.transform = `translateY(${index * this.#row}px)`;
      }
      shown.set(row, element);
    }
    for (const element of free) element.remove();
    this.#shown = shown;
    this.#order = [...wanted.keys()].map((row) => /** @type {HubRow} */ (shown.get(row)));
    this.#stops();
    if (changed) this.#sort();
    else this.#sortLater();
  }

  /** While one scrolls, rows only change what they say; moving them in the document would cost more than all else. */
  #sortLater() {
    clearTimeout(this.#sorting);
    this.#sorting = setTimeout(() => (this.#flew ? this.#draw(false) : this.#sort()), REST);
  }

  /** Puts the rows in the document's order, in which they are read aloud. */
  #sort() {
    clearTimeout(this.#sorting);
    const focused = document.activeElement?.closest('hub-row');
    /** @type {Element|null} */
    let next = this.host.firstElementChild;
    for (const element of this.#order) {
      // Moving what has the focus would lose it: rather those between go to the end.
      while (element === focused && next && next !== element) {
        const between = next;
        next = between.nextElementSibling;
        this.host.append(between);
      }
      if (element === next) next = element.nextElementSibling;
      else this.host.insertBefore(element, next);
    }
  }

  /**
   * The rows to draw with their indices, in order. The one with the focus is always drawn, or the keyboard would lose it.
   *
   * @param {number} first
   * @param {number} last
   * @param {Rows} rows
   */
  #wanted(first, last, rows) {
    /** @type {Map<Row, number>} */
    const wanted = new Map();
    const put = (/** @type {number} */ index) => {
      const row = rows.at(index);
      if (row) wanted.set(row, index);
    };
    const active = this.focused ? this.activeIndex : -1;
    if (active >= 0 && active < first) put(active);
    for (let index = first; index < last; index += 1) put(index);
    if (active >= last) put(active);
    return wanted;
  }

  /** One row can be reached by Tab. */
  #stops() {
    const active = this.#active;
    let stop = this.#shown.get(/** @type {Row} */ (this.#rows?.at(this.activeIndex)));
    stop ??= this.#shown.values().next().value;
    for (const element of this.#shown.values()) {
      const wanted = element === stop ? 0 : -1;
      if (element.tabIndex !== wanted) element.tabIndex = wanted;
      element.toggleAttribute('data-active', active !== null && element === stop && this.activeIndex >= 0);
    }
  }
}
