/**
 * The first steps with a new hub. Each is ticked off when the hub sees it; the list is over for good when all are, or when the
 * person closes it.
 */

import { onAddress, openView } from "./address.js";
import { copyable } from "./copyable.js";
import { h } from "./dom.js";
import { closeButton, onlyReadsNote, setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { cronLine, firstCommand } from "../core/commands.js";
import { firstSteps, TESTER } from "../core/first-steps.js";
import { queueNow } from "../hub/queue.js";

/** Under this name the browser remembers the hub whose first steps it shows, and whether they are over. */
const STORED = "hub.first-steps";

export class HubEmpty extends StoreElement {
  /** The line of each step. @type {Map<string, HTMLElement>} */
  #lines = new Map();

  connectedCallback() {
    this.hidden = true;
    onAddress(() => this.#render(), this.removed);
    this.watch(["feed", "sessions", "needs", "info"], () => this.#render());
  }

  #render() {
    const { store } = this;
    if (!store.ready) return;
    const isEmpty =
      store.feed.size === 0 &&
      store.sessions.size === 0 &&
      store.needs.length === 0;
    if (isEmpty && this.#stored === null) this.#store("open");
    const steps = firstSteps(store);
    if (this.#stored === "open" && steps.every(({ isDone }) => isDone))
      this.#store("over");
    // Needs come first.
    const isFree = openView() === "queue" && queueNow(store).open.length === 0;
    this.hidden = this.#stored !== "open" || !(isEmpty || isFree);
    this.toggleAttribute("data-alone", isEmpty);
    if (this.hidden) return;
    if (!this.firstChild) this.append(this.#introduction());
    for (const step of steps) this.#show(step);
  }

  /** The browser's memory of this hub. */
  get #stored() {
    const [epoch, state] = (localStorage.getItem(STORED) ?? "").split(" ");
    return epoch === this.store.info?.epoch ? state : null;
  }

  /** @param {'open'|'over'} state */
  #store(state) {
    localStorage.setItem(STORED, `${this.store.info?.epoch} ${state}`);
  }

  /** @param {import('../core/first-steps.js').Step} step */
  #show({ name, isDone, text }) {
    const line = this.#lines.get(name);
    if (!line) return;
    line.toggleAttribute("data-done", isDone);
    setText(
      /** @type {Element} */ (line.querySelector(".tick")),
      isDone ? "✓" : "",
    );
    setText(/** @type {Element} */ (line.querySelector(".outcome")), text);
  }

  #introduction() {
    const hub = {
      origin: location.origin,
      stateDir: this.store.info?.state_dir ?? null,
    };
    return h(
      "section",
      { class: "introduction", "aria-labelledby": "introduction-title" },
      h(
        "header",
        {},
        h("h2", { id: "introduction-title" }, "First steps"),
        closeButton(() => this.#close()),
      ),
      h(
        "p",
        { class: "summary" },
        "The hub brings together what the coding agents on this machine ask and report, and takes your answers to them.",
      ),
      h(
        "ol",
        {},
        this.#line("hub", "The hub runs"),
        this.#line(
          "hooks",
          "The hooks of your agents report to it",
          h(
            "p",
            {},
            "Install them once. Also ",
            h("code", {}, "codex"),
            ", ",
            h("code", {}, "gemini"),
            ", ",
            h("code", {}, "opencode"),
            " and others.",
          ),
          copyable("hubctl hooks install claude", "Copy the hooks command"),
        ),
        this.#line(
          "session",
          "A first session is seen",
          h(
            "p",
            {},
            "Start an agent as usual. One that runs already reads its hooks when it starts again.",
          ),
        ),
        this.#line(
          "question",
          "You have answered a question",
          this.store.onlyReads
            ? onlyReadsNote()
            : h(
                "button",
                { onclick: () => this.#ask() },
                "Send me a test question",
              ),
        ),
      ),
      h(
        "details",
        {},
        h("summary", {}, "Other programs can report too"),
        command(
          "Publish a notification",
          "Paste this into a terminal. It appears on this page.",
          firstCommand(hub),
          "Copy the curl command",
        ),
        command(
          "Get notified about a job",
          "Add this line with ",
          cronLine(hub),
          "Copy the cron line",
          h("code", {}, "crontab -e"),
          ". Replace ",
          h("code", {}, "backup"),
          " with your own command.",
        ),
      ),
    );
  }

  /**
   * @param {string} name
   * @param {string} title
   * @param {...HTMLElement} how to do it
   */
  #line(name, title, ...how) {
    const heading = h(
      "h3",
      {},
      title,
      h("span", { class: "outcome", role: "status" }),
    );
    const line = h(
      "li",
      { "data-step": name },
      h("span", { class: "tick" }),
      heading,
      h("div", { class: "how" }, ...how),
    );
    this.#lines.set(name, line);
    return line;
  }

  #close() {
    this.#store("over");
    this.#render();
  }

  #ask() {
    const question = {
      from: TESTER,
      to: "person",
      type: "question",
      msg: "This is a test. Which answer shall reach the agent?",
      options: ["This one", "That one"],
    };
    return this.store.attempt(() => this.store.api.post("/notify", question));
  }
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} line
 * @param {string} label
 * @param {...(string|Node)} more
 */
function command(name, text, line, label, ...more) {
  return h(
    "div",
    {},
    h("h3", {}, name),
    h("p", {}, text, ...more),
    copyable(line, label),
  );
}

customElements.define("hub-empty", HubEmpty);
