/** Instructions to sign in, when the browser has no valid session. */

import { copyable } from "./copyable.js";
import { h } from "./dom.js";

const CODE_USED =
  "The link was used already, or is too old: it works for 30 seconds, that of hubctl phone for two minutes.";

/** The hub's own addresses. Any other one belongs to a proxy or tunnel, behind which phones are paired. */
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

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
      "The session has ended: it lasts 12 hours, on a paired phone 30 days, unless it is revoked (hubctl dashboard --revoke).";
    return page;
  }

  connectedCallback() {
    document.title = "hub: signed out";
    this.replaceChildren(
      h(
        "main",
        {},
        h("h1", {}, "hub"),
        this.reason && h("p", { class: "reason", role: "alert" }, this.reason),
        ...(LOOPBACK.includes(location.hostname)
          ? this.#ofBrowser()
          : this.#ofPhone()),
      ),
    );
  }

  #ofPhone() {
    return [
      h(
        "p",
        {},
        "To sign in with this device, run this in a terminal on the machine where the hub runs:",
      ),
      copyable(`hubctl phone --host ${location.host}`),
      h(
        "p",
        {},
        "It prints a QR code and a link, which sign in one device within two minutes. Scan the code with this device, or open the link here.",
      ),
    ];
  }

  #ofBrowser() {
    const port = location.port || "80";
    return [
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
    ];
  }
}

customElements.define("hub-sign-in", HubSignIn);
