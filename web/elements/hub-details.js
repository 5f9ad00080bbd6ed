/** One notification in full: its text, data, thread, delivery and actions. */

import "./hub-question.js";
import "./hub-need.js";
import { copy } from "./copyable.js";
import {
  commands,
  data,
  facts,
  options,
  relatedList,
  timeline,
} from "./details-parts.js";
import { h } from "./dom.js";
import {
  closeButton,
  onCtrlEnter,
  revealHidden,
  runOnce,
  setState,
  setText,
  stateBadge,
} from "./parts.js";
import { contextOf } from "./hub-question.js";
import { showMarkdown } from "./rich-text.js";
import { StoreElement } from "./store-element.js";
import { timeElement } from "./time.js";
import { Problem } from "../hub/problem.js";
import { setMarks } from "../hub/marks.js";
import { asks, isOpen, itemOf } from "../core/attention.js";
import { sentText } from "../core/delivery.js";
import { endOf, rowTitle } from "../core/rows.js";
import { kindText } from "../core/types.js";
import { senderName, thread } from "../core/thread.js";
import { projectName, sessionFinder } from "../core/sessions.js";

/** @import { Notification, Step } from '../core/types.js' */
/** @import { HubQuestion } from './hub-question.js' */
/** @import { HubNeed } from './hub-need.js' */

/** The time within which a second press confirms, in ms. */
const CONFIRM_TIMEOUT = 4000;

