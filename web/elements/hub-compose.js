/** The form for a message to a session's inbox. */

import { h } from "./dom.js";
import {
  errorLine,
  onCtrlEnter,
  onlyReadsNote,
  runOnce,
  setText,
  showError,
} from "./parts.js";
import { StoreElement } from "./store-element.js";
import { sentText } from "../core/delivery.js";
import { Problem } from "../hub/problem.js";

/** @import { Session } from '../core/types.js' */

export class HubCompose extends StoreElement {
  /** @type {Session|null} */
  session = null;
  #field = h("textarea", { rows: 1, "aria-keyshortcuts": "r Control+Enter" });
  #status = h("p", { class: "status", role: "status" });
  #error = errorLine();

  /** The text that the person has typed and not sent. */
  get draft() {
    return this.ariaBusy === "true" ? "" : this.#field.value;
  }

  focusField() {
    this.#field.focus();
  }

  connectedCallback() {
    if (this.firstChild || !this.session) return;
    if (this.store.onlyReads) return this.replaceChildren(onlyReadsNote());
    const send = () => runOnce(this, () => this.#send());
    this.#field.ariaLabel = `Message to ${this.session.name}`;
    this.#field.placeholder = `${this.#field.ariaLabel} …`;
    onCtrlEnter(this.#field, send);
    this.#field.addEventListener("input", () => setText(this.#status, ""));
    this.replaceChildren(
      this.#field,
      h(
        "div",
        { class: "row" },
        this.#status,
        h(
          "button",
          { class: "primary", title: "Send (Ctrl+Enter)", onclick: send },
          "Send",
        ),
      ),
      this.#error,
    );
  }

  async #send() {
    const { store, session } = this;
    const msg = this.#field.value;
    if (!session) return;
    if (!msg.trim()) return this.#field.focus();
    try {
      const sent = await store.api.post("/notify", {
        to: session.id,
        msg,
        from: "person",
        type: "message",
        project: session.project,
      });
      this.#field.value = "";
      showError(this.#error, null);
      setText(this.#status, sentText(sent, session.wake));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setText(this.#status, "");
      showError(this.#error, error);
    }
  }
}

customElements.define("hub-compose", HubCompose);
