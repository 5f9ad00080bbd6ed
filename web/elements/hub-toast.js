/** Short messages, newest last, with an undo action. */

import { closeLater, h } from "./dom.js";
import { StoreElement } from "./store-element.js";

/** @import { Toast } from '../hub/store.js' */

const MAX_TOASTS = 3;

export class HubToast extends StoreElement {
  /** @type {(() => void)|null} */
  #undo = null;

  connectedCallback() {
    this.setAttribute("role", "log");
    this.setAttribute("aria-label", "Messages");
    this.store.addEventListener(
      "toast",
      (event) => this.#show(/** @type {CustomEvent<Toast>} */ (event).detail),
      { signal: this.removed },
    );
  }

  /** Undoes the last action that offered an undo. */
  undo() {
    this.#undo?.();
  }

  /** @param {Toast} toast */
  #show({ text, undo, problem }) {
    const close = () => {
      line.remove();
      if (this.#undo === back) this.#undo = null;
    };
    const back = undo
      ? () => {
          close();
          undo();
        }
      : null;
    const line = h(
      "p",
      { class: problem ? "toast error" : "toast" },
      h(
        "span",
        {},
        text,
        problem?.hint && h("span", { class: "muted" }, ` ${problem.hint}`),
      ),
      back && h("button", { onclick: back }, "Undo"),
      h(
        "button",
        { class: "ghost", "aria-label": "Close", onclick: close },
        "×",
      ),
    );
    if (back) this.#undo = back;
    this.append(line);
    while (this.children.length > MAX_TOASTS) this.firstElementChild?.remove();
    if (!problem) closeLater(line, close);
  }
}

customElements.define("hub-toast", HubToast);
