/** The location of a session, and the commands that lead there. */

import { copyable } from "./copyable.js";
import { h } from "./dom.js";

/** @import { Command } from '../core/commands.js' */
/** @import { SessionLocation } from '../core/types.js' */

export class HubLocation extends HTMLElement {
  #shown = "";

  /**
   * @param {SessionLocation} location
   * @param {Command[]} commands
   */
  show(location, commands) {
    // Unchanged content is not redrawn, so that a selection survives.
    const now = JSON.stringify([location, commands]);
    if (now === this.#shown) return;
    this.#shown = now;
    const { host, cwd, pane } = location;
    const facts = [
      ["host", host],
      ["directory", cwd],
      ["pane", pane],
    ].filter(([, value]) => value);
    this.replaceChildren(
      h(
        "dl",
        {},
        ...facts.map(([name, value]) =>
          h("div", {}, h("dt", {}, name), h("dd", {}, value)),
        ),
      ),
      ...commands.map(({ label, line }) =>
        h(
          "div",
          { class: "command" },
          h("span", {}, label),
          copyable(line, `Copy: ${label}`),
        ),
      ),
    );
  }
}

customElements.define("hub-location", HubLocation);
