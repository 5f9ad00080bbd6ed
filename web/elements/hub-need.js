/** What a session needs, or an urgent message: until the person says that it is done, or puts it off. */

import "./hub-compose.js";
import "./hub-location.js";
import { h } from "./dom.js";
import { goFrom } from "./hub-go.js";
import { onlyReadsNote, setProperty, setText, stateBadge } from "./parts.js";
import { contextOf } from "./hub-question.js";
import { showMarkdown } from "./rich-text.js";
import { StoreElement } from "./store-element.js";
import { setTime, timeElement } from "./time.js";
import { aboutOf } from "../core/board.js";
import { locationCommands, lookCommand } from "../core/commands.js";
import { clockTime } from "../core/time.js";
import { showDirection } from "../core/tool.js";
import { endNeed } from "../hub/queue.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Need, Session } from '../core/types.js' */
/** @import { HubCompose } from './hub-compose.js' */
/** @import { HubLocation } from './hub-location.js' */

/** How each kind is shown: the state that gives the colour, and the word. @type {Record<string, {state: string, text: string}>} */
const KINDS = {
  turn: { state: "your_turn", text: "your turn" },
  error: { state: "error", text: "error" },
  died: { state: "gone", text: "died" },
  limit: { state: "silent", text: "limit" },
  silent: { state: "silent", text: "silent" },
  urgent: { state: "error", text: "urgent" },
};

