/** The words to a session and by it, as the hub tells them. The newest part is loaded first, older ones when the person looks for them. */

import { contextOf } from "./hub-question.js";
import { h, updateList } from "./dom.js";
import { setProperty, setText } from "./parts.js";
import { linked, showMarkdown } from "./rich-text.js";
import { StoreElement } from "./store-element.js";
import { timeElement } from "./time.js";
import { Problem } from "../hub/problem.js";

/** @import { ConversationEntry, Schemas, Session } from '../core/types.js' */

/** The distance from the beginning at which the older part is loaded, in CSS pixels. */
const NEAR = 200;
/** The distance from the end within which the newest words stay in view, in CSS pixels. */
const AT_END = 48;

export class HubConversation extends StoreElement {
  /** @type {Session|null} */
  #session = null;
  /** The session's report when the newest part was loaded. */
  #reported = "";
  /** @type {Map<number, ConversationEntry>} */
  #entries = new Map();
  /** The end of the older part; undefined if there is none. @type {number|undefined} */
  #older;
  #loading = false;
  /** The question that is shown beside the conversation. @type {number|undefined} */
  #asked;
  /** Whether the newest words stay in view. */
  #follows = true;
  /** Where the newest words were last brought into view, in CSS pixels from the top. */
  #placed = 0;
  #earlier = h(
    "button",
    { class: "ghost small", hidden: true, onclick: () => this.#loadOlder() },
    "Show earlier",
  );
  #note = h(
    "p",
    { class: "muted", hidden: true },
    "Prompts and last messages are not kept (keep_words).",
  );
  #list = h("div", { class: "entries" });

  connectedCallback() {
    if (!this.firstChild) this.append(this.#earlier, this.#note, this.#list);
    Object.assign(this, {
      role: "group",
      ariaLabel: "Conversation",
      tabIndex: 0,
    });
    this.addEventListener("scroll", () => this.#onScroll(), {
      signal: this.removed,
      passive: true,
    });
    const resized = new ResizeObserver(() => this.#follow());
    for (const part of [this, this.#list]) resized.observe(part);
    this.removed.addEventListener("abort", () => resized.disconnect());
  }

  /**
   * @param {Session} session
   * @param {string} reported changes when there may be something new
   * @param {number} [asked] the question that is shown beside the conversation
   */
  show(session, reported, asked) {
    if (
      session.id !== this.#session?.id ||
      session.project !== this.#session.project
    )
      this.#reset();
    this.#session = session;
    if (asked !== this.#asked) {
      this.#asked = asked;
      this.#add([]);
    }
    if (reported === this.#reported) return;
    this.#reported = reported;
    this.#loadNewest();
  }

  #reset() {
    this.#entries.clear();
    this.#older = undefined;
    this.#reported = "";
    this.#follows = true;
    this.#placed = 0;
    this.#list.replaceChildren();
  }

  async #loadNewest() {
    const isFirst = this.#entries.size === 0;
    const part = await this.#load();
    if (!part) return;
    setProperty(this.#note, "hidden", part.keeps_words);
    const isKnown = part.entries.some(({ seq }) => this.#entries.has(seq));
    // Behind a gap, the older part is loaded again.
    if (!isKnown) this.#entries.clear();
    if (isFirst || !isKnown) this.#older = part.next;
    this.#add(part.entries);
    if (part.entries.length === 0 && part.next !== undefined)
      await this.#loadOlder();
  }

  #onScroll() {
    this.#follows = this.#isAtEnd();
    if (this.scrollTop < NEAR && !this.#follows) this.#loadOlder();
  }

  #isAtEnd() {
    return this.scrollHeight - this.scrollTop - this.clientHeight < AT_END;
  }

  #follow() {
    if (!this.#follows) return;
    // The person has scrolled, and the event of it is still to come.
    if (this.scrollTop < this.#placed && !this.#isAtEnd()) return;
    this.scrollTop = this.scrollHeight;
    this.#placed = this.scrollTop;
  }

  async #loadOlder() {
    if (this.#loading || this.#older === undefined) return;
    this.#loading = true;
    const part = await this.#load(this.#older);
    this.#loading = false;
    if (!part) return;
    this.#older = part.next;
    this.#add(part.entries);
  }

  /**
   * A part of the conversation; null if the hub cannot be reached or another session is shown by now.
   *
   * @param {number} [before]
   * @returns {Promise<Schemas['Conversation']|null>}
   */
  async #load(before) {
    const session = /** @type {Session} */ (this.#session);
    const query = new URLSearchParams({
      project: session.project,
      ...(before && { before: String(before) }),
    });
    try {
      const part = await this.store.api.get(
        `/sessions/${encodeURIComponent(session.id)}/conversation?${query}`,
      );
      return session.id === this.#session?.id ? part : null;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // The next report of the session loads it again.
      this.#reported = "";
      return null;
    }
  }

  /** Draws the entries; what the person reads stays where it is. @param {ConversationEntry[]} entries */
  #add(entries) {
    const below = this.scrollHeight - this.scrollTop;
    const first = Math.min(...this.#entries.keys());
    for (const entry of entries) this.#entries.set(entry.seq, entry);
    const all = [...this.#entries.values()]
      .filter(({ seq }) => seq !== this.#asked)
      .sort((a, b) => a.seq - b.seq);
    updateList(
      this.#list,
      all,
      ({ seq }) => String(seq),
      (entry) => this.#create(entry),
      showAnswer,
    );
    setProperty(this.#earlier, "hidden", this.#older === undefined);
    if (entries.some(({ seq }) => seq < first))
      this.scrollTop = this.scrollHeight - below;
    this.#follow();
  }

  /** @param {ConversationEntry} entry */
  #create({ kind, by, title, text, ts }) {
    const { store } = this;
    const context = contextOf(store, this.#session ?? undefined);
    const words = h("div", { class: "text" });
    // A request is no Markdown.
    if (text && kind === "permission") words.append(...linked(text, context));
    else if (text) showMarkdown(words, text, { store, context });
    return h(
      "article",
      { class: "entry", "data-kind": kind, "data-person": by === "person" },
      h(
        "header",
        {},
        h("strong", {}, by === "person" ? "You" : by),
        ` ${title} `,
        timeElement(ts, () => store.now(), "ago"),
      ),
      text && words,
      h("p", { class: "answer", hidden: true }),
    );
  }
}

/** Shows how a question ended. @param {HTMLElement} element @param {ConversationEntry} entry */
function showAnswer(element, { answer }) {
  const line = /** @type {HTMLElement} */ (element.lastElementChild);
  setProperty(line, "hidden", !answer);
  if (!answer) return;
  const { title, by, text, decision = "" } = answer;
  line.dataset.decision = decision;
  setText(
    line,
    `${decision === "deny" ? "✕" : "✓"} ${title}${by ? ` by ${by === "person" ? "you" : by}` : ""}${text ? `: ${text}` : ""}`,
  );
}

customElements.define("hub-conversation", HubConversation);
