/** A session in full: its conversation, what it needs now, a message to it; folded, whether it can be woken, its listeners, mute and place. */

import "./hub-compose.js";
import "./hub-conversation.js";
import "./hub-go.js";
import "./hub-location.js";
import "./hub-mute.js";
import "./hub-stage.js";
import { h, updateList } from "./dom.js";
import {
  closeButton,
  runOnce,
  setProperty,
  setState,
  setText,
  stateBadge,
} from "./parts.js";
import { StoreElement } from "./store-element.js";
import { timeElement } from "./time.js";
import { WaitingKeys } from "./waiting-keys.js";
import { asks } from "../core/attention.js";
import { checkout, GROUPS } from "../core/board.js";
import { locationCommands, lookCommand } from "../core/commands.js";
import { progressOf } from "../core/progress.js";
import { toSearch } from "../core/filter.js";
import { wakeLabel } from "../core/sessions.js";
import { addressOf, setAddress } from "./address.js";
import { outboxOf } from "../hub/outbox.js";
import { queueNow } from "../hub/queue.js";

/** @import { Listener, Notification, Session } from '../core/types.js' */
/** @import { AttentionItem } from '../core/attention.js' */
/** @import { HubCompose } from './hub-compose.js' */
/** @import { HubConversation } from './hub-conversation.js' */
/** @import { HubLocation } from './hub-location.js' */
/** @import { HubMute } from './hub-mute.js' */
/** @import { HubStage } from './hub-stage.js' */

