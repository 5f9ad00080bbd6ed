/** The queue and the stage: a list of needs, and one of them in full. */

import "./hub-queue-list.js";
import "./hub-settled.js";
import "./hub-stage.js";
import { Batch } from "./batch.js";
import {
  onAddress,
  openNeed,
  openView,
  setAddress,
  withNeed,
} from "./address.js";
import { StoreElement } from "./store-element.js";
import { WaitingKeys } from "./waiting-keys.js";
import { asks } from "../core/attention.js";
import { actionOf } from "../core/keys.js";
import { successor } from "../core/queue.js";
import { shortPaths, summarize } from "../core/sessions.js";
import { outboxOf } from "../hub/outbox.js";
import { queueNow } from "../hub/queue.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { HubQueueList } from './hub-queue-list.js' */
/** @import { HubSettled } from './hub-settled.js' */
/** @import { HubStage } from './hub-stage.js' */

/** Matches pages that show either the list or the stage. */
const NARROW = matchMedia("(width < 56rem)");

/** The needs that are loaded before they are selected. */
const AHEAD = 3;

export class HubQueue extends StoreElement {
  #list = /** @type {HubQueueList} */ (
    document.createElement("hub-queue-list")
  );
  #stage = /** @type {HubStage} */ (document.createElement("hub-stage"));
  #settled = /** @type {HubSettled} */ (document.createElement("hub-settled"));
  #batch = new Batch(this.#stage);
  #keys = new WaitingKeys((action, key) => this.#perform(action, key));
  /** The keys of the needs, in order. @type {string[]} */
  #order = [];
  #selected = "";
  /** The address that was read. */
  #wanted = "";

  connectedCallback() {
    const { removed: signal, store } = this;
    if (!this.firstChild) {
      for (const part of [this.#list, this.#stage, this.#settled])
        part.store = store;
      this.append(this.#settled, this.#list, this.#stage);
      this.addEventListener("settling", () => this.#leave());
      this.addEventListener("undone", (event) =>
        this.#undo(/** @type {CustomEvent<string>} */ (event).detail),
      );
      this.addEventListener("step", (event) =>
        this.#step(/** @type {CustomEvent<1|-1>} */ (event).detail),
      );
      this.addEventListener("mark", () => this.#mark());
      this.addEventListener("approve-marked", () => this.#approveMarked());
      this.addEventListener("unmark", () => {
        this.#batch.clear();
        this.#render();
      });
      this.#stage.addEventListener("drawn", () => this.#keys.release());
    }
    document.addEventListener("keydown", (event) => this.#handleKey(event), {
      signal,
    });
    NARROW.addEventListener("change", () => this.#render(), { signal });
    onAddress(() => this.#render(), signal);
    this.watch(["needs", "sessions", "feed", "preferences", "info"], () =>
      this.#render(),
    );
  }

  #render() {
    const { store } = this;
    if (!store.ready) return;
    const queue = queueNow(store);
    const all = [...queue.open, ...queue.later];
    const selected = this.#choose(
      all.map(({ key }) => key),
      queue.open.map(({ key }) => key),
    );
    if (openView() === "queue" && selected !== openNeed()) {
      this.#wanted = selected;
      return setAddress(withNeed(selected), "replace");
    }
    const titles = shortPaths(
      [...all, ...queue.sent].map(({ need }) => need.project),
    );
    const title = (/** @type {AttentionItem} */ { need }) =>
      titles.get(need.project) ?? need.project;
    this.toggleAttribute("data-open", selected !== "");
    this.toggleAttribute(
      "data-empty",
      queue.open.length === 0 && selected === "",
    );
    this.#settled.compare(all, queue.sent, (key) => this.#stage.cardOf(key));
    this.#batch.keep(queue.open);
    this.#list.show(queue, this.#batch, selected, title);
    this.#show(all, queue.open.length, title);
    this.#stage.keep([...all, ...queue.sent]);
    this.#order = all.map(({ key }) => key);
  }

  /**
   * The selected need. A new one changes nothing; instead of one that is gone, its neighbour is selected.
   *
   * @param {string[]} all
   * @param {string[]} open
   */
  #choose(all, open) {
    const wanted = openNeed();
    const isAsked = wanted !== this.#wanted;
    this.#wanted = wanted;
    if (isAsked) {
      this.#stage.leave();
      this.#keys.wait();
    }
    if (all.includes(wanted)) return (this.#selected = wanted);
    if (isAsked && wanted) this.store.toast("That need has ended.");
    if (!wanted && NARROW.matches && openView() === "queue")
      return (this.#selected = "");
    if (!all.includes(this.#selected))
      this.#selected = successor(this.#selected, this.#order, open);
    return this.#selected;
  }

  /**
   * Shows the selected need on the stage.
   *
   * @param {AttentionItem[]} all
   * @param {number} count of those that need the person
   * @param {(item: AttentionItem) => string} title
   */
  #show(all, count, title) {
    const at = all.findIndex(({ key }) => key === this.#selected);
    const empty = {
      strong: all.length > 0 ? "Nothing to do now." : "Nobody needs you.",
      more: summarize(this.store.sessions.values()),
    };
    const item = all[at];
    this.#stage.show(
      item
        ? {
            item,
            title: title(item),
            at: at + 1,
            count: Math.max(count, at + 1),
            marked: this.#batch.has(item.key),
          }
        : null,
      empty,
    );
    if (!item) this.#keys.drop();
    // The next one is there when its key is pressed.
    for (const { key, need } of all.slice(at, at + AHEAD))
      if (asks(need) || !need.complete) this.store.whole(key);
  }

  /** After an act on the need on the stage: it may leave, and further keys are for the next one. */
  #leave() {
    this.#stage.leave();
    this.#keys.wait();
    this.store.changed("needs");
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (
      event.defaultPrevented ||
      target.closest("dialog") ||
      !this.checkVisibility()
    )
      return;
    const typing =
      target.closest(
        "input:not([type=checkbox], [type=radio]), textarea, select",
      ) !== null;
    // Keys that scroll do so where the focus is.
    if (
      !typing &&
      (/^Page/.test(event.key) ||
        (target === document.body && /^(Arrow| $)/.test(event.key)))
    )
      this.#stage.focusCard();
    const action = actionOf(event, typing);
    if (this.#isUsed(action, event, target, typing)) event.preventDefault();
  }

  /**
   * @param {string|null} action
   * @param {KeyboardEvent} event
   * @param {HTMLElement} target
   * @param {boolean} typing
   * @returns {boolean} whether the key was used
   */
  #isUsed(action, event, target, typing) {
    if (!typing && this.#keys.take(action, event)) return true;
    if (action === "close" && typing && this.#stage.contains(target))
      return this.#stage.focusCard();
    if (
      !action ||
      (event.key.startsWith("Arrow") && !this.#list.contains(target))
    )
      return false;
    // Enter presses the focused button or link.
    if (action === "enter" && target.matches("button, a, summary"))
      return false;
    const isMove = action === "up" || action === "down";
    // A key that is held down decides nothing, and neither does one that was pressed for a need that has just gone.
    if (!isMove && action !== "undo" && (event.repeat || !this.#stage.isDrawn))
      return false;
    return this.#perform(action, event.key);
  }

  /**
   * @param {string} action
   * @param {string} key
   * @returns {boolean} whether there was something to do
   */
  #perform(action, key) {
    if (action === "up" || action === "down")
      return this.#step(action === "down" ? 1 : -1);
    if (action === "undo") return this.#undo(outboxOf(this.store).last);
    if (action === "mark") return this.#mark();
    if (action === "approve-marked") return this.#approveMarked();
    return this.#stage.card?.act(action, key) ?? false;
  }

  /** Selects the next or the previous need. @param {1|-1} by */
  #step(by) {
    const to =
      this.#order[Math.max(0, this.#order.indexOf(this.#selected) + by)];
    if (to === undefined) return this.#order.length > 0;
    if (to === this.#selected) return true;
    this.#leave();
    setAddress(withNeed(to), "replace");
    return true;
  }

  /** Marks the permission on the stage and goes on to the next one, or removes its mark. */
  #mark() {
    const done = this.#batch.toggle();
    if (done === "unread")
      this.store.toast(
        "Scroll to its end first: what is approved together was on the screen as a whole.",
      );
    if (done === "marked") this.#step(1);
    this.#render();
    return done !== "none";
  }

  /** Approves what is marked. */
  #approveMarked() {
    const any = this.#batch.size > 0;
    this.#batch.approve();
    return any;
  }

  /** Takes an answer back that is not sent yet, and selects its need again. @param {string} [id] */
  #undo(id) {
    if (id === undefined) return false;
    outboxOf(this.store).undo(id);
    this.#leave();
    setAddress(withNeed(id), "replace");
    return true;
  }
}

customElements.define("hub-queue", HubQueue);
