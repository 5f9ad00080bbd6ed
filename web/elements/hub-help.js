/** The help: about the hub, and its keys. */

import { h } from "./dom.js";
import { closeButton } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { caps, KEYS } from "../core/keys.js";

export class HubHelp extends StoreElement {
  /** @type {HTMLDialogElement|null} */
  #dialog = null;

  /** Opens the dialog; closing it returns the focus to its former element. */
  open() {
    const dialog = this.#build();
    if (!dialog.open) dialog.showModal();
  }

  #build() {
    if (this.#dialog) return this.#dialog;
    const scopes = [...new Set(KEYS.map(({ scope }) => scope))];
    this.#dialog = h(
      "dialog",
      { class: "help", "aria-labelledby": "help-title" },
      h(
        "header",
        {},
        h("h2", { id: "help-title", tabindex: "-1", autofocus: true }, "Help"),
        closeButton(() => this.#dialog?.close()),
      ),
      h(
        "p",
        {},
        "The hub stores the notifications of the coding agents, scripts and cron jobs on this machine and delivers each to its receiver. " +
          "A waiting agent is woken. A question that only you can answer stays in the ",
        h("b", {}, "Queue"),
        " until it is answered, here or in a terminal.",
      ),
      h("div", { class: "keys" }, ...scopes.map((scope) => keyList(scope))),
      this.store.info &&
        h(
          "p",
          { class: "muted about" },
          `hub ${this.store.info.version} on ${this.store.info.host}. In a terminal: `,
          h("code", {}, "hubctl --help"),
        ),
    );
    this.append(this.#dialog);
    return this.#dialog;
  }
}

/** @param {string} scope */
function keyList(scope) {
  const keys = KEYS.filter((key) => key.scope === scope);
  return h(
    "section",
    {},
    h("h3", {}, scope),
    h(
      "dl",
      {},
      ...keys.map(({ keys, shown = keys, label }) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            ...shown.flatMap((key, index) => [
              index > 0 && (shown === keys ? " " : "–"),
              h("span", {}, ...caps(key).map((cap) => h("kbd", {}, cap))),
            ]),
          ),
          h("dd", {}, label),
        ),
      ),
    ),
  );
}

customElements.define("hub-help", HubHelp);
