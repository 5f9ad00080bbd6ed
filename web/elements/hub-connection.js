/** The state of the connection: whether the page is up to date. */

import { h } from "./dom.js";
import { StoreElement } from "./store-element.js";
import { exactClockTime } from "../core/time.js";

const LABELS = {
  connecting: "connecting",
  live: "live",
  retrying: "not connected",
  "signed-out": "signed out",
};

export class HubConnection extends StoreElement {
  connectedCallback() {
    this.setAttribute("role", "status");
    this.watch(["connection"], () => this.#render());
    this.every(
      1000,
      () => this.store.connection.state === "retrying" && this.#updateDetail(),
    );
  }

  #render() {
    const { connection } = this.store;
    this.dataset.state = connection.state;
    this.replaceChildren(
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("span", {}, LABELS[connection.state]),
      h("span", { class: "detail", "aria-hidden": "true" }),
    );
    this.title =
      connection.reason ??
      `${LABELS[connection.state]} since ${exactClockTime(connection.since)}`;
    this.#updateDetail();
  }

  /** Updates the countdown, which is hidden from screen readers, because it changes every second. */
  #updateDetail() {
    const { state, retryAt, since } = this.store.connection;
    const detail = this.querySelector(".detail");
    if (!detail) return;
    const seconds = Math.max(
      0,
      Math.round(((retryAt ?? 0) - Date.now()) / 1000),
    );
    const next = seconds > 0 ? `retrying in ${seconds} s` : "retrying";
    detail.textContent =
      state === "retrying" ? ` since ${exactClockTime(since)}, ${next}` : "";
  }
}

customElements.define("hub-connection", HubConnection);
