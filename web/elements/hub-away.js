/** A summary of the notifications that arrived while no page of the dashboard was visible. */

import { h } from "./dom.js";
import { closeButton, revealHidden, stateBadge } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { timeElement } from "./time.js";
import {
  absence,
  countAbsence,
  DECISIONS,
  isOpen,
  REST,
  RESULTS,
  summarizeAbsence,
} from "../core/away.js";
import { wordsOf } from "../core/attention.js";
import { projectName } from "../core/sessions.js";
import { senderName } from "../core/thread.js";
import { age } from "../core/time.js";
import { kindText } from "../core/types.js";
import { openNotification } from "../hub/alerts.js";
import { Problem } from "../hub/problem.js";

/** @import { Absence, Summary } from '../core/away.js' */
/** @import { Kind, Notification } from '../core/types.js' */

/** Under this name the browser remembers when a page of the hub was last visible. */
const STORED = "hub.last-visible";
/** The interval in which a visible page stores that, in ms. */
const INTERVAL = 10_000;
/** The most notifications of each part. */
const LIMIT = 200;

export class HubAway extends StoreElement {
  #button = h("button", {
    class: "away",
    hidden: true,
    "aria-haspopup": "dialog",
    onclick: () => this.#open(),
  });
  #heading = h("h2", { id: "away-title", tabindex: "-1", autofocus: true });
  #body = h("div", { class: "away-body" });
  #dialog = h(
    "dialog",
    {
      class: "away-dialog",
      "aria-labelledby": "away-title",
      onclose: () => (this.#button.hidden = true),
    },
    h(
      "header",
      {},
      this.#heading,
      closeButton(() => this.#dialog.close()),
    ),
    this.#body,
  );
  /** Whether the time since the last visit was compared after the page became visible. */
  #isCompared = false;

  connectedCallback() {
    const { removed: signal } = this;
    this.replaceChildren(this.#button);
    signal.addEventListener("abort", () => this.#dialog.remove());
    document.addEventListener(
      "visibilitychange",
      () => this.#visibilityChanged(),
      { signal },
    );
    addEventListener("pagehide", () => this.#remember(), { signal });
    this.every(INTERVAL, () => this.#remember());
    this.watch(["feed"], () => this.#compare());
  }

  #open() {
    // The element is in the page's header, and a dialog has a header of its own.
    (this.closest("hub-app") ?? this).append(this.#dialog);
    this.#dialog.showModal();
  }

  #visibilityChanged() {
    if (document.hidden) {
      this.#remember();
      this.#isCompared = false;
    } else {
      this.#compare();
    }
  }

  /** Offers a summary if the page was not visible for a while. */
  #compare() {
    const { store } = this;
    if (this.#isCompared || document.hidden || !store.ready || !store.info)
      return;
    this.#isCompared = true;
    const last = absence(
      localStorage.getItem(STORED),
      store.info.epoch,
      Date.now(),
    );
    if (last) this.#load(last);
    this.#remember();
  }

  /** Stores what the visible page has shown. */
  #remember() {
    const { store } = this;
    if (!this.#isCompared || !store.info) return;
    localStorage.setItem(
      STORED,
      JSON.stringify({
        epoch: store.info.epoch,
        id: store.feed.newest,
        at: Date.now(),
      }),
    );
  }

  /** @param {Absence} last */
  async #load(last) {
    try {
      const parts = await Promise.all(
        [DECISIONS, RESULTS, REST].map((kinds) => this.#newest(kinds, last.id)),
      );
      const summary = summarizeAbsence(parts.flat());
      const counted = countAbsence(summary);
      if (!counted) return;
      const isCut = parts.some(({ length }) => length === LIMIT);
      this.#button.textContent = `While you were away: ${counted}${isCut ? " …" : ""}`;
      this.#button.hidden = false;
      this.#heading.textContent = `While you were away (${age(Date.now() - last.at)})`;
      this.#body.replaceChildren(
        ...this.#sections(summary),
        isCut
          ? h(
              "p",
              { class: "muted" },
              `Only the newest ${LIMIT} of a part are listed. The feed has all.`,
            )
          : "",
      );
    } catch (error) {
      // The connection's state reports a hub that cannot be reached.
      if (!(error instanceof Problem)) throw error;
    }
  }

  /**
   * @param {Kind[]} kinds
   * @param {number} after
   * @returns {Promise<Notification[]>} newest first
   */
  async #newest(kinds, after) {
    const { notifications } = await this.store.api.get(
      `/notifications?types=${kinds}&limit=${LIMIT}`,
    );
    return notifications.filter(
      (/** @type {Notification} */ it) => it.id > after,
    );
  }

  /** @param {Summary} summary */
  #sections({ decisions, results, rest }) {
    const list = (/** @type {Notification[]} */ items) =>
      h("ul", {}, ...items.map((item) => this.#item(item)));
    const section = (
      /** @type {string} */ title,
      /** @type {HTMLElement[]} */ ...content
    ) => h("section", {}, h("h3", {}, title), ...content);
    const folded = rest.map((group) =>
      h(
        "details",
        {},
        h(
          "summary",
          {},
          h("b", {}, group.name),
          ` ${projectName(group.project)} · ${group.items.length}`,
        ),
        list(group.items),
      ),
    );
    return [
      decisions.length > 0 && section("Decisions", list(decisions)),
      results.length > 0 && section("Results", list(results)),
      folded.length > 0 && section("Everything else, by agent", ...folded),
    ].filter((part) => part !== false);
  }

  /** @param {Notification} notification */
  #item(notification) {
    const { id, type, ts } = notification;
    const text = !DECISIONS.includes(type)
      ? kindText(type)
      : isOpen(notification)
        ? "open"
        : "settled";
    const follow = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#dialog.close();
      openNotification(id);
    };
    return h(
      "li",
      {},
      stateBadge({ state: type, text }),
      h("b", {}, senderName(notification)),
      h(
        "a",
        { href: `?id=${id}`, onclick: follow },
        ...revealHidden(wordsOf(notification).replace(/\s+/g, " ").trim()),
      ),
      timeElement(ts, () => this.store.now(), "ago"),
    );
  }
}

customElements.define("hub-away", HubAway);
