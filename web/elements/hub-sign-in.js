/** Instructions to sign in, when the browser has no valid session. */

import { copyable } from "./copyable.js";
import { h } from "./dom.js";

const CODE_USED = "The link was used already, or is older than 30 seconds.";

export class HubSignIn extends HTMLElement {
  reason = "";

  /**
   * Shows why the hub refused.
   *
   * @param {import('../hub/problem.js').Problem} problem
   */
  static because(problem) {
    // The hub answers 401 to the token of a session that it does not know any more.
    if (problem.code === "session_over" || problem.code === "unauthorized")
      return HubSignIn.expired();
    const page = new HubSignIn();
    page.reason =
      problem.code === "bad_code"
        ? CODE_USED
        : `${problem.message}${problem.hint ? ` (${problem.hint})` : ""}.`;
    return page;
  }

  static expired() {
    const page = new HubSignIn();
    page.reason =
      "The session has ended: it lasts 12 hours, unless it is revoked (hubctl dashboard --revoke) or the hub’s token changes.";
    return page;
  }

  connectedCallback() {
    document.title = "hub: signed out";
    const port = location.port || "80";
    this.replaceChildren(
      h(
        "main",
        {},
        h("h1", {}, "hub"),
        this.reason && h("p", { class: "reason", role: "alert" }, this.reason),
        h(
          "p",
          {},
          "To sign in, run this in a terminal on the machine where the hub runs:",
        ),
        copyable("hubctl dashboard"),
        h(
          "p",
          {},
          "It opens this page with a single-use code. If that machine has no browser, print the link:",
        ),
        copyable("hubctl dashboard --print"),
        h(
          "details",
          {},
          h("summary", {}, "The hub runs on another machine"),
          h(
            "p",
            {},
            "Forward its port under the same number, then open the printed link here:",
          ),
          copyable(
            `ssh -t -L ${port}:127.0.0.1:${port} HOST 'hubctl dashboard --print; exec $SHELL'`,
          ),
          h(
            "p",
            {},
            `The hub answers only at its own address: it refuses a link with another port than ${port} (421 wrong host). `,
            "Use the same port at both ends, or add your address to ",
            h("code", {}, "allowed_hosts"),
            " in the hub’s settings.",
          ),
        ),
      ),
    );
  }
}

customElements.define("hub-sign-in", HubSignIn);
