/** Leads to a session: a button that selects its tmux pane, and a link that opens its directory in the person's editor. */

import { copyable } from "./copyable.js";
import { h } from "./dom.js";
import { runOnce } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { editorUrl } from "../core/editor.js";

/** @import { Schemas, Session } from '../core/types.js' */

export class HubGo extends StoreElement {
  /** It is set before the element is connected. @type {Session} */
  session = /** @type {any} */ (null);
  #shown = "";
  #attach = h("div", { class: "command", hidden: true });

  connectedCallback() {
    this.watch(["sessions", "info", "preferences"], () => this.#render());
  }

  #render() {
    const { store } = this;
    const { id, project } = this.session;
    const session = store.sessions.get(`${project}/${id}`) ?? this.session;
    const { name, host, cwd, pane } = session;
    // A paired phone shows neither a pane of the machine nor its files.
    const isHere =
      store.access === undefined && (!host || host === store.info?.host);
    const url = isHere && cwd ? editorUrl(store.preferences.editor, cwd) : null;
    const canGo = isHere && pane && store.sessions.has(`${project}/${id}`);
    // Unchanged content is not redrawn, so that the focus stays.
    const now = JSON.stringify([name, url, canGo]);
    if (now === this.#shown) return;
    this.#shown = now;
    this.hidden = !url && !canGo;
    this.replaceChildren(
      canGo
        ? h(
            "button",
            {
              "data-key": "g",
              "aria-keyshortcuts": "g",
              title: "Selects its tmux pane (g)",
              onclick: () => this.#go(session),
            },
            "Go to its pane",
            h("span", { class: "visually-hidden" }, `, ${name}`),
          )
        : "",
      url
        ? h(
            "a",
            { href: url },
            "Open in editor",
            h("span", { class: "visually-hidden" }, `, ${name}`),
          )
        : "",
      this.#attach,
    );
  }

  /** @param {Session} session */
  #go({ id, project }) {
    const { store } = this;
    runOnce(this, async () => {
      await store.attempt(async () => {
        /** @type {Schemas['ShownPane']} */
        const { attached, attach } = await store.api.post(
          `/sessions/${encodeURIComponent(id)}/go?project=${encodeURIComponent(project)}`,
        );
        this.#attach.hidden = attached;
        if (attached) store.toast("Your terminal shows its pane.");
        else
          this.#attach.replaceChildren(
            h("span", {}, "No terminal is attached. To attach one:"),
            copyable(attach, "Copy: Attach"),
          );
      });
    });
  }
}

/**
 * Selects the pane of the session that a part of the page shows.
 *
 * @param {Element} part
 * @returns {boolean} whether the key had a meaning there
 */
export function goFrom(part) {
  const go = /** @type {HubGo|null} */ (part.querySelector("hub-go"));
  const button = go?.querySelector("button");
  if (button) button.click();
  else go?.store.toast("The tmux pane of this session is not known.");
  return go !== null;
}

customElements.define("hub-go", HubGo);