export class HubDetails extends StoreElement {
  #id = 0;
  /** The notifications of its row, newest first. @type {Notification[]} */
  #items = [];
  #tracedChanges = -1;
  #drawnState = "";
  /** The id of the notification whose thread was requested. */
  #threadOf = 0;
  #badge = stateBadge({ state: "", text: "" });
  #heading = h("h3", { tabindex: "-1" });
  #number = h("span", { class: "number muted" });
  #time = h("span", {});
  #text = h("div", { class: "text" });
  /** The same card as on the stage, with the same controls. */
  #need = h("div", { class: "need" });
  #options = h("div", {});
  #actions = h("div", { class: "actions" });
  #reply = h("form", { class: "reply", hidden: true });
  #facts = h("div", {});
  #related = h("div", { class: "related-lists" });
  #data = h("div", {});
  #trace = h("section", {});
  #parts = [
    this.#options,
    this.#actions,
    this.#facts,
    this.#related,
    this.#data,
  ];
  #body = h(
    "div",
    { class: "body" },
    this.#text,
    this.#need,
    this.#options,
    this.#actions,
    this.#reply,
    this.#facts,
    this.#related,
    this.#data,
    this.#trace,
  );

  connectedCallback() {
    this.watch(["needs", "sessions", "info"], () => this.#refresh());
    if (this.firstChild) return;
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Details");
    const close = () => this.dispatchEvent(new CustomEvent("close"));
    this.append(
      h(
        "header",
        {},
        h("button", { class: "ghost back", onclick: close }, "‹ Feed"),
        this.#badge,
        this.#number,
        this.#time,
        closeButton(close),
      ),
      h("div", { class: "scroll" }, this.#heading, this.#body),
    );
    this.#related.addEventListener("click", (event) => this.#follow(event));
  }

  /**
   * @param {number} id 0 for none
   * @param {Notification[]} items of its row, newest first
   */
  show(id, items) {
    this.hidden = id === 0;
    this.#items = items;
    if (id !== this.#id) {
      this.#id = id;
      this.#clear();
    }
    if (id && this.store.ready && this.#threadOf !== id) this.#loadThread(id);
    this.#refresh();
  }

  #clear() {
    this.#drawnState = "";
    this.#tracedChanges = -1;
    this.#reply.hidden = true;
    this.#heading.parentElement?.scrollTo(0, 0);
    for (const part of [
      this.#heading,
      this.#time,
      this.#text,
      this.#need,
      ...this.#parts,
      this.#trace,
    ])
      part.replaceChildren();
    setText(this.#number, this.#id ? `#${this.#id}` : "");
    setState(this.#badge, { state: "", text: "" });
  }

  /** Scrolls to the beginning of the details. */
  focusHeading() {
    this.#heading.focus();
  }

  /** Updates the changed parts. */
  #refresh() {
    const notification = this.#notification;
    if (!notification) return;
    const { id, seen } = notification;
    const question = this.#asksNow(id);
    this.#showNeed(notification);
    const drawn = JSON.stringify([
      id,
      seen,
      endOf(notification),
      question,
      this.#items.length,
      this.store.feed.repliesVersion,
    ]);
    if (drawn !== this.#drawnState) {
      this.#drawnState = drawn;
      this.#draw(notification);
    }
    const moved = this.store.feed.statusChanges(id);
    if (moved !== this.#tracedChanges) {
      this.#tracedChanges = moved;
      this.#loadTrace(id);
    }
  }

  /**
   * Shows the card of a question or of another need; its text is not repeated.
   *
   * @param {Notification} notification
   */
  #showNeed(notification) {
    const need = this.#needOf(notification);
    const item = need ? itemOf(need, this.store) : null;
    const tag = need && asks(need) ? "hub-question" : "hub-need";
    let card = /** @type {HubQuestion|HubNeed|null} */ (
      this.#need.firstElementChild
    );
    if (!item || card?.localName !== tag) card?.remove();
    this.#text.hidden = item !== null;
    this.#options.hidden = item !== null;
    if (!item) return this.#showText(notification);
    if (!card?.isConnected) {
      card = /** @type {HubQuestion|HubNeed} */ (document.createElement(tag));
      card.store = this.store;
      card.role = "group";
      card.tabIndex = -1;
      this.#need.append(card);
    }
    card.show(item, projectName(notification.project));
  }

  /** The need that a notification is about: a question in any state, or an open need. @param {Notification} notification */
  #needOf({ id, type }) {
    const listed = this.store.needs.find(
      ({ notification }) => notification === id,
    );
    const isQuestion = type === "question" || type === "approval";
    return listed ?? (isQuestion ? this.store.whole(String(id)) : undefined);
  }

  /** Whether a notification is a question that is still open. @param {number} id */
  #asksNow(id) {
    return this.store.needs.some(
      (need) => need.notification === id && asks(need) && isOpen(need),
    );
  }

  /**
   * Performs the action of a key on the card that has the focus.
   *
   * @param {HTMLElement} target
   * @param {string} action
   * @param {string} key
   * @returns {boolean} whether there was something to do
   */
  act(target, action, key) {
    const card = /** @type {HubQuestion|HubNeed|null} */ (
      target.closest("hub-question, hub-need")
    );
    const isPressed =
      action === "enter" && target.matches("button, a, summary");
    return card !== null && !isPressed && card.act(action, key);
  }

  /** Opens the field for a reply. */
  openReply() {
    const notification = this.#notification;
    if (!notification || !this.#canReply(notification)) return;
    if (this.#reply.hidden) this.#buildReply(notification);
    this.#reply.hidden = false;
    this.#reply.querySelector("textarea")?.focus();
  }

  get #notification() {
    return this.store.feed.get(this.#id);
  }

  /** @param {Notification} notification */
  #draw(notification) {
    const { store } = this;
    const now = () => store.now();
    setState(this.#badge, {
      state: notification.type,
      text: kindText(notification.type),
    });
    const end = endOf(notification);
    setText(this.#number, `#${notification.id}${end ? ` · ${end}` : ""}`);
    this.#time.replaceChildren(timeElement(notification.ts, now, "ago"));
    this.#heading.replaceChildren(
      ...revealHidden(notification.title ?? `From ${senderName(notification)}`),
    );
    this.#options.replaceChildren(...present(options(notification)));
    this.#actions.replaceChildren(...this.#buttons(notification));
    this.#facts.replaceChildren(
      facts(notification, (part) =>
        this.dispatchEvent(new CustomEvent("restrict", { detail: part })),
      ),
    );
    const all = thread(notification, store.feed);
    const title = rowTitle(this.#items);
    this.#related.replaceChildren(
      ...present(
        relatedList("Thread", all, notification.id, now),
        relatedList(title, this.#items.slice(0, 100), notification.id, now),
      ),
    );
    this.#data.replaceChildren(
      ...present(
        data(notification),
        commands(notification, store.info?.state_dir ?? null),
      ),
    );
  }

  /** @param {Notification} notification */
  #showText({ msg, project, session, from }) {
    const { store } = this;
    const asker = sessionFinder(store.sessions.values())(
      project,
      session ?? from,
    );
    showMarkdown(this.#text, msg, {
      store,
      context: asker && contextOf(store, asker),
    });
  }

  /** @param {Notification} notification */
  #buttons(notification) {
    const { store } = this;
    const pending =
      notification.status === "pending" || notification.status === undefined;
    const withdraw = h(
      "button",
      { class: "ghost", onclick: () => this.#withdraw(withdraw, notification) },
      "Withdraw",
    );
    const link = h(
      "button",
      { class: "ghost", onclick: () => this.#copyLink(link, notification) },
      "Copy link",
    );
    return present(
      this.#canReply(notification) &&
        h(
          "button",
          {
            "aria-keyshortcuts": "r",
            title: "Reply (r)",
            onclick: () => this.openReply(),
          },
          "Reply",
        ),
      !store.onlyReads &&
        h(
          "button",
          {
            class: "ghost",
            "aria-keyshortcuts": "s",
            title: "s",
            onclick: () =>
              setMarks(store, [notification.id], !notification.seen),
          },
          notification.seen ? "Mark unread" : "Mark read",
        ),
      pending &&
        !this.#asksNow(notification.id) &&
        store.access === undefined &&
        withdraw,
      link,
    );
  }

  /** An open question is answered with its own controls. @param {Notification} notification */
  #canReply({ id }) {
    return !this.#asksNow(id) && !this.store.onlyReads;
  }

  /** @param {Notification} notification */
  #buildReply(notification) {
    const to =
      notification.from === "person"
        ? (notification.to ?? "primary")
        : notification.from;
    const label = `Reply to ${to}`;
    const field = h("textarea", {
      rows: 3,
      "aria-label": label,
      placeholder: `${label} …`,
      "aria-keyshortcuts": "Control+Enter",
    });
    const cancel = () => {
      this.#reply.hidden = true;
      this.focusHeading();
    };
    const send = () =>
      runOnce(this.#reply, async () => {
        if (!field.value.trim()) return field.focus();
        const post = {
          msg: field.value,
          from: "person",
          to,
          project: notification.project,
          reply_to: notification.id,
          type: "message",
        };
        if (await this.store.attempt(() => this.#send(post))) cancel();
      });
    onCtrlEnter(field, send);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      cancel();
    });
    this.#reply.replaceChildren(
      field,
      h(
        "button",
        {
          class: "primary",
          type: "button",
          title: "Send (Ctrl+Enter)",
          onclick: send,
        },
        "Send",
      ),
      h(
        "button",
        { class: "ghost", type: "button", onclick: cancel },
        "Cancel",
      ),
    );
  }

  /** @param {object} post */
  async #send(post) {
    this.store.toast(sentText(await this.store.api.post("/notify", post)));
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {Notification} notification
   */
  async #withdraw(button, notification) {
    if (!button.dataset.sure) {
      button.dataset.sure = "asked";
      button.textContent = "Really withdraw";
      setTimeout(() => {
        delete button.dataset.sure;
        button.textContent = "Withdraw";
      }, CONFIRM_TIMEOUT);
      return;
    }
    await this.store.attempt(async () => {
      const { withdrawn } = await this.store.api.delete(
        `/notifications/${notification.id}`,
      );
      this.store.toast(
        withdrawn.length > 0
          ? `Withdrawn #${notification.id}.`
          : "It was no longer pending.",
      );
      this.#loadTrace(notification.id);
    });
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {Notification} notification
   */
  async #copyLink(button, notification) {
    const done = await copy(`${location.origin}/?id=${notification.id}`);
    button.textContent = done ? "Copied" : "Copy it from the address bar";
    setTimeout(() => (button.textContent = "Copy link"), 2000);
  }

  /** @param {Event} event */
  #follow(event) {
    const mouse = /** @type {MouseEvent} */ (event);
    const link = /** @type {HTMLElement} */ (event.target).closest("a");
    if (!link || mouse.ctrlKey || mouse.metaKey || mouse.shiftKey) return;
    event.preventDefault();
    this.dispatchEvent(
      new CustomEvent("follow", { detail: Number(link.dataset.id) }),
    );
  }

  /**
   * Requests the whole thread, which may begin before the loaded part of the feed.
   *
   * @param {number} id
   */
  async #loadThread(id) {
    const { store } = this;
    this.#threadOf = id;
    try {
      for (let after = ""; ;) {
        const page = await store.api.get(`/notifications?thread=${id}${after}`);
        store.feed.add(page.notifications);
        store.changed("feed");
        if (!page.partial || id !== this.#id) break;
        after = `&after=${page.next}`;
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (id !== this.#id || this.#notification) return;
      this.#heading.textContent = `#${id}: ${error.message}`;
      this.#text.textContent = error.hint;
      for (const part of this.#parts) part.replaceChildren();
      setState(this.#badge, { state: "ended", text: "gone" });
    }
  }

  /** @param {number} id */
  async #loadTrace(id) {
    /** @type {Step[]} */
    const steps = [];
    try {
      for (let after = ""; ;) {
        /** @type {import('../core/types.js').Schemas['Trace']} */
        const trace = await this.store.api.get(
          `/notifications/${id}/trace${after}`,
        );
        steps.push(...trace.steps);
        if (!trace.next || id !== this.#id) break;
        after = `?after=${trace.next}`;
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return;
    }
    const find = sessionFinder(this.store.sessions.values() ?? []);
    const named = steps.map((step) => ({
      ...step,
      inbox:
        (step.inbox && step.project && find(step.project, step.inbox)?.name) ||
        step.inbox,
    }));
    if (id === this.#id)
      this.#trace.replaceChildren(h("h3", {}, "Delivery"), timeline(named));
  }
}

/**
 * @template T
 * @param {...(T|null|false|undefined)} list
 * @returns {T[]}
 */
function present(...list) {
  return /** @type {T[]} */ (
    list.filter((one) => one !== null && one !== false && one !== undefined)
  );
}

customElements.define("hub-details", HubDetails);
