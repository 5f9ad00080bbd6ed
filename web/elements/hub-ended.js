/** The sessions that have ended: one line with their number; the list is loaded when it is unfolded. */

import { setAddress, withPane } from "./address.js";
import { h, updateList } from "./dom.js";
import { setProperty, setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { setTime, timeElement } from "./time.js";
import { keyOf } from "../core/board.js";
import { listEnded, projectName } from "../core/sessions.js";

/** @import { Session } from '../core/types.js' */

/** The number of ended sessions that are shown; the others are counted. */
const SHOWN = 100;

export class HubEnded extends StoreElement {
  #count = h("summary");
  #list = h("div", { role: "list", class: "ended-list" });
  #more = h("p", { class: "muted" });
  #fold = h(
    "details",
    { class: "ended", hidden: true, ontoggle: () => this.#toggle() },
    this.#count,
    this.#list,
    this.#more,
  );

  connectedCallback() {
    if (!this.firstChild) this.append(this.#fold);
    this.watch(["sessions"], () => this.#render());
  }

  #toggle() {
    const { store } = this;
    if (this.#fold.open) store.attempt(() => store.loadEnded());
    this.#render();
  }

  #render() {
    const { store } = this;
    setProperty(this.#fold, "hidden", store.endedCount === 0);
    setText(this.#count, `${store.endedCount} ended`);
    if (!this.#fold.open) return;
    const ended = listEnded(store.endedSessions.values());
    updateList(
      this.#list,
      ended.slice(0, SHOWN),
      keyOf,
      (session) => this.#line(session),
      (line, session) => this.#update(line, session),
    );
    setText(
      this.#more,
      ended.length > SHOWN
        ? `${ended.length - SHOWN} older sessions are not shown.`
        : "",
    );
  }

  /** @param {Session} session */
  #line(session) {
    const open = () => setAddress(withPane({ agent: keyOf(session) }));
    return h(
      "div",
      { role: "listitem" },
      h("button", { class: "link name", onclick: open }),
      h("span", { class: "muted project" }),
      timeElement("", () => this.store.now(), "ago"),
    );
  }

  /**
   * @param {HTMLElement} line
   * @param {Session} session
   */
  #update(line, session) {
    const [name, project, time] = /** @type {any} */ (line.children);
    setText(name, session.name);
    setText(
      project,
      `${projectName(session.project)}${session.gone ? " · died" : ""}`,
    );
    setProperty(project, "title", session.project);
    setTime(time, session.since ?? session.last_seen ?? "");
  }
}

customElements.define("hub-ended", HubEnded);
