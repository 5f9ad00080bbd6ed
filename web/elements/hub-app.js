/** The page's frame: its views, the pane, its dialogs, and the keys that work everywhere. */

import "./hub-away.js";
import "./hub-board.js";
import "./hub-approvers.js";
import "./hub-cluster.js";
import "./hub-connection.js";
import "./hub-empty.js";
import "./hub-feed.js";
import "./hub-help.js";
import "./hub-notify.js";
import "./hub-pane.js";
import "./hub-queue.js";
import "./hub-settings.js";
import "./hub-tabs.js";
import "./hub-timeline.js";
import "./hub-toast.js";
import {
  addressOf,
  onAddress,
  openPlace,
  openView,
  setAddress,
  withNeed,
} from "./address.js";
import { h } from "./dom.js";
import { goFrom } from "./hub-go.js";
import { StoreElement } from "./store-element.js";
import { asks, isOpen } from "../core/attention.js";
import { actionOf } from "../core/keys.js";
import { VIEWS } from "../core/view.js";

/** @import { HubBoard } from './hub-board.js' */
/** @import { HubFeed } from './hub-feed.js' */
/** @import { HubPane } from './hub-pane.js' */

/** The element of each view. */
const TAGS = /** @type {const} */ ({
  queue: "hub-queue",
  agents: "hub-board",
  feed: "hub-feed",
  time: "hub-timeline",
});

export class HubApp extends StoreElement {
  connectedCallback() {
    const { removed: signal, store } = this;
    const pane = /** @type {HubPane} */ (
      h("hub-pane", {
        hidden: true,
        role: "complementary",
        "aria-label": "Selected",
        store,
      })
    );
    pane.itemsOf = (id) =>
      /** @type {HubFeed|null} */ (this.querySelector("hub-feed"))?.itemsOf(
        id,
      ) ?? [];
    pane.focusBack = (place) => this.#focusBack(place);
    this.replaceChildren(
      h("a", { class: "skip", href: "#main" }, "Skip to the content"),
      this.#header(),
      h("hub-notify", { store }),
      h(
        "main",
        { id: "main", tabindex: "-1" },
        h("hub-empty", { store }),
        ...VIEWS.map((view) => this.#section(view)),
        pane,
      ),
      h("hub-settings", { store }),
      h("hub-help", { store }),
      h("hub-toast", { store }),
    );
    this.#readAddress();
    onAddress(() => this.#readAddress(), signal);
    this.addEventListener("opened", () => pane.focusHeading(), { signal });
    this.addEventListener("view", () => this.#focusView(), { signal });
    this.watch(["connection", "feed"], () => this.#showReady());
    document.addEventListener("keydown", (event) => this.#handleKey(event), {
      signal,
    });
  }

  #header() {
    const { store } = this;
    return h(
      "header",
      {},
      h("h1", {}, "hub"),
      h("hub-tabs", { store }),
      h("hub-away", { store }),
      h("hub-approvers", { store }),
      h("hub-cluster", { store }),
      h("hub-connection", { store }),
      this.#tool("⌕", "Search", "/", () => this.#focusSearch()),
      this.#tool("⚙", "Settings", ",", () => this.#openDialog("hub-settings")),
      this.#tool("?", "Help", "?", () => this.#openDialog("hub-help")),
    );
  }

  /**
   * @param {string} sign that a narrow page shows
   * @param {string} name
   * @param {string} key
   * @param {() => void} act
   */
  #tool(sign, name, key, act) {
    return h(
      "button",
      {
        class: "ghost tool",
        "aria-label": name,
        "aria-keyshortcuts": key,
        title: `${name} (${key})`,
        onclick: act,
      },
      h("span", { "aria-hidden": "true" }, sign),
      h("span", { class: "word", "aria-hidden": "true" }, name),
    );
  }

  #showReady() {
    if (this.store.ready && !this.hasAttribute("data-ready"))
      this.#readAddress();
    this.toggleAttribute("data-ready", this.store.ready);
  }

  #readAddress() {
    const { id } = openPlace();
    const search = new URLSearchParams(location.search);
    // A link to a notification leads to the stage while there is something to answer.
    if (
      id &&
      !search.has("view") &&
      this.store.needs.some(
        (need) => need.id === String(id) && isOpen(need) && asks(need),
      )
    )
      return setAddress(withNeed(String(id)), "replace");
    const view = openView();
    // With its name, the view stays the same when its pane is closed or its filter removed.
    if (this.store.ready && view !== "queue" && !search.has("view")) {
      search.set("view", view);
      return setAddress(search, "replace");
    }
    this.dataset.view = view;
    for (const { name } of VIEWS)
      /** @type {HTMLElement} */ (
        this.querySelector(`section[data-view=${name}]`)
      ).hidden = name !== view;
  }

  /** @param {{id: number, agent: string}} place */
  #focusBack({ id, agent }) {
    if (agent)
      return (
        /** @type {HubBoard|null} */ (
          this.querySelector("hub-board")
        )?.focusRow(agent) ?? false
      );
    return (
      /** @type {HubFeed|null} */ (this.querySelector("hub-feed"))?.focusRow(
        id,
      ) ?? false
    );
  }

  /** @param {typeof VIEWS[number]} view */
  #section({ name, title }) {
    const heading = h(
      "h2",
      { id: `view-${name}`, tabindex: "-1", class: "visually-hidden" },
      title,
    );
    return h(
      "section",
      { "data-view": name, "aria-labelledby": heading.id },
      heading,
      h(TAGS[name], { store: this.store }),
    );
  }

  /** Moves the focus to the active item of the view, else to its heading, from which Tab continues. */
  #focusView() {
    const section = this.querySelector("main > section:not([hidden])");
    const first =
      section?.querySelector(
        '.queue-row[tabindex="0"], hub-row[tabindex="0"], .board-row[tabindex="0"]',
      ) ?? section?.querySelector("h2");
    /** @type {HTMLElement|null|undefined} */ (first)?.focus();
  }

  /** @param {string} tag */
  #openDialog(tag) {
    const dialog = /** @type {(HTMLElement & {open: () => void})|null} */ (
      this.querySelector(tag)
    );
    dialog?.open();
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || target.closest("dialog")) return;
    const action = actionOf(
      event,
      target.closest("input, textarea, select, [contenteditable]") !== null,
    );
    if (action === "help" || action === "settings")
      this.#openDialog(`hub-${action}`);
    else if (action === "undo")
      /** @type {import('./hub-toast.js').HubToast|null} */ (
        this.querySelector("hub-toast")
      )?.undo();
    else if (action === "search") this.#focusSearch();
    else if (action === "pane")
      goFrom(/** @type {Element} */ (this.querySelector("hub-pane")));
    else return;
    event.preventDefault();
  }

  #focusSearch() {
    if (openView() !== "feed") setAddress(addressOf("feed"));
    /** @type {HTMLElement|null} */ (
      this.querySelector("hub-filters input[type=search]")
    )?.focus();
  }
}

customElements.define("hub-app", HubApp);
