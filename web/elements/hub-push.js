/** The switch of Web Push: whether the hub notifies this device while the page is closed. */

import { h } from "./dom.js";
import { setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { askPermission } from "../hub/alerts.js";
import { Problem } from "../hub/problem.js";
import {
  canPush,
  keepSubscribed,
  subscribe,
  unsubscribe,
} from "../hub/push.js";

export class HubPush extends StoreElement {
  #box = h("input", {
    type: "checkbox",
    role: "switch",
    disabled: true,
    onchange: () => this.#change(this.#box.checked),
  });
  #result = h("p", { class: "field-error", role: "alert" });

  connectedCallback() {
    this.replaceChildren(
      h(
        "label",
        { class: "check" },
        this.#box,
        "Notify this device also while the page is closed",
      ),
      h(
        "p",
        { class: "muted" },
        "By Web Push: the text goes through the push service of the browser, which cannot read it.",
      ),
      this.#result,
    );
  }

  /** Shows what the browser and the hub say. */
  async refresh() {
    this.#box.disabled = !canPush();
    if (!canPush()) return setText(this.#result, NONE);
    await this.#attempt(async () => {
      this.#box.checked = await keepSubscribed(this.store.api);
    });
  }

  /** @param {boolean} on */
  async #change(on) {
    const { api } = this.store;
    this.#box.disabled = true;
    const isAllowed = !on || (await askPermission()) === "granted";
    if (!isAllowed)
      setText(this.#result, "The browser blocks notifications of this page.");
    const done =
      isAllowed &&
      (await this.#attempt(() => (on ? subscribe(api) : unsubscribe(api))));
    if (!done) this.#box.checked = !on;
    this.#box.disabled = false;
  }

  /** @param {() => Promise<void>} action @returns {Promise<boolean>} whether it succeeded */
  async #attempt(action) {
    try {
      await action();
      setText(this.#result, "");
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setText(this.#result, `Not changed: ${error.message}. ${error.hint}`);
      return false;
    }
  }
}

const NONE =
  "This browser has no Web Push here. On an iPhone, add the page to the home screen first.";

customElements.define("hub-push", HubPush);