export class HubSession extends StoreElement {
  #key = "";
  /** @type {Session|null} */
  #session = null;
  #badge = stateBadge({ state: "", text: "" });
  #since = h("span", { class: "muted" });
  #heading = h("h3", { tabindex: "-1" });
  #about = h("p", { class: "muted about" });
  #activity = h("p", { class: "activity" });
  #bar = h("progress");
  #percent = h("span");
  #progress = h(
    "div",
    { class: "progress", hidden: true },
    this.#bar,
    this.#percent,
  );
  #facts = h("dl", { class: "facts" });
  #listenersHeading = h("h4", {}, "Listeners");
  #listeners = h("div", {
    class: "listeners",
    role: "list",
    "aria-label": "Listeners",
  });
  #mute = /** @type {HubMute} */ (document.createElement("hub-mute"));
  #location = /** @type {HubLocation} */ (
    document.createElement("hub-location")
  );
  #more = h(
    "details",
    { class: "more" },
    h("summary", {}, "About this agent"),
    this.#facts,
    this.#listenersHeading,
    this.#listeners,
    this.#mute,
    this.#location,
    h(
      "button",
      { class: "ghost small", onclick: () => this.#showInFeed() },
      "Show in the feed",
    ),
  );
  #conversation = /** @type {HubConversation} */ (
    document.createElement("hub-conversation")
  );
  /** Exists while the session needs something. @type {HubStage|null} */
  #stage = null;
  #keys = new WaitingKeys((action, key) => this.#stage?.card?.act(action, key));
  #compose = h("div", { class: "compose" });
  #body = h("div", { class: "body" }, this.#conversation, this.#compose);

  connectedCallback() {
    if (this.firstChild) return;
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Agent");
    for (const part of [this.#mute, this.#conversation])
      part.store = this.store;
    const close = () => this.dispatchEvent(new CustomEvent("close"));
    this.append(
      h(
        "header",
        {},
        h("button", { class: "ghost back", onclick: close }, "‹ Agents"),
        this.#badge,
        this.#since,
        closeButton(close),
      ),
      h(
        "div",
        { class: "who" },
        this.#heading,
        this.#about,
        this.#activity,
        this.#progress,
        this.#more,
      ),
      this.#body,
    );
  }

  /**
   * @param {string} key `project/id`
   * @param {Session} [session] undefined if it is not known, or not yet
   */
  show(key, session) {
    if (key !== this.#key) {
      this.#key = key;
      this.#session = null;
      this.#compose.replaceChildren();
    }
    for (const part of [this.#body, this.#more, this.#activity, this.#progress])
      part.hidden = !session;
    if (!session) {
      setText(
        this.#heading,
        this.store.ready
          ? "This agent has ended, or never existed"
          : "Loading…",
      );
      for (const part of [this.#about, this.#since]) part.replaceChildren();
      return setState(this.#badge, { state: "gone", text: "" });
    }
    const isNew = !this.#session;
    if (isNew)
      this.#compose.replaceChildren(
        h("hub-compose", { store: this.store, session }),
        h("hub-go", { store: this.store, session }),
      );
    this.#session = session;
    if (this.dataset.id !== session.id) this.dataset.id = session.id;
    this.#showPhase(session);
    this.#showProgress(
      session.last === undefined ? null : this.store.notification(session.last),
    );
    this.#showFacts(session);
    this.#update(session);
    const need = this.#showNeed(session, isNew)?.need;
    this.#conversation.show(
      session,
      this.#reported(session),
      need && asks(need) ? need.notification : undefined,
    );
  }

  focusHeading() {
    this.#heading.focus();
  }

  /** @param {Session} session */
  #showPhase(session) {
    const { phase } = session;
    const title =
      GROUPS.find(({ name }) => name === phase.name)?.title ?? "Ended";
    setState(this.#badge, { state: phase.name, text: title });
    if (this.#since.dataset.at !== phase.since) {
      this.#since.dataset.at = phase.since;
      this.#since.replaceChildren(
        "for ",
        timeElement(phase.since, () => this.store.now()),
      );
    }
    setText(this.#heading, session.name);
    setProperty(this.#heading, "title", session.title ?? session.id);
    const branch = checkout(session);
    setText(
      this.#about,
      [
        session.agent,
        session.primary && "primary",
        session.parent && `worker of ${session.parent}`,
        branch && `branch ${branch}`,
        session.project,
      ]
        .filter(Boolean)
        .join(" · "),
    );
    setText(
      this.#activity,
      phase.tool ? `${phase.tool.name} ${phase.tool.on ?? ""}`.trim() : "",
    );
    setProperty(this.#activity, "hidden", !phase.tool);
  }

  /** A text that changes when there may be something new in the conversation. @param {Session} session */
  #reported({ id, project, last, state, since, pending, phase }) {
    const own = this.store.needs.filter(
      (need) => need.project === project && need.session === id,
    );
    return JSON.stringify([
      id,
      project,
      last,
      state,
      since,
      pending,
      phase.name,
      phase.since,
      own.map((need) => [need.id, need.settled]),
    ]);
  }

  /**
   * Shows the session's need, on a stage like that of the queue.
   *
   * @param {Session} session
   * @param {boolean} isNew whether another session, or none, was shown before
   */
  #showNeed({ id, project }, isNew) {
    const { open, later, sent } = queueNow(this.store);
    const isHeld = (/** @type {AttentionItem} */ { key }) =>
      outboxOf(this.store).held(key) !== undefined;
    const own = [...open, ...later, ...sent.filter(isHeld)].filter(
      (item) => item.need.session === id && item.need.project === project,
    );
    const [item] = own;
    if (item) {
      this.#stage ??= this.#addStage(isNew);
      this.#stage.show(
        { item, title: "", at: 1, count: own.length },
        { strong: "", more: "" },
      );
      this.#stage.keep(own);
    } else {
      this.#stage?.remove();
      this.#stage = null;
      this.#keys.drop();
    }
    // A session's need has a field for a reply of its own.
    setProperty(
      this.#compose,
      "hidden",
      this.#session?.phase.name === "gone" ||
        (item !== undefined && !asks(item.need)),
    );
    return item;
  }

  /** @param {boolean} isNew */
  #addStage(isNew) {
    const stage = /** @type {HubStage} */ (
      h("hub-stage", { store: this.store })
    );
    stage.addEventListener("settling", () => this.#leave());
    stage.addEventListener("drawn", () => this.#keys.release());
    this.#compose.before(stage);
    // Else the field for a message was at its place.
    if (!isNew) stage.guard();
    return stage;
  }

  /** After an act on the need: further keys are for the next one. */
  #leave() {
    this.#stage?.leave();
    this.#keys.wait();
    this.store.changed("needs");
  }

  /**
   * Performs the action of a key on what the session needs.
   *
   * @param {HTMLElement} target
   * @param {string|null} action
   * @param {KeyboardEvent} event
   * @returns {boolean} whether there was something to do
   */
  act(target, action, event) {
    if (
      this.hidden ||
      target.matches(
        "input:not([type=checkbox], [type=radio]), textarea, select",
      )
    )
      return false;
    if (this.#keys.take(action, event)) return true;
    if (
      !action ||
      event.repeat ||
      (action === "enter" && target.matches("button, a, summary"))
    )
      return false;
    if (action === "reply" && !this.#stage && !this.#compose.hidden)
      return this.#focusField();
    return (
      this.#stage?.isDrawn === true &&
      (this.#stage.card?.act(action, event.key) ?? false)
    );
  }

  #focusField() {
    /** @type {HubCompose} */ (this.#compose.firstElementChild).focusField();
    return true;
  }

  #showInFeed() {
    const session = this.#session;
    if (session)
      setAddress(
        toSearch(
          { project: session.project, session: session.id },
          addressOf("feed"),
        ),
      );
  }

  /** @param {Notification|null|undefined} report */
  #showProgress(report) {
    const progress = progressOf(report ?? null);
    setProperty(this.#progress, "hidden", !progress);
    if (!progress) return;
    setProperty(this.#bar, "max", progress.max);
    setProperty(this.#bar, "value", progress.value);
    setProperty(this.#bar, "ariaLabel", `Progress of ${this.#session?.name}`);
    setText(this.#percent, progress.text);
  }

  /** @param {Session} session */
  #showFacts(session) {
    const { text, means } = wakeLabel(
      session,
      this.store.waiters.get(this.#key),
    );
    /** @type {[string, string][]} */
    const facts = [
      [
        "Messages",
        session.unreachable
          ? `${text}: ${session.unreachable}`
          : `${text}. ${means}`,
      ],
      ["Pending", session.pending > 0 ? `${session.pending} pending` : ""],
      [
        "State",
        [
          session.state,
          session.evidence,
          session.silent ? "no report for ten minutes" : "",
        ]
          .filter(Boolean)
          .join(", "),
      ],
      ["Id", session.id === session.name ? "" : session.id],
      ["Also called", (session.aliases ?? []).join(", ")],
    ];
    const present = facts.filter(([, value]) => value !== "");
    updateList(
      this.#facts,
      present,
      ([name]) => name,
      ([name]) => h("div", {}, h("dt", {}, name), h("dd")),
      (line, [, value]) =>
        setText(/** @type {Element} */ (line.lastElementChild), value),
    );
  }

  /** @param {Session} session */
  #update(session) {
    const { store } = this;
    const listeners = session.listeners ?? [];
    for (const part of [this.#listenersHeading, this.#listeners])
      setProperty(part, "hidden", listeners.length === 0);
    updateList(
      this.#listeners,
      listeners,
      ({ caller, until }) => `${caller} ${until ?? ""}`,
      (listener) => this.#listener(listener),
      () => {},
    );
    /** @type {HubCompose} */ (this.#compose.firstElementChild).session =
      session;
    this.#mute.show({ project: session.project, id: session.id });
    const commands = [
      ...locationCommands(session, store.info?.host, session),
      lookCommand(session),
    ];
    this.#location.show(session, commands);
  }

  /** @param {Listener} listener */
  #listener({ caller, until }) {
    const now = () => this.store.now();
    const line = h(
      "div",
      { role: "listitem" },
      h(
        "span",
        {},
        h("strong", {}, caller),
        " is notified of its next stop",
        until && ", or at the deadline: ",
        until && timeElement(until, now, "left"),
      ),
      this.store.access === undefined &&
        h(
          "button",
          {
            class: "small",
            "aria-label": `Cancel the listener of ${caller}`,
            onclick: () => this.#cancel(line, caller),
          },
          "Cancel",
        ),
    );
    return line;
  }

  /**
   * @param {HTMLElement} line
   * @param {string} caller
   */
  #cancel(line, caller) {
    const { store } = this;
    const session = this.#session;
    if (!session) return;
    const path = `/sessions/${encodeURIComponent(session.id)}/listeners/${encodeURIComponent(caller)}?project=${encodeURIComponent(session.project)}`;
    runOnce(line, async () => {
      await store.attempt(async () => {
        await store.api.delete(path);
        const others = session.listeners?.filter(
          (listener) => listener.caller !== caller,
        );
        store.sessions.set(this.#key, { ...session, listeners: others });
        store.changed("sessions");
        this.#heading.focus();
      });
    });
  }
}

customElements.define("hub-session", HubSession);
