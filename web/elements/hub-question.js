/** A question or an approval, with the controls that settle it, and the way of its answer. */

import "./hub-location.js";
import { answerControls } from "./answer-controls.js";
import { copyable } from "./copyable.js";
import { h } from "./dom.js";
import { goFrom } from "./hub-go.js";
import {
  errorLine,
  ONLY_READS,
  setProperty,
  setText,
  showError,
  stateBadge,
} from "./parts.js";
import { showMarkdown } from "./rich-text.js";
import { StoreElement } from "./store-element.js";
import { setTime, timeElement } from "./time.js";
import { requestElement } from "./tool-request.js";
import { isOpen, settlementText } from "../core/attention.js";
import { aboutOf } from "../core/board.js";
import { locationCommands } from "../core/commands.js";
import { isEnded } from "../core/sessions.js";
import { showDirection } from "../core/tool.js";
import { outboxOf } from "../hub/outbox.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Context } from '../core/links.js' */
/** @import { Need } from '../core/types.js' */
/** @import { Controls } from './answer-controls.js' */
/** @import { HubLocation } from './hub-location.js' */

/** The steps of an answer in words. */
const STEPS = /** @type {const} */ ([
  ["stored", "stored"],
  ["delivered", "delivered to the session"],
  ["taken", "taken"],
]);

/** Small screens show the beginning of a long request with the buttons below it. */
const UNREAD =
  "Scroll to its end first: a phone approves what was on the screen as a whole.";

