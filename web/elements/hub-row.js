/** One row of the feed: text, sender, time. Rows are reused for other notifications, so every part is set each time. */

import { h } from "./dom.js";
import { setText } from "./parts.js";
import { setTime, timeElement } from "./time.js";
import { projectName } from "../core/sessions.js";
import { answerWay } from "../core/delivery.js";
import { answerOf, counts, endOf, leadOf, others } from "../core/rows.js";
import { senderName } from "../core/thread.js";
import { showDirection } from "../core/tool.js";
import { kindText } from "../core/types.js";

/** @import { Row } from '../core/rows.js' */

/** The number of characters of a text that a row can show. */
const MAX_TEXT = 400;
/** The maximum of ids that a row carries as an attribute. */
const MAX_IDS = 1000;

/** The word for a final status that the rest of the row does not show. @type {Partial<Record<string, string>>} */
const STATUS_LABELS = {
  superseded: "replaced",
  withdrawn: "withdrawn",
  expired: "expired",
  evicted: "evicted",
  dropped: "dropped",
  answered: "answered",
};

export class HubRow extends HTMLElement {
  /** @type {Row|null} */
  row = null;
  #mark = h("button", { class: "mark", tabindex: "-1" });
  #type = h("span", { class: "type" });
  #from = h("span", { class: "from" });
  #project = h("span", { class: "project" });
  #title = h("b", {});
  #text = document.createTextNode("");
  #content = h(
    "a",
    { class: "content", tabindex: "-1" },
    this.#title,
    this.#text,
  );
  #answer = h("span", { class: "answer" });
  #flags = h("span", { class: "flags" });
  /** @type {HTMLTimeElement|null} */
  #time = null;

  #build() {
    this.setAttribute("role", "article");
    this.append(
      this.#mark,
      this.#type,
      h("span", { class: "sender" }, this.#from, this.#project),
      this.#content,
      this.#answer,
      this.#flags,
    );
  }

  /**
   * @param {Row} row
   * @param {{index: number, setSize: number, open: number, now: () => number}} look
   */
  show(row, { index, setSize, open, now }) {
    const [newest] = row.items;
    const lead = leadOf(row);
    const unseen = row.items.some((item) => !item.seen);
    if (!this.row) this.#build();
    this.row = row;
    this.#attributes(row, unseen, index, setSize);
    this.toggleAttribute(
      "data-open",
      row.items.some((item) => item.id === open),
    );
    setText(this.#type, kindText(lead.type));
    setText(this.#from, senderName(lead));
    this.#from.title = lead.from;
    setText(this.#project, projectName(lead.project));
    this.#project.title = showDirection(lead.project);
    setText(this.#title, lead.title ?? "");
    const text = showDirection(oneLine(lead.msg));
    if (this.#text.data !== text) this.#text.data = text;
    this.#content.href = `?id=${lead.id}`;
    setText(this.#answer, showDirection(answerText(row)));
    setText(this.#flags, flags(row));
    this.#mark.title = unseen ? "Mark read" : "Mark unread";
    this.#mark.setAttribute("aria-label", this.#mark.title);
    if (this.#time) setTime(this.#time, newest.ts);
    else this.append((this.#time = timeElement(newest.ts, now)));
  }

  /**
   * @param {Row} row
   * @param {boolean} unseen
   * @param {number} index
   * @param {number} setSize
   */
  #attributes(row, unseen, index, setSize) {
    const lead = leadOf(row);
    const [newest] = row.items;
    const ids = row.items.slice(0, MAX_IDS).map((item) => item.id);
    setAttribute(this, "data-id", String(newest.id));
    setAttribute(this, "data-ids", ids.join(" "));
    setAttribute(this, "data-type", lead.type);
    setAttribute(this, "data-priority", lead.priority);
    setAttribute(this, "data-status", endOf(lead));
    setAttribute(this, "aria-posinset", String(index + 1));
    setAttribute(this, "aria-setsize", String(setSize));
    setAttribute(this, "aria-label", showDirection(label(row, unseen)));
    this.toggleAttribute("data-unseen", unseen);
    this.toggleAttribute("data-answered", answerOf(row) !== undefined);
  }
}

/**
 * @param {Row} row
 * @param {boolean} unseen
 */
function label(row, unseen) {
  const lead = leadOf(row);
  const text = lead.title
    ? `${lead.title}: ${oneLine(lead.msg)}`
    : oneLine(lead.msg);
  return [
    unseen && "Unread",
    lead.priority === "urgent" && "urgent",
    `${kindText(lead.type)} from ${senderName(lead)}`,
    flags(row),
    text,
    answerText(row),
  ]
    .filter(Boolean)
    .join(", ");
}

/** @param {Row} row */
function flags(row) {
  const lead = leadOf(row);
  const urgent =
    lead.priority === "urgent" || lead.priority === "high" ? lead.priority : "";
  const end = counts(row)
    ? answerWay(lead)
    : (STATUS_LABELS[endOf(lead)] ?? lead.ended);
  return [urgent, others(row), end].filter(Boolean).join(" · ");
}

/** @param {Row} row */
function answerText(row) {
  const answer = answerOf(row);
  return answer
    ? `${counts(row) ? "✓" : "✗"} ${answer.from === "person" ? "you" : senderName(answer)}: ${oneLine(answer.msg)}`
    : "";
}

/** @param {string} msg */
function oneLine(msg) {
  return msg.slice(0, MAX_TEXT).replace(/\s+/g, " ").trim();
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string} value
 */
function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

customElements.define("hub-row", HubRow);
