/** The list of the queue: what needs the person, what needs nothing yet, and the answers on their way. */

import { setAddress, withNeed } from "./address.js";
import { h, updateList } from "./dom.js";
import { setProperty, setText } from "./parts.js";
import { queueRow, updateQueueRow } from "./queue-row.js";
import { sentRow, updateSentRow } from "./sent-row.js";
import { StoreElement } from "./store-element.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Queue } from '../core/queue.js' */

export class HubQueueList extends StoreElement {
  #open = h("ul", { class: "rows", "aria-label": "Needs" });
  #none = h("p", { class: "muted none" }, "Nothing is open.");
  #approve = h("button", {
    class: "primary small",
    "aria-keyshortcuts": "Shift+X",
    title: "Approve what is marked (X)",
    onclick: () =>
      this.dispatchEvent(new Event("approve-marked", { bubbles: true })),
  });
  #unmark = h(
    "button",
    {
      class: "ghost small",
      onclick: () => this.dispatchEvent(new Event("unmark", { bubbles: true })),
    },
    "Unmark",
  );
  #marked = h(
    "div",
    {
      class: "marked",
      role: "group",
      "aria-label": "Marked permissions",
      hidden: true,
    },
    this.#approve,
    this.#unmark,
  );
  #laterCount = h("span", { class: "muted" });
  #later = h("ul", { class: "rows", "aria-label": "Nothing to do yet" });
  #fold = h(
    "details",
    { class: "later", hidden: true },
    h("summary", {}, "Nothing to do yet ", this.#laterCount),
    this.#later,
  );
  #sent = h("ul", { class: "sent", "aria-labelledby": "on-its-way" });
  #foot = h(
    "section",
    { hidden: true },
    h("h3", { id: "on-its-way" }, "On its way"),
    this.#sent,
  );

  connectedCallback() {
    if (this.firstChild) return;
    this.append(this.#marked, this.#open, this.#none, this.#fold, this.#foot);
    this.addEventListener("click", (event) => this.#onClick(event));
  }

  /**
   * @param {Queue} queue
   * @param {import('./batch.js').Batch} batch
   * @param {string} selected
   * @param {(item: AttentionItem) => string} title of a project
   */
  show({ open, later, sent }, batch, selected, title) {
    const focused = this.#focusedRow !== null;
    const tabbable = selected || (open[0]?.key ?? "");
    for (const [list, items] of /** @type {const} */ ([
      [this.#open, open],
      [this.#later, later],
    ])) {
      updateList(
        list,
        items,
        keyOf,
        () => queueRow(this.store),
        (row, item) =>
          updateQueueRow(row, item, {
            title: title(item),
            selected,
            tabbable,
            marked: batch.has(item.key),
            store: this.store,
          }),
      );
    }
    updateList(
      this.#sent,
      sent,
      keyOf,
      (item) => sentRow(item),
      (row, item) => updateSentRow(row, item, this.store),
    );
    setProperty(this.#marked, "hidden", batch.size === 0);
    setText(this.#approve, `Approve ${batch.size}`);
    setProperty(this.#none, "hidden", open.length > 0);
    setProperty(this.#fold, "hidden", later.length === 0);
    if (later.some(({ key }) => key === selected)) this.#fold.open = true;
    setText(this.#laterCount, String(later.length));
    setProperty(this.#foot, "hidden", sent.length === 0);
    this.#reveal(focused);
  }

  /** The row that has the focus. */
  get #focusedRow() {
    const { activeElement } = document;
    return activeElement instanceof HTMLAnchorElement &&
      this.contains(activeElement)
      ? activeElement
      : null;
  }

  /** Keeps the selected row in view; the focus stays with it. @param {boolean} focused */
  #reveal(focused) {
    const row = /** @type {HTMLElement|null} */ (
      this.querySelector("a[aria-current]")
    );
    if (focused) row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const row = /** @type {Element} */ (event.target)
      .closest(".queue-row")
      ?.closest("li");
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    setAddress(withNeed(row.dataset.key));
  }
}

/** @param {AttentionItem} item */
function keyOf({ key }) {
  return key;
}

customElements.define("hub-queue-list", HubQueueList);
