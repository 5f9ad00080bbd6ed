/** The stage: one need with everything that belongs to it. The stage scrolls, and nothing in it does. */

import "./hub-need.js";
import "./hub-question.js";
import { setAddress, withNeed } from "./address.js";
import { h } from "./dom.js";
import { setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { asks } from "../core/attention.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { HubNeed } from './hub-need.js' */
/** @import { HubQuestion } from './hub-question.js' */

/** For this time after another need came by itself, a click was probably meant for the one before, in ms. */
const MISCLICK_WINDOW = 350;
/** For this time after an answer by a click, another click is the second one of a double click, in ms. */
const DOUBLE_CLICK = 500;

/** @typedef {{item: AttentionItem, title: string, at: number, count: number, marked?: boolean}} Shown `at` is its place in the queue, from 1; `marked` is left out where nothing is marked */

export class HubStage extends StoreElement {
  #place = h("span", { class: "place" });
  #pager = h(
    "div",
    { class: "pager" },
    h(
      "button",
      { class: "ghost", onclick: () => setAddress(withNeed()) },
      "‹ List",
    ),
    this.#place,
    this.#turn("‹", "Previous need", -1),
    this.#turn("›", "Next need", 1),
  );
  #cards = h("div", { class: "cards" });
  #none = h("p", { class: "no-items", tabindex: "-1", hidden: true });
  #scroll = h("div", { class: "scroll" }, this.#cards, this.#none);
  /** The card on the stage. @type {HubQuestion|HubNeed|null} */
  card = null;
  /** The key of the need that the person can see. */
  #drawn = "";
  /** The keys of the needs whose end the person could see. @type {Set<string>} */
  #read = new Set();
  /** Whether the person made the next need come. */
  #isOwn = false;
  /** Until when clicks of a pointer do nothing that come as the first, or later, at their place. */
  #guard = { until: -Infinity, clicks: 1, time: 0, isComing: false };

  connectedCallback() {
    if (this.firstChild) return;
    this.append(this.#pager, this.#scroll);
    this.#scroll.addEventListener("scroll", () => this.#noteEnd());
    this.#cards.addEventListener(
      "click",
      (event) => this.#ignoreMisclick(event),
      { capture: true },
    );
  }

  /** Whether the person sees the need that a key acts on. */
  get isDrawn() {
    return this.#drawn !== "";
  }

  /** Whether the end of the need was on the screen. */
  get isRead() {
    return this.#read.has(this.#drawn);
  }

  /** @param {string} key */
  cardOf(key) {
    return /** @type {HubQuestion|HubNeed|undefined} */ (
      [...this.#cards.children].find(
        (card) => /** @type {HTMLElement} */ (card).dataset.key === key,
      )
    );
  }

  /** Moves the focus to the need, so that keys scroll it. @returns {boolean} whether there is one */
  focusCard() {
    this.card?.focus({ preventScroll: true });
    return this.card !== null;
  }

  /** The need on the stage is about to leave by an act of the person. */
  leave() {
    this.#drawn = "";
    this.#isOwn = true;
  }

  /**
   * @param {Shown|null} shown null for an empty queue
   * @param {{strong: string, more: string}} empty the sentence for an empty queue
   */
  show(shown, empty) {
    const before = this.card;
    const focused = this.contains(document.activeElement);
    this.#none.hidden = shown !== null;
    this.#pager.hidden = shown === null;
    if (!shown)
      this.#none.replaceChildren(
        h("strong", {}, empty.strong),
        ` ${empty.more}`,
      );
    this.card = shown ? this.#card(shown) : null;
    if (shown) setText(this.#place, `${shown.at} of ${shown.count}`);
    if (this.card && "canApprove" in this.card)
      this.card.showMark(shown?.marked);
    if (this.card !== before)
      this.#change(before !== null, focused || this.#isOwn);
    else if (!this.isDrawn) this.#draw();
  }

  /** @param {Shown} shown */
  #card({ item, title }) {
    const card = this.cardOf(item.key) ?? this.#create(item);
    card.show(item, title);
    return card;
  }

  /** @param {AttentionItem} item */
  #create(item) {
    const card = /** @type {HubQuestion|HubNeed} */ (
      document.createElement(asks(item.need) ? "hub-question" : "hub-need")
    );
    Object.assign(card, { store: this.store, role: "group", tabIndex: -1 });
    Object.assign(card.dataset, { key: item.key, kind: item.need.kind });
    this.#cards.append(card);
    return card;
  }

  /**
   * @param {boolean} replaces whether another need was on the stage
   * @param {boolean} focus whether the focus follows
   */
  #change(replaces, focus) {
    for (const card of this.#cards.children)
      /** @type {HTMLElement} */ (card).hidden = card !== this.card;
    if (replaces) this.guard();
    this.#scroll.scrollTo(0, 0);
    if (focus) (this.card ?? this.#none).focus({ preventScroll: true });
    this.#draw();
  }

  /** A click of a pointer in the next moment was aimed at what was here before. */
  guard() {
    const time = this.#isOwn ? DOUBLE_CLICK : MISCLICK_WINDOW;
    this.#guard = {
      until: performance.now() + time,
      clicks: this.#isOwn ? 2 : 1,
      time,
      isComing: true,
    };
  }

  /** Notes that the need is drawn, once it is. */
  #draw() {
    const { card } = this;
    this.#drawn = "";
    this.#isOwn = false;
    // The frame that a callback is for is on the screen when the next task runs.
    requestAnimationFrame(() =>
      setTimeout(() => {
        if (card !== this.card || !card?.isWhole || this.#isOwn) return;
        this.#drawn = card.dataset.key ?? "";
        // The time counts from when the person can see the need.
        if (this.#guard.isComing)
          this.#guard.until = performance.now() + this.#guard.time;
        this.#guard.isComing = false;
        this.#noteEnd();
        this.dispatchEvent(new Event("drawn"));
      }),
    );
  }

  #noteEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroll;
    if (this.#drawn && scrollTop + clientHeight >= scrollHeight - 2)
      this.#read.add(this.#drawn);
  }

  /** Removes the cards of needs that are gone; the others keep what the person has typed. @param {AttentionItem[]} items */
  keep(items) {
    const keys = new Set(items.map(({ key }) => key));
    for (const key of this.#read) if (!keys.has(key)) this.#read.delete(key);
    for (const card of [...this.#cards.children])
      if (!keys.has(/** @type {HTMLElement} */ (card).dataset.key ?? ""))
        card.remove();
  }

  /**
   * @param {string} text
   * @param {string} label
   * @param {1|-1} by
   */
  #turn(text, label, by) {
    return h(
      "button",
      {
        class: "turn",
        "aria-label": label,
        title: label,
        onclick: () =>
          this.dispatchEvent(
            new CustomEvent("step", { detail: by, bubbles: true }),
          ),
      },
      text,
    );
  }

  /**
   * Stops a click of a pointer that was aimed at the need before: one right after the need changed by itself, or the second
   * one of a double click.
   *
   * @param {MouseEvent} event
   */
  #ignoreMisclick(event) {
    const { until, clicks, isComing } = this.#guard;
    const isUnseen =
      isComing && this.card?.contains(/** @type {Node} */ (event.target));
    // A click by keyboard has no number, and cannot miss its target.
    if (event.detail < clicks) return;
    if (!isUnseen && performance.now() > until) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

customElements.define("hub-stage", HubStage);
