/** The board: a row for each live session, by what it needs; ended sessions are folded. */

import { onAddress, openPlace, setAddress, withPane } from "./address.js";
import { boardRow, updateBoardRow } from "./board-row.js";
import { copyable } from "./copyable.js";
import { h, updateList } from "./dom.js";
import "./hub-ended.js";
import { setProperty, setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { board, density } from "../core/board.js";

/** @import { BoardRow, Group, Sort } from '../core/board.js' */

/** For this time after the rows were put into a new order, a click was probably meant for another row, in ms. */
const MISCLICK_WINDOW = 350;
/** The narrowest and the widest column with names, in characters. */
const [MIN_NAME, MAX_NAME] = [10, 40];
/** A pointer that rested for this time is not about to click, in ms. */
const POINTER_REST = 3000;

/** @typedef {{heading: Group}|{row: BoardRow}} Line */

export class HubBoard extends StoreElement {
  #search = h("input", {
    type: "search",
    placeholder: "Find an agent",
    "aria-label": "Find an agent by name, project or text",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => this.#render(true),
  });
  #sort = h(
    "select",
    { "aria-label": "Sort the agents", onchange: () => this.#render(true) },
    h("option", { value: "time" }, "By time"),
    h("option", { value: "name" }, "By name"),
    h("option", { value: "project" }, "By project"),
  );
  #controls = h("div", { class: "controls" }, this.#search, this.#sort);
  #list = h("div", { class: "lines" });
  #none = h("div", { class: "none", hidden: true });
  /** The lines in the order that is shown. @type {Line[]} */
  #lines = [];
  /** The key of the row that Tab reaches. */
  #active = "";
  /** Whether the pointer may be about to click a row, so that rows must not move. */
  #aiming = false;
  #resting = 0;
  /** The rows that moved, and the time. */
  #moved = { keys: new Set([""]), at: -Infinity };

  connectedCallback() {
    const { removed: signal } = this;
    if (!this.firstChild)
      this.append(
        this.#controls,
        this.#none,
        this.#list,
        h("hub-ended", { store: this.store }),
      );
    this.#list.addEventListener("pointermove", () => this.#aim(), {
      signal,
      passive: true,
    });
    this.#list.addEventListener("pointerleave", () => this.#release(), {
      signal,
    });
    this.#list.addEventListener("click", (event) => this.#onClick(event), {
      signal,
    });
    this.#list.addEventListener("keydown", (event) => this.#onKey(event), {
      signal,
    });
    this.#list.addEventListener(
      "focusin",
      (event) =>
        this.#setActive(
          /** @type {HTMLElement} */ (event.target).dataset.key ?? "",
        ),
      { signal },
    );
    onAddress(() => this.#markOpen(), signal);
    this.watch(["sessions", "needs", "preferences"], () => this.#render(false));
  }

  /** Moves the focus to a session's row. @param {string} key @returns {boolean} whether it is shown */
  focusRow(key) {
    const row = this.#row(key);
    row?.focus();
    return row !== undefined;
  }

  #aim() {
    this.#aiming = true;
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.#release(), POINTER_REST);
  }

  #release() {
    clearTimeout(this.#resting);
    if (!this.#aiming) return;
    this.#aiming = false;
    this.#render(false);
  }

  /** @param {boolean} asked whether the person asked for another order */
  #render(asked) {
    const { store } = this;
    if (!store.ready) return;
    const groups = board(store.sessions.values(), {
      query: this.#search.value,
      sort: /** @type {Sort} */ (this.#sort.value),
    });
    /** @type {Line[]} */
    const wanted = groups.flatMap((group) => [
      { heading: group },
      ...group.rows.map((row) => ({ row })),
    ]);
    const kept = this.#aiming && !asked ? this.#inPlace(wanted) : wanted;
    this.#noteMoves(kept.map(lineKey));
    this.#lines = kept;
    this.#draw();
    this.#showNone(store.sessions.size);
  }

  /**
   * The shown lines with their new content, in the order in which they are. A new session is not among them yet.
   *
   * @param {Line[]} wanted
   */
  #inPlace(wanted) {
    const now = new Map(wanted.map((line) => [lineKey(line), line]));
    return this.#lines.map((line) => now.get(lineKey(line)) ?? line);
  }

  /** Records the rows that are about to move. @param {string[]} order the keys of the lines */
  #noteMoves(order) {
    const before = this.#lines.map(lineKey);
    const moved = order.filter(
      (key, index) => before.includes(key) && before[index] !== key,
    );
    if (moved.length > 0)
      this.#moved = { keys: new Set(moved), at: performance.now() };
  }

  #draw() {
    const rows = this.#lines.filter((line) => "row" in line).length;
    this.dataset.density = density(rows);
    this.style.setProperty("--name", `${nameWidth(this.#lines)}ch`);
    const focused = this.#list.contains(document.activeElement)
      ? this.#active
      : "";
    updateList(
      this.#list,
      this.#lines,
      lineKey,
      (line) => this.#create(line),
      (element, line) => this.#update(element, line),
    );
    if (focused && document.activeElement !== this.#row(focused))
      this.#row(focused)?.focus({ preventScroll: true });
    if (!this.#row(this.#active))
      this.#setActive(
        /** @type {HTMLElement|null} */ (this.#list.querySelector("a"))?.dataset
          .key ?? "",
      );
    else this.#setActive(this.#active);
    this.#markOpen();
  }

  /** @param {Line} line @returns {HTMLElement} */
  #create(line) {
    if ("row" in line) return boardRow(this.store);
    return h(
      "h3",
      { "data-phase": line.heading.name },
      h("span", {}, line.heading.title),
      h("span", { class: "number" }),
    );
  }

  /**
   * @param {HTMLElement} element
   * @param {Line} line
   */
  #update(element, line) {
    if ("row" in line) updateBoardRow(element, line.row, this.store);
    else
      setText(
        /** @type {Element} */ (element.lastElementChild),
        String(line.heading.rows.length),
      );
  }

  /** @param {number} count of live sessions */
  #showNone(count) {
    const query = this.#search.value.trim();
    const shown = this.#lines.length;
    const state =
      count === 0
        ? "empty"
        : shown === 0
          ? `no match ${query}`
          : count === 1
            ? "one"
            : "";
    setProperty(this.#none, "hidden", state === "");
    setProperty(this.#controls, "hidden", count < 2);
    if (this.#none.dataset.state === state) return;
    this.#none.dataset.state = state;
    const install = copyable(
      "hubctl hooks install claude",
      "Copy the hooks command",
    );
    if (state === "empty") {
      this.#none.replaceChildren(
        h("p", {}, h("strong", {}, "No agent is running.")),
        h(
          "p",
          {},
          "Agents with hooks appear here by themselves. Install the hooks once, then start an agent as usual:",
        ),
        install,
        h(
          "p",
          { class: "muted" },
          "Also codex, gemini, opencode and others: hubctl hooks --help",
        ),
      );
    } else if (state === "one") {
      this.#none.replaceChildren(
        h(
          "p",
          { class: "muted" },
          "Start another agent in any terminal: it appears here by itself. Select a row to see what the agent said last, and to send it a message.",
        ),
      );
    } else if (state) {
      this.#none.replaceChildren(
        h(
          "p",
          {},
          `No agent matches “${query}”. `,
          h(
            "button",
            { class: "link", onclick: () => this.#clearSearch() },
            "Show all",
          ),
        ),
      );
    }
  }

  #clearSearch() {
    this.#search.value = "";
    this.#render(true);
    this.#search.focus();
  }

  /** @param {string} key @returns {HTMLElement|undefined} */
  #row(key) {
    return /** @type {HTMLElement|undefined} */ (
      [...this.#list.children].find(
        (child) =>
          child.localName === "a" &&
          /** @type {HTMLElement} */ (child).dataset.key === key,
      )
    );
  }

  /** Makes exactly one row reachable by Tab. @param {string} key */
  #setActive(key) {
    this.#active = key;
    for (const child of this.#list.children) {
      if (child instanceof HTMLAnchorElement)
        setProperty(child, "tabIndex", child.dataset.key === key ? 0 : -1);
    }
  }

  #markOpen() {
    const { agent } = openPlace();
    for (const child of this.#list.children) {
      const open =
        agent !== "" &&
        /** @type {HTMLElement} */ (child).dataset.key === agent;
      if (child.hasAttribute("aria-current") !== open)
        open
          ? child.setAttribute("aria-current", "true")
          : child.removeAttribute("aria-current");
    }
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const row = /** @type {HTMLElement|null} */ (
      /** @type {Element} */ (event.target).closest("a")
    );
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    // A click by keyboard cannot miss its target.
    if (
      event.detail > 0 &&
      performance.now() - this.#moved.at < MISCLICK_WINDOW &&
      this.#moved.keys.has(row.dataset.key ?? "")
    )
      return;
    setAddress(withPane({ agent: row.dataset.key }));
    this.dispatchEvent(new CustomEvent("opened", { bubbles: true }));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const rows = /** @type {HTMLElement[]} */ ([
      ...this.#list.querySelectorAll("a"),
    ]);
    const at = rows.findIndex((row) => row === document.activeElement);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (
      to === undefined ||
      at < 0 ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    rows[Math.max(0, Math.min(to, rows.length - 1))].focus();
  }
}

/** The width of the column with the names, in characters: the longest is shown whole. @param {Line[]} lines */
function nameWidth(lines) {
  const widths = lines.map((line) =>
    "row" in line
      ? line.row.session.name.length +
        (line.row.depth > 0 || line.row.parent ? 4 : 1)
      : 0,
  );
  return Math.min(Math.max(MIN_NAME, ...widths), MAX_NAME);
}

/** @param {Line} line */
function lineKey(line) {
  return "row" in line ? line.row.key : `group ${line.heading.name}`;
}

customElements.define("hub-board", HubBoard);