export class HubQuestion extends StoreElement {
  /** @type {AttentionItem|null} */
  #item = null;
  #head = h("header");
  #project = h("span", { class: "project" });
  #time = timeElement("", () => this.store.now());
  #about = h("p", { class: "about muted" });
  #before = h(
    "details",
    { class: "before", hidden: true },
    h("summary", {}, "Said before"),
    h("div", { class: "text" }),
  );
  /** Whether all of it is shown. */
  isWhole = false;
  /** Whether the controls contain the text. */
  #repeatsText = false;
  #text = h("div", { class: "text" });
  #request = h("div", { class: "what" });
  #claim = h("p", { class: "muted", hidden: true });
  /** @type {Controls|null} */
  #controls = null;
  #left = timeElement("", () => this.store.now(), "left");
  #places = h("span");
  #deadline = h(
    "p",
    { class: "deadline muted", hidden: true },
    this.#places,
    this.#left,
  );
  #content = h("div", { class: "answers", role: "group" });
  #answers = h("div", { class: "answers", role: "group" });
  #go = h("div", { class: "go" });
  #heldText = h("span", {});
  #undo = h("button", { onclick: () => this.undo() }, "Undo");
  #now = h(
    "button",
    { class: "ghost", onclick: () => this.#sendNow() },
    "Send now",
  );
  #held = h(
    "div",
    { class: "held", role: "status", hidden: true },
    this.#heldText,
    this.#undo,
    this.#now,
  );
  #result = h("div", { class: "result", role: "status", hidden: true });
  #shownResult = "";
  #elsewhere = h("div", { class: "elsewhere", hidden: true });
  #reason = h("p");
  #unsent = h("div", { hidden: true });
  #shownUnsent = "";
  #location = /** @type {HubLocation} */ (
    document.createElement("hub-location")
  );
  #withdraw = h(
    "button",
    {
      class: "ghost small",
      title: "Withdraws the question: it can no longer be answered",
    },
    "Withdraw",
  );
  #mark = h(
    "button",
    {
      class: "ghost small",
      hidden: true,
      "aria-keyshortcuts": "x",
      title: "To approve several together (x)",
      onclick: () => this.dispatchEvent(new Event("mark", { bubbles: true })),
    },
    "Mark",
  );
  #error = errorLine();

  /** The person's typed or chosen values that are not sent. */
  get draft() {
    return this.#controls?.draft() ?? "";
  }

  /**
   * @param {AttentionItem} item
   * @param {string} projectTitle
   */
  show(item, projectTitle) {
    const { need } = item;
    const whole = this.store.whole(item.key);
    if (!this.#item) this.#build(item);
    if (whole && !this.isWhole) this.#buildWhole(item, whole);
    this.#item = item;
    setText(this.#project, projectTitle);
    setTime(this.#time, need.since);
    setProperty(this.#claim, "hidden", need.claimed === undefined);
    setText(this.#claim, `${need.claimed ?? ""} has claimed it.`);
    // The request of a permission begins with what it wants.
    setText(
      this.#about,
      aboutOf(
        item.session,
        need.kind === "permission" ? undefined : need.title,
      ),
    );
    this.#update(item);
    if (!this.#text.hidden)
      this.#showText(this.#text, this.store.wordsOf(need));
  }

  /**
   * @param {HTMLElement} element
   * @param {string} text
   */
  #showText(element, text) {
    showMarkdown(element, text, {
      store: this.store,
      context: contextOf(this.store, this.#item?.session),
    });
  }

  /**
   * Shows buttons only if an answer reaches the asker.
   *
   * @param {AttentionItem} item
   */
  #update({ key, session, name, need }) {
    const outbox = outboxOf(this.store);
    const held = outbox.held(key);
    const open = isOpen(need);
    const isSending = outbox.isSending(key);
    const { onlyReads } = this.store;
    const takes = open && need.answerable && !held && !isSending && !onlyReads;
    const isElsewhere = open && (!need.answerable || onlyReads);
    // A focused control that disappears would leave the focus nowhere.
    if (
      !takes &&
      [this.#content, this.#answers].some((part) =>
        part.contains(document.activeElement),
      )
    )
      this.focus();
    for (const part of [this.#content, this.#answers])
      setProperty(part, "hidden", !takes || !this.isWhole);
    if (this.#repeatsText) setProperty(this.#text, "hidden", takes);
    setProperty(this.#deadline, "hidden", !takes || need.until === undefined);
    setText(
      this.#places,
      need.delays ? "Answer here: " : "Answer here or in its terminal: ",
    );
    if (need.until !== undefined) setTime(this.#left, need.until);
    setProperty(this.#held, "hidden", !held && !(isSending && open));
    for (const button of [this.#undo, this.#now])
      setProperty(button, "hidden", !held);
    setText(
      this.#heldText,
      held
        ? `${held.label.length > 80 ? `${held.label.slice(0, 80)}…` : held.label} – will be sent`
        : "Sending …",
    );
    setProperty(this.#elsewhere, "hidden", !isElsewhere);
    setProperty(
      this.#withdraw,
      "hidden",
      !open || held !== undefined || onlyReads,
    );
    this.#showResult(need, name);
    showError(this.#error, outbox.problem(key));
    if (!isElsewhere) return;
    const location = need.where ?? session ?? {};
    const draft = need.reconnecting ? "" : this.draft;
    this.#showUnsent(draft);
    setText(
      this.#reason,
      onlyReads ? `${ONLY_READS}.` : reasonFor(session, need, draft),
    );
    this.#location.show(
      location,
      locationCommands(location, this.store.info?.host, session),
    );
  }

  /** @param {string} draft that can no longer be sent */
  #showUnsent(draft) {
    setProperty(this.#unsent, "hidden", !draft);
    if (!draft || draft === this.#shownUnsent) return;
    this.#shownUnsent = draft;
    this.#unsent.replaceChildren(copyable(draft, "Copy what you typed"));
  }

  /**
   * The way of the answer, step by step.
   *
   * @param {Need} need
   * @param {string} name
   */
  #showResult({ kind, settled }, name) {
    setProperty(this.#result, "hidden", !settled);
    const shown = JSON.stringify(settled);
    if (!settled || this.#shownResult === shown) return;
    this.#shownResult = shown;
    const { state, by, answer = "", delivery } = settled;
    const at = STEPS.findIndex(([step]) => step === delivery);
    const said =
      state === "answered" && by === "person"
        ? `Answered: ${answer}`
        : settlementText(name, kind, settled);
    this.#result.replaceChildren(
      h("p", { class: "said" }, said),
      at >= 0
        ? h(
            "ol",
            { class: "way", "aria-label": `The answer to ${name}` },
            ...STEPS.map(([, words], n) =>
              h(
                "li",
                {
                  class: n <= at ? "done" : "",
                  "aria-current": n === at && "step",
                },
                words,
              ),
            ),
          )
        : "",
      delivery === "terminal"
        ? h(
            "p",
            {},
            "It did not reach the session, which waits in its terminal.",
          )
        : "",
    );
  }

  /** @param {AttentionItem} item */
  #build({ name, session, need: { kind, project } }) {
    const title = h("h3", {}, name);
    this.ariaLabel = `${kind} of ${name}`;
    this.#project.title = showDirection(project);
    this.#content.ariaLabel = `Choices of ${name}`;
    this.#answers.ariaLabel = `Answer ${name}`;
    this.#undo.ariaLabel = `Undo the answer to ${name}`;
    this.#now.ariaLabel = `Send now, ${name}`;
    this.#mark.ariaLabel = `Mark, ${name}`;
    this.#withdraw.ariaLabel = `Withdraw, ${name}`;
    this.#head.append(
      stateBadge({ state: kind, text: kind }),
      title,
      this.#project,
      this.#time,
      this.#mark,
      this.#withdraw,
    );
    this.#withdraw.addEventListener("click", () => this.#withdrawOnConfirm());
    this.#withdraw.addEventListener("blur", () => this.#resetWithdraw());
    // Its request, or the plan, is shown instead.
    this.#text.hidden = kind === "permission" || kind === "plan";
    if (session) this.#go.append(h("hub-go", { store: this.store, session }));
    const bar = h(
      "div",
      { class: "bar" },
      this.#error,
      this.#answers,
      this.#held,
      this.#result,
      this.#go,
    );
    this.replaceChildren(
      this.#head,
      this.#about,
      this.#before,
      this.#text,
      this.#request,
      this.#claim,
      this.#content,
      this.#elsewhere,
      bar,
    );
  }

  /**
   * Shows what it asks, and the controls that answer it.
   *
   * @param {AttentionItem} item
   * @param {Need} whole
   */
  #buildWhole(item, { kind, controls = [], context = "" }) {
    this.isWhole = true;
    const { name } = item;
    const choices = controls.filter((it) => it.type === "choice");
    this.#repeatsText =
      choices.some(({ header }) => header) || choices.length > 1;
    this.#buildWhat(item);
    this.#controls = answerControls(
      controls,
      kind === "plan",
      name,
      (answer, label) => this.#answer(answer, label),
    );
    this.#content.append(
      ...(this.#controls.content ? [this.#controls.content] : []),
    );
    this.#answers.append(this.#deadline, this.#controls.bar);
    const offered = choices.flatMap(({ options }) =>
      options.map(({ label }) => label),
    );
    this.#elsewhere.append(
      offered.length > 0
        ? h(
            "ul",
            { class: "offered", "aria-label": `Offered answers, ${name}` },
            ...offered.map((option) => h("li", {}, option)),
          )
        : "",
      this.#reason,
      this.#location,
      this.#unsent,
    );
    this.#before.hidden = context === "";
    if (context)
      this.#showText(
        /** @type {HTMLElement} */ (this.#before.lastElementChild),
        context,
      );
  }

  /** Shows the request of a permission, or a plan, in place of the text, which repeats it. @param {AttentionItem} item */
  #buildWhat({ key, name, session }) {
    const { store } = this;
    const { kind, request, text = "" } = store.whole(key) ?? {};
    const context = contextOf(store, session);
    this.#text.hidden = kind === "plan" || request !== undefined;
    if (request)
      this.#request.append(
        requestElement(request, { name, cwd: session?.cwd, context }),
      );
    if (kind !== "plan") return;
    const plan = h("div", {
      class: "plan text",
      role: "group",
      "aria-label": `Plan of ${name}`,
    });
    showMarkdown(plan, text, { store, context });
    this.#request.append(plan);
  }

  /**
   * @param {import('./answer-controls.js').Answer} answer
   * @param {string} label
   */
  #answer(answer, label) {
    const need = this.#item?.need;
    if (!need || !isOpen(need)) return;
    if (this.store.access !== undefined && allows(answer) && !this.#showsEnd())
      return this.store.toast(UNREAD);
    outboxOf(this.store).hold(need, answer, label);
    this.dispatchEvent(new Event("settling", { bubbles: true }));
  }

  /** Whether the end of what it asks is on the screen, above the buttons. */
  #showsEnd() {
    const end = this.#request.getBoundingClientRect().bottom;
    const bar = this.#answers.parentElement?.getBoundingClientRect().top ?? 0;
    return end <= bar + 1;
  }

  /** Takes a held answer back; the controls have kept it. */
  undo() {
    outboxOf(this.store).undo(this.#item?.key ?? "");
    this.focus();
  }

  #sendNow() {
    if (this.#held.contains(document.activeElement)) this.focus();
    outboxOf(this.store).send(this.#item?.key ?? "");
  }

  /** Whether it takes an answer now that allows what it asks. */
  get canApprove() {
    return !this.#answers.hidden && this.#controls?.keys.approve !== undefined;
  }

  /** Shows whether it is one of several that are approved together. @param {boolean} [marked] */
  showMark(marked) {
    setProperty(this.#mark, "hidden", !this.canApprove || marked === undefined);
    setProperty(this.#mark, "ariaPressed", String(marked));
    setText(this.#mark, marked ? "Marked" : "Mark");
  }

  /**
   * Performs the action of a key.
   *
   * @param {string} action its id
   * @param {string} key
   * @returns {boolean} whether there was something to do
   */
  act(action, key) {
    const acts = this.#answers.hidden ? {} : this.#controls?.keys;
    const choose = this.#answers.hidden ? undefined : this.#controls?.choose;
    if (action === "pane") return goFrom(this);
    if (action === "option") choose?.(Number(key));
    else acts?.[action]?.();
    return action === "option"
      ? choose !== undefined
      : acts?.[action] !== undefined;
  }

  /** Withdrawing needs two presses, because it cannot be undone. */
  #withdrawOnConfirm() {
    const id = this.#item?.key;
    if (this.#withdraw.dataset.sure && id !== undefined) {
      outboxOf(this.store).settle(id, "withdraw", {});
      return;
    }
    this.#withdraw.dataset.sure = "true";
    this.#withdraw.ariaLabel = `Really withdraw, ${this.#item?.name}`;
    setText(this.#withdraw, "Really withdraw");
  }

  #resetWithdraw() {
    delete this.#withdraw.dataset.sure;
    this.#withdraw.ariaLabel = `Withdraw, ${this.#item?.name}`;
    setText(this.#withdraw, "Withdraw");
  }
}

/** @param {import('./answer-controls.js').Answer} answer */
function allows({ verdict }) {
  return verdict !== undefined && verdict !== "deny";
}

/**
 * The places of the files and the repository of a session: paths are links only on the hub’s own machine.
 *
 * @param {import('../hub/store.js').Store} store
 * @param {AttentionItem['session']} session
 * @returns {Context}
 */
export function contextOf(store, session) {
  const isHere =
    store.access === undefined &&
    (session?.host === undefined || session.host === store.info?.host);
  return {
    cwd: isHere ? session?.cwd : undefined,
    repository: session?.repository,
    editor: store.preferences.editor,
  };
}

/**
 * The reason why there are no buttons.
 *
 * @param {AttentionItem['session']} session
 * @param {Need} need
 * @param {string} draft
 */
function reasonFor(session, { reconnecting }, draft) {
  if (session && isEnded(session))
    return "The asker has ended: an answer cannot be delivered.";
  if (reconnecting)
    return "The hub has just started, and waits for the asker’s hook to connect to it again. Until then, answer it in its own terminal, at:";
  if (draft)
    return "The time for an answer here is over, and what you typed was not sent. Answer it in its own terminal, at:";
  return "It waits in its own terminal, and the hub cannot deliver an answer there. Answer it at:";
}

customElements.define("hub-question", HubQuestion);
