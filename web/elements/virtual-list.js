/** Draws the visible rows of a long list, at most once a frame, and keeps the row being read in place. */

import {
  anchoredScrollTop,
  OVERSCAN,
  scrollTopToReveal,
  visibleRange,
} from "../core/virtual.js";
import { HubRow } from "./hub-row.js";

/** @import { Row, Rows } from '../core/rows.js' */
/** @import { Notification } from '../core/types.js' */

/**
 * @typedef {object} Options The list's appearance besides its rows.
 * @property {() => number} now
 * @property {number} setSize number of all rows, -1 if unknown
 * @property {number} open the id whose details are shown, 0 if none
 */

/** The pause after which scrolling counts as finished, in ms. */
const SCROLL_PAUSE = 150;

export class VirtualList {
  /** @type {Rows|null} */
  #rows = null;
  /** @type {Map<Row, HubRow>} */
  #shown = new Map();
  /** The drawn rows in order. @type {HubRow[]} */
  #order = [];
  #sorting = 0;
  #row = 44;
  #height = 0;
  #frame = 0;
  #rowsBelow = 0;
  /** The scroll position at the last drawing, in px. */
  #top = 0;
  /** Whether the last drawing came more than a screen after the one before: fast scrolling. */
  #isFast = false;
  /** The first visible row, and its index. @type {{item: Notification, index: number}|null} */
  #anchor = null;
  /** The highest id that was visible or could have been; rows above it are new. */
  #newestSeen = 0;
  /** The notification whose row has the focus, or gets it. @type {Notification|null} */
  #active = null;
  /** @type {Options} */
  #options = { now: Date.now, setSize: -1, open: 0 };
  #resized = new ResizeObserver(() => this.#measure());

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} host of the rows, inside the scroller
   * @param {() => void} onDraw called after each drawing
   */
  constructor(scroller, host, onDraw) {
    this.scroller = scroller;
    this.host = host;
    this.onDraw = onDraw;
    scroller.addEventListener("scroll", () => this.#drawSoon(), {
      passive: true,
    });
    host.addEventListener("focusin", (event) => this.#focused(event));
    this.#resized.observe(scroller);
  }

  /** The number of new rows above the visible ones. */
  get newCount() {
    return this.#newestSeen ? (this.#rows?.below(this.#newestSeen) ?? 0) : 0;
  }

  /** The number of rows below the visible ones. */
  get rowsBelow() {
    return this.#rowsBelow;
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
   * Shows rows. The row being read stays in place, unless the list shows other rows than before.
   *
   * @param {Rows} rows
   * @param {Options} options
   * @param {boolean} fromTop whether to begin at the top
   */
  show(rows, options, fromTop) {
    this.#rows = rows;
    this.#options = options;
    if (fromTop) {
      this.#anchor = null;
      this.#active = null;
      this.#newestSeen = 0;
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
   * Makes a row active and scrolls it into view.
   *
   * @param {number} index
   * @param {boolean} focus
   * @returns {Row|undefined}
   */
  activate(index, focus) {
    const row = this.#rows?.at(index);
    if (!row) return undefined;
    this.#active = row.items[0];
    const viewport = this.#viewport();
    const top = scrollTopToReveal(viewport, index);
    if (top !== viewport.top) this.scroller.scrollTop = top;
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
    const row = /** @type {HTMLElement} */ (event.target).closest("hub-row");
    if (row instanceof HubRow && row.row) this.#active = row.row.items[0];
    this.#updateTabStop();
  }

  #measure() {
    const probe = this.#shown.values().next().value;
    this.#row =
      probe?.offsetHeight ||
      parseFloat(getComputedStyle(this.host).getPropertyValue("--row")) ||
      this.#row;
    this.#height = this.scroller.clientHeight;
    this.#drawSoon();
  }

  #drawSoon() {
    this.#frame ||= requestAnimationFrame(() => this.#draw(false));
  }

  #viewport() {
    return {
      top: this.scroller.scrollTop,
      height: this.#height,
      row: this.#row,
      count: this.count,
    };
  }

  /** @param {boolean} changed whether more than the scroll position changed */
  #draw(changed) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const rows = this.#rows;
    if (!rows) return;
    // All reads of the layout precede all writes, so that the browser computes the layout once.
    const viewport = this.#viewport();
    const focused = this.focused;
    if (changed) {
      viewport.top = this.#keepPlace(
        viewport,
        rows,
        focused && this.activeIndex > 0,
      );
    }
    this.#recordVisible(viewport, rows);
    // During fast scrolling, rows beyond the edges would be replaced before they are seen; they are drawn at rest.
    this.#isFast =
      !changed && Math.abs(viewport.top - this.#top) > viewport.height;
    this.#top = viewport.top;
    this.#place(
      visibleRange(viewport, this.#isFast ? 1 : OVERSCAN),
      rows,
      changed,
    );
    this.onDraw();
  }

  /**
   * Keeps the row being read in place.
   *
   * @param {import('../core/virtual.js').Viewport} viewport
   * @param {Rows} rows
   * @param {boolean} reading
   */
  #keepPlace(viewport, rows, reading) {
    const anchor = this.#anchor;
    let top = viewport.top;
    if (anchor) {
      const found = rows.indexOf(anchor.item);
      const is = found >= 0 ? found : rows.below(anchor.item.id);
      top = anchoredScrollTop(
        viewport.top,
        viewport.row,
        anchor.index,
        is,
        reading,
      );
    }
    this.host.style.height = `${rows.length * viewport.row}px`;
    if (top !== viewport.top) this.scroller.scrollTop = top;
    return top;
  }

  /**
   * Records the visible rows.
   *
   * @param {import('../core/virtual.js').Viewport} viewport
   * @param {Rows} rows
   */
  #recordVisible(viewport, rows) {
    const index = Math.min(
      Math.floor(Math.max(viewport.top, 0) / viewport.row),
      rows.length - 1,
    );
    const row = rows.at(index);
    this.#anchor = row ? { item: row.items[0], index } : null;
    this.#rowsBelow =
      viewport.count -
      Math.ceil((viewport.top + viewport.height) / viewport.row);
    if (viewport.height > 0 && row)
      this.#newestSeen = Math.max(this.#newestSeen, row.id);
  }

  /**
   * @param {{first: number, last: number}} range
   * @param {Rows} rows
   * @param {boolean} changed whether the content of rows that are already shown changed too
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
        element.show(row, { index, ...this.#options });
        element.style.transform = `translateY(${index * this.#row}px)`;
      }
      shown.set(row, element);
    }
    for (const element of free) element.remove();
    this.#shown = shown;
    this.#order = [...wanted.keys()].map(
      (row) => /** @type {HubRow} */ (shown.get(row)),
    );
    this.#updateTabStop();
    if (changed) this.#sort();
    else this.#sortLater();
  }

  /** During scrolling, only the content of rows changes, because moving them in the document is expensive. */
  #sortLater() {
    clearTimeout(this.#sorting);
    this.#sorting = setTimeout(
      () => (this.#isFast ? this.#draw(false) : this.#sort()),
      SCROLL_PAUSE,
    );
  }

  /** Sorts the rows in the document, because screen readers read them in that order. */
  #sort() {
    clearTimeout(this.#sorting);
    const focused = document.activeElement?.closest("hub-row");
    /** @type {Element|null} */
    let next = this.host.firstElementChild;
    for (const element of this.#order) {
      // Moving the focused row would lose the focus, so the rows before it are moved to the end.
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
   * The rows to draw with their indices, in order. The focused row is always drawn; otherwise the keyboard would lose it.
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

  /** Makes exactly one row reachable by Tab. */
  #updateTabStop() {
    const active = this.#active;
    let stop = this.#shown.get(
      /** @type {Row} */ (this.#rows?.at(this.activeIndex)),
    );
    stop ??= this.#shown.values().next().value;
    for (const element of this.#shown.values()) {
      const wanted = element === stop ? 0 : -1;
      if (element.tabIndex !== wanted) element.tabIndex = wanted;
      element.toggleAttribute(
        "data-active",
        active !== null && element === stop && this.activeIndex >= 0,
      );
    }
  }
}
