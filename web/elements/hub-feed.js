/** The feed: the notifications that the filter in the page's address selects, newest first. */

import "./hub-filters.js";
import { onAddress, openPlace, setAddress, withPane } from "./address.js";
import { h } from "./dom.js";
import { setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { VirtualList } from "./virtual-list.js";
import { actionOf } from "../core/keys.js";
import { leadOf } from "../core/rows.js";
import { isEmpty, isSame, parseFilter, toSearch } from "../core/filter.js";
import { markAllSeen, setMarks } from "../hub/marks.js";
import { Problem } from "../hub/problem.js";

/** @import { Filter } from '../core/filter.js' */
/** @import { Row } from '../core/rows.js' */
/** @import { Notification } from '../core/types.js' */
/** @import { Change, HubFilters } from './hub-filters.js' */

/** The number of remaining rows below at which the next older page is requested. */
const PREFETCH_ROWS = 30;
/** The number of consecutive pages without a match after which the person is asked whether to continue the search. */
const MAX_EMPTY_PAGES = 10;
/** The number of notifications that a new filter examines in a frame: about 10 ms. */
const ROWS_PER_FRAME = 20_000;
/** The pause in typing after which a search starts, in ms. */
const TYPING_PAUSE = 120;

export class HubFeed extends StoreElement {
  /** @type {Filter} */
  #filter = {};
  #open = 0;
  #loading = false;
  #emptyPages = 0;
  /** @type {string} */
  #error = "";
  #filterChanged = true;
  #typingTimer = 0;
  #frame = 0;
  #partial = false;
  #filters = /** @type {HubFilters} */ (
    h("hub-filters", {
      onfilter: (/** @type {CustomEvent<Change>} */ event) =>
        this.#changeFilter(event.detail),
    })
  );
  #newRows = h("button", {
    class: "new-rows",
    hidden: true,
    onclick: () => this.#list.toTop(),
  });
  #markAllButton = h(
    "button",
    {
      class: "ghost mark-all",
      "aria-keyshortcuts": "Shift+S",
      onclick: () => this.#markAll(),
    },
    "Mark all read",
  );
  #host = h("div", {
    class: "rows",
    role: "feed",
    "aria-label": "Notifications",
  });
  #footer = h("p", { class: "footer", role: "status" });
  #scroller = h("div", { class: "scroller" }, this.#host, this.#footer);
  #main = h(
    "div",
    { class: "main" },
    h("div", { class: "controls" }, this.#filters, this.#markAllButton),
    h("div", { class: "list" }, this.#newRows, this.#scroller),
  );
  #list = new VirtualList(this.#scroller, this.#host, () => this.#afterDraw());

  connectedCallback() {
    const { removed: signal } = this;
    this.replaceChildren(this.#main);
    this.#host.addEventListener("click", (event) => this.#onClick(event), {
      signal,
    });
    onAddress(() => this.#readAddress(), signal);
    document.addEventListener("keydown", (event) => this.#onKey(event), {
      signal,
    });
    this.#readAddress();
    this.watch(["feed", "sessions"], () => this.#render());
  }

  /** The notifications in the row of this one. @param {number} id @returns {Notification[]} */
  itemsOf(id) {
    const notification = this.store.feed.get(id);
    return (
      (notification &&
        this.#list.at(this.#list.indexOf(notification))?.items) ??
      []
    );
  }

  /** Moves the focus to the row of a notification. @param {number} id @returns {boolean} whether the feed shows it */
  focusRow(id) {
    const notification = this.store.feed.get(id);
    const index = notification ? this.#list.indexOf(notification) : -1;
    if (index < 0 || this.offsetParent === null) return false;
    this.#list.activate(index, true);
    return true;
  }

  /** Reads the filter and the open notification from the page's address. */
  #readAddress() {
    const search = new URLSearchParams(location.search);
    const filter = parseFilter(search);
    this.#filterChanged ||= !isSame(filter, this.#filter);
    if (this.#filterChanged) this.#setFilter(filter);
    this.#filters.show(filter);
    this.#open = openPlace().id;
    this.#render();
  }

  /** @param {Filter} filter */
  #setFilter(filter) {
    this.store.feed.invalidate(filter);
    this.#filter = filter;
    this.#filterChanged = true;
    this.#emptyPages = 0;
    this.#error = "";
  }

  /** @param {Change} change */
  #changeFilter({ filter, typing }) {
    clearTimeout(this.#typingTimer);
    const apply = () => {
      setAddress(
        toSearch(filter, new URLSearchParams(location.search)),
        typing ? "replace" : "push",
      );
    };
    if (typing) this.#typingTimer = setTimeout(apply, TYPING_PAUSE);
    else apply();
  }

  #render() {
    const { store } = this;
    cancelAnimationFrame(this.#frame);
    const rows = store.feed.rows(this.#filter, ROWS_PER_FRAME);
    this.#partial = rows.partial;
    const setSize =
      !rows.partial && store.feed.nextPage(this.#filter).end ? rows.length : -1;
    this.#list.show(
      rows,
      { now: () => store.now(), setSize, open: this.#open },
      this.#filterChanged,
    );
    this.#filterChanged = false;
    // The role `feed` requires articles, so an empty list must not have it.
    this.#host.role = rows.length > 0 ? "feed" : "group";
    this.#markAllButton.hidden = store.onlyReads;
    this.#markAllButton.disabled = !this.#mayHaveUnread;
    this.#filters.setChoices(...choices(store));
    if (rows.partial) this.#frame = requestAnimationFrame(() => this.#render());
  }

  /** After each drawing, checks for new rows above and for older pages to load below. */
  #afterDraw() {
    const count = this.#list.newCount;
    this.#newRows.hidden = count === 0;
    if (count > 0) setText(this.#newRows, `${count} new`);
    this.#updateFooter();
  }

  #updateFooter() {
    const { store } = this;
    if (!store.ready) return this.#setFooter("Loading…");
    const { end } = store.feed.nextPage(this.#filter);
    const none = this.#list.count === 0;
    if (this.#partial) return this.#setFooter("Searching…");
    if (this.#error)
      return this.#setFooter(
        `Older notifications could not be loaded: ${this.#error}.`,
        "Try again",
      );
    if (end && none && isEmpty(this.#filter))
      return this.#setFooter("No notifications yet.");
    if (end && none)
      return this.#setFooter("No notifications match.", "Clear filters");
    if (end) return this.#setFooter("No older notifications.");
    if (this.#emptyPages >= MAX_EMPTY_PAGES)
      return this.#setFooter(
        "No further matches so far.",
        "Continue the search",
      );
    if (this.#list.rowsBelow < PREFETCH_ROWS) this.#loadOlder();
    this.#setFooter(
      this.#loading || none ? "Loading older notifications…" : "",
    );
  }

  /**
   * @param {string} text
   * @param {'Try again'|'Clear filters'|'Continue the search'} [offer]
   */
  #setFooter(text, offer) {
    if (this.#footer.dataset.text === text) return;
    this.#footer.dataset.text = text;
    const accept = () => {
      this.#error = "";
      this.#emptyPages = 0;
      if (offer === "Clear filters")
        this.#changeFilter({ filter: {}, typing: false });
      else this.#updateFooter();
    };
    this.#footer.replaceChildren(
      text,
      ...(offer
        ? [" ", h("button", { class: "link", onclick: accept }, offer)]
        : []),
    );
  }

  async #loadOlder() {
    const { store } = this;
    if (this.#loading) return;
    const filter = this.#filter;
    const before = this.#list.count;
    this.#loading = true;
    try {
      await store.loadOlder(filter);
      if (filter === this.#filter)
        this.#emptyPages =
          store.feed.rows(filter, ROWS_PER_FRAME).length > before
            ? 0
            : this.#emptyPages + 1;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (filter === this.#filter) this.#error = error.message;
    } finally {
      this.#loading = false;
    }
    this.#render();
  }

  /** @param {Event} event */
  #onClick(event) {
    const mouse = /** @type {MouseEvent} */ (event);
    const target = /** @type {HTMLElement} */ (event.target);
    const row = /** @type {import('./hub-row.js').HubRow|null} */ (
      target.closest("hub-row")
    )?.row;
    if (!row || mouse.ctrlKey || mouse.metaKey || mouse.shiftKey) return;
    event.preventDefault();
    if (target.closest(".mark")) this.#toggleSeen(row.items);
    else this.#openRow(row);
  }

  /**
   * Shows a row's details and moves the focus to them.
   *
   * @param {Row} row
   */
  #openRow(row) {
    this.#list.activate(this.#list.indexOf(row.items[0]), false);
    setAddress(withPane({ id: leadOf(row).id }));
    this.dispatchEvent(new CustomEvent("opened", { bubbles: true }));
  }

  /** @param {Notification[]} items of a row */
  #toggleSeen(items) {
    const unseen = items.filter((item) => !item.seen);
    const ids = (unseen.length > 0 ? unseen : items.slice(0, 1)).map(
      (item) => item.id,
    );
    setMarks(this.store, ids, unseen.length > 0);
  }

  /** Whether a notification is unread, or older ones are not loaded. */
  get #mayHaveUnread() {
    const { feed } = this.store;
    return feed.unseen > 0 || !feed.nextPage().end;
  }

  #markAll() {
    if (this.#mayHaveUnread) markAllSeen(this.store, this.#filter);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const reached =
      this.contains(target) ||
      target === document.body ||
      (this.#open > 0 && target.closest("hub-pane") !== null);
    if (event.defaultPrevented || !reached || this.offsetParent === null)
      return;
    const typing = target.matches("input, textarea, select");
    if (typing && this.#filters.contains(target) && event.key === "Escape")
      return target.blur();
    const action = actionOf(event, typing);
    if (action && this.#performAction(action, event, target))
      event.preventDefault();
  }

  /**
   * @param {string} action
   * @param {KeyboardEvent} event
   * @param {HTMLElement} target
   * @returns {boolean} whether the action was performed
   */
  #performAction(action, event, target) {
    const arrow = event.key.startsWith("Arrow");
    const row = this.#list.at(this.#list.activeIndex);
    if (action === "all-seen") this.#markAll();
    else if (action === "up" || action === "down") {
      if (arrow && !this.#list.focused) return false;
      this.#step(action === "down" ? 1 : -1);
    } else if (action === "enter" && row && target.matches("hub-row"))
      this.#openRow(row);
    else if (action === "seen" && row && this.contains(target))
      this.#toggleSeen(row.items);
    else return false;
    return true;
  }

  /** @param {1|-1} by */
  #step(by) {
    const at = this.#list.activeIndex;
    const inPane = document.activeElement?.closest("hub-pane") ?? null;
    const row = this.#list.activate(at < 0 ? 0 : at + by, inPane === null);
    // An open pane follows the active row, without a history entry for each.
    if (row && this.#open)
      setAddress(withPane({ id: leadOf(row).id }), "replace");
    if (row && inPane)
      this.dispatchEvent(new CustomEvent("opened", { bubbles: true }));
  }
}

/**
 * The known projects and sessions.
 *
 * @param {import('../hub/store.js').Store} store
 * @returns {[string[], string[]]}
 */
function choices({ sessions }) {
  const projects = new Set(
    [...sessions.values()].map(({ project }) => project),
  );
  const names = new Set([...sessions.values()].map(({ name }) => name));
  return [[...projects].sort(), [...names].sort()];
}

customElements.define("hub-feed", HubFeed);