export class HubNeed extends StoreElement {
  /** @type {AttentionItem|null} */
  #item = null;
  #head = h("header");
  #project = h("span", { class: "project" });
  #about = h("p", { class: "about muted" });
  #text = h("div", { class: "text" });
  #time = timeElement("", () => this.store.now());
  #until = timeElement("", () => this.store.now(), "left");
  #waitWords = h("span");
  #resumeButton = h("button", { onclick: () => this.#resume() });
  #wait = h(
    "p",
    { class: "muted", hidden: true },
    this.#waitWords,
    this.#until,
    " ",
    this.#resumeButton,
  );
  #doneButton = h(
    "button",
    {
      "data-key": "e",
      "aria-keyshortcuts": "e",
      title: "Ends it until the session reports something else (e)",
      onclick: () => this.#close("done"),
    },
    "Done",
  );
  #snoozeButton = h(
    "button",
    {
      "data-key": "m",
      "aria-keyshortcuts": "m",
      title: "Shows it again in an hour, unless the session goes on (m)",
      onclick: () => this.#close("snooze"),
    },
    "Snooze 1 h",
  );
  /** @type {HubCompose|null} */
  #compose = null;
  #location = h("div", { class: "more", hidden: true });
  /** Whether all of it is shown. */
  isWhole = false;

  /** The reply that the person has typed and not sent. */
  get draft() {
    return this.#compose?.draft ?? "";
  }

  /**
   * @param {AttentionItem} item
   * @param {string} projectTitle
   */
  show(item, projectTitle) {
    if (!this.#item) this.#build(item);
    this.#item = item;
    setText(this.#project, projectTitle);
    setTime(this.#time, item.need.since);
    const { until, kind, title, untaken = false } = item.need;
    this.toggleAttribute("data-untaken", untaken);
    setProperty(this.#wait, "hidden", until === undefined);
    if (until !== undefined) this.#showEnd(item.need, until);
    setProperty(this.#snoozeButton, "hidden", kind === "urgent");
    this.isWhole =
      item.need.complete || this.store.whole(item.key) !== undefined;
    const text = this.store.wordsOf(item.need);
    setText(this.#about, aboutOf(item.session, title));
    showMarkdown(this.#text, text, {
      store: this.store,
      context: contextOf(this.store, item.session),
    });
  }

  /** @param {AttentionItem} item */
  #build({ name, session, need: { kind, project, answerable } }) {
    const title = h("h3", {}, name);
    this.ariaLabel = `${KINDS[kind].text} of ${name}`;
    this.#doneButton.ariaLabel = `Done, ${name}`;
    this.#snoozeButton.ariaLabel = `Snooze 1 h, ${name}`;
    this.#project.title = showDirection(project);
    this.#head.append(
      stateBadge(KINDS[kind]),
      title,
      this.#project,
      this.#time,
    );
    const { onlyReads } = this.store;
    if (session && answerable && !onlyReads)
      this.#compose = /** @type {HubCompose} */ (
        h("hub-compose", { store: this.store, session })
      );
    const footer = h(
      "footer",
      {},
      ...(onlyReads
        ? [onlyReadsNote()]
        : [this.#doneButton, this.#snoozeButton]),
      session &&
        this.#disclosure("Location", this.#location, () =>
          this.#buildLocation(session),
        ),
      session && h("hub-go", { store: this.store, session }),
    );
    this.replaceChildren(
      this.#head,
      this.#about,
      this.#text,
      this.#wait,
      this.#location,
      h("div", { class: "bar" }, this.#compose ?? "", footer),
    );
  }

  /**
   * A button that shows and hides an element, which is created when it is first shown.
   *
   * @param {string} text
   * @param {HTMLElement} element
   * @param {() => HTMLElement} create
   */
  #disclosure(text, element, create) {
    const button = h(
      "button",
      {
        class: "ghost",
        "aria-label": `${text}, ${this.#head.querySelector("h3")?.textContent}`,
        "aria-expanded": "false",
      },
      text,
    );
    button.addEventListener("click", () => {
      if (!element.firstChild) element.append(create());
      element.hidden = !element.hidden;
      button.ariaExpanded = String(!element.hidden);
    });
    return button;
  }

  /**
   * Shows when a limit ends, and the button by which the session goes on then.
   *
   * @param {Need} need
   * @param {string} until
   */
  #showEnd({ resume, name }, until) {
    setTime(this.#until, resume?.chosen ? resume.at : until);
    setText(
      this.#waitWords,
      resume?.chosen ? "The hub lets it go on: " : "It may go on: ",
    );
    const canChoose = resume !== undefined && !this.store.onlyReads;
    setProperty(this.#resumeButton, "hidden", !canChoose);
    if (!resume) return;
    // It goes on within a minute after the limit's end. Every part of the page names a limit by its end.
    const text = resume.chosen
      ? "Wait for me"
      : `Continue at ${clockTime(until)}`;
    setText(this.#resumeButton, text);
    this.#resumeButton.ariaLabel = `${text}, ${name}`;
  }

  /** Lets the session go on when its limit ends, or not. */
  #resume() {
    const need = this.#item?.need;
    if (!need?.resume) return;
    const method = need.resume.chosen ? "delete" : "post";
    const path = `/needs/${need.id}/resume`;
    this.store.attempt(() => this.store.api[method](path));
  }

  /** @param {Session} session */
  #buildLocation(session) {
    const location = /** @type {HubLocation} */ (
      document.createElement("hub-location")
    );
    location.show(session, [
      ...locationCommands(session, this.store.info?.host, session),
      lookCommand(session),
    ]);
    return location;
  }

  /**
   * Ends the need, or puts it off.
   *
   * @param {'done'|'snooze'} how
   * @returns {boolean} whether that is possible
   */
  #close(how) {
    const need = this.#item?.need;
    if (!need || this.store.onlyReads) return false;
    if (how === "snooze" && need.kind === "urgent") return false;
    endNeed(this.store, need, how);
    this.dispatchEvent(new Event("settling", { bubbles: true }));
    return true;
  }

  /**
   * Performs the action of a key.
   *
   * @param {string} action its id
   * @returns {boolean} whether there was something to do
   */
  act(action) {
    if (action === "done" || action === "snooze") return this.#close(action);
    if (action === "pane") return goFrom(this);
    if (action === "reply") this.#compose?.focusField();
    return action === "reply" && this.#compose !== null;
  }
}

customElements.define("hub-need", HubNeed);
