/** The tabs of the views, with their numbers, and the keys that lead to them. */

import { addressOf, onAddress, openView, setAddress } from "./address.js";
import { h } from "./dom.js";
import { setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { actionOf, isBrowserKey } from "../core/keys.js";
import { VIEWS } from "../core/view.js";
import { queueNow } from "../hub/queue.js";

/** @import { View } from '../core/view.js' */

export class HubTabs extends StoreElement {
  /** The last address of each view, so that its pane and its filter are there again. @type {Map<View, URLSearchParams>} */
  #last = new Map();
  /** Whether the next key chooses a view. */
  #chooses = false;

  connectedCallback() {
    const { removed: signal } = this;
    this.replaceChildren(
      h(
        "nav",
        { "aria-label": "Views" },
        ...VIEWS.map((view) => this.#tab(view)),
      ),
    );
    onAddress(() => this.#readAddress(), signal);
    this.#readAddress();
    this.watch(["needs", "sessions", "feed", "preferences"], () =>
      this.#count(),
    );
    // Before all others: the key after `v` is no decision about a need.
    addEventListener("keydown", (event) => this.#onKey(event), {
      signal,
      capture: true,
    });
    addEventListener("pointerdown", () => this.#choose(false), {
      signal,
      capture: true,
    });
  }

  /** @param {typeof VIEWS[number]} view */
  #tab({ name, title, key }) {
    const open = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.#open(name);
    };
    return h(
      "a",
      {
        href: `?${addressOf(name)}`,
        "data-view": name,
        "aria-keyshortcuts": `v ${key}`,
        title: `${title} (v ${key})`,
        onclick: open,
      },
      title,
      h("span", { class: "count" }),
      h("kbd", { "aria-hidden": "true" }, key),
    );
  }

  /** @param {View} view */
  #open(view) {
    if (view !== openView())
      setAddress(this.#last.get(view) ?? addressOf(view));
  }

  #readAddress() {
    const view = openView();
    // The queue keeps its selection itself.
    if (view !== "queue")
      this.#last.set(view, new URLSearchParams(location.search));
    for (const tab of /** @type {NodeListOf<HTMLElement>} */ (
      this.querySelectorAll("a")
    )) {
      if (tab.dataset.view === view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  }

  #count() {
    const { store } = this;
    const numbers = {
      queue: queueNow(store).open.length,
      agents: store.sessions.size,
    };
    for (const [name, number] of Object.entries(numbers)) {
      setText(
        /** @type {Element} */ (
          this.querySelector(`a[data-view=${name}] > .count`)
        ),
        number > 0 ? ` ${number}` : "",
      );
    }
  }

  /** @param {boolean} chooses */
  #choose(chooses) {
    this.#chooses = chooses;
    this.toggleAttribute("data-choosing", chooses);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (
      isBrowserKey(event) ||
      event.key === "Shift" ||
      target.closest?.("dialog")
    )
      return;
    if (
      !this.#chooses &&
      actionOf(event, target.closest?.("input, textarea, select") !== null) !==
        "view"
    )
      return;
    event.preventDefault();
    event.stopPropagation();
    const view = this.#chooses
      ? VIEWS.find(({ key }) => key === event.key)
      : undefined;
    this.#choose(!this.#chooses);
    if (!view) return;
    this.#open(view.name);
    this.dispatchEvent(new Event("view", { bubbles: true }));
  }
}

customElements.define("hub-tabs", HubTabs);
