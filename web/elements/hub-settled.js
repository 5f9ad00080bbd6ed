/** What a screen reader announces of the queue: new needs, and needs that were settled elsewhere while the person was at them. */

import { copy } from "./copyable.js";
import { closeLater, h } from "./dom.js";
import { setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { asks, isOpen, settlementText } from "../core/attention.js";
import { outboxOf } from "../hub/outbox.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { HubNeed } from './hub-need.js' */
/** @import { HubQuestion } from './hub-question.js' */

/** @typedef {{busy: boolean, draft: string}} Left What the person had at a need that is gone: the focus, and what they typed. */

export class HubSettled extends StoreElement {
  #lines = h("div", { class: "settled", role: "status" });
  #announcement = h("p", { class: "visually-hidden", role: "status" });
  /** The needs so far. @type {AttentionItem[]|null} */
  #known = null;
  /** The needs that the lines are about. @type {WeakMap<Element, AttentionItem>} */
  #about = new WeakMap();

  connectedCallback() {
    if (!this.firstChild) this.append(this.#lines, this.#announcement);
  }

  /**
   * Announces new needs, and those that are gone without an act of this page.
   *
   * @param {AttentionItem[]} now
   * @param {AttentionItem[]} sent
   * @param {(key: string) => HubQuestion|HubNeed|undefined} cardOf
   */
  compare(now, sent, cardOf) {
    // An answer that is still held here settles nothing yet; one on its way to the agent does.
    const all = [...now, ...sent.filter(({ need }) => isOpen(need))];
    const before = this.#known ?? all;
    const isIn =
      (/** @type {AttentionItem[]} */ items) =>
      (/** @type {AttentionItem} */ { key }) =>
        items.some((item) => item.key === key);
    const added = all.filter((item) => !isIn(before)(item));
    if (added.length > 0)
      this.#announcement.textContent = added
        .map(({ name, need }) => `${name} ${need.title}.`)
        .join(" ");
    for (const item of before.filter((one) => !isIn(all)(one)))
      this.#note(item, cardOf(item.key));
    this.#known = all;
    this.#follow();
  }

  /** Rewrites the lines about needs that the hub still lists: an answer may turn out not to count. */
  #follow() {
    for (const line of this.#lines.children) {
      const item = this.#about.get(line);
      const isListed = this.store.needs.some(
        ({ id, settled }) => id === item?.key && settled,
      );
      if (item && isListed && line.firstElementChild)
        setText(line.firstElementChild, this.#textOf(item));
    }
  }

  /**
   * Reports who settled it, unless this page did.
   *
   * @param {AttentionItem} item that is gone
   * @param {HubQuestion|HubNeed} [card]
   */
  async #note(item, card) {
    const { key, need } = item;
    const left = {
      busy: card?.contains(document.activeElement) ?? false,
      draft: card?.draft.trim() ?? "",
    };
    if (
      asks(need)
        ? !card || (await outboxOf(this.store).settledHere(key))
        : !left.draft
    )
      return;
    this.#announce(item, left);
  }

  /** Who settled it and how, as far as the hub knows by now. @param {AttentionItem} item */
  #textOf({ key, name, need }) {
    const { store } = this;
    const settled = store.needs.find(({ id }) => id === key)?.settled;
    const find = (/** @type {string} */ id) =>
      [...store.sessions.values()].find((session) => session.id === id)?.name ??
      id;
    return settlementText(
      name,
      need.kind,
      settled && { ...settled, by: settled.by && find(settled.by) },
    );
  }

  /**
   * Announces to screen readers who settled it; it is also visible if the person was about to answer.
   *
   * @param {AttentionItem} item
   * @param {Left} left
   */
  #announce(item, { busy, draft }) {
    const close = () => line.remove();
    const line = h(
      "p",
      { class: busy || draft ? "" : "visually-hidden" },
      h("span", {}, this.#textOf(item)),
      draft &&
        h(
          "button",
          { class: "small", title: draft, onclick: () => copy(draft) },
          "Copy what you typed",
        ),
      (busy || draft) &&
        h(
          "button",
          { class: "ghost small", "aria-label": "Close", onclick: close },
          "×",
        ),
    );
    this.#about.set(line, item);
    this.#lines.append(line);
    if (!draft) closeLater(line, close);
    while (this.#lines.children.length > 3)
      this.#lines.firstElementChild?.remove();
  }
}

customElements.define("hub-settled", HubSettled);
