/** A row of the queue: the kind of the need, whose it is, for how long, and the beginning of its text. */

import { h } from "./dom.js";
import { setProperty, setText } from "./parts.js";
import { setTime, timeElement } from "./time.js";
import { showDirection } from "../core/tool.js";
import { outboxOf } from "../hub/outbox.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Store } from '../hub/store.js' */

/** The mark of each kind, which differs in its form too, and the kind in words. @type {Record<import('../core/types.js').Need['kind'], [string, string]>} */
const MARKS = {
  permission: ["●", "permission"],
  question: ["?", "question"],
  plan: ["≡", "plan"],
  form: ["▤", "form"],
  turn: ["◌", "your turn"],
  error: ["✕", "error"],
  died: ["†", "died"],
  urgent: ["!", "urgent"],
  limit: ["‖", "limit"],
  silent: ["…", "silent"],
};

/** @param {Store} store */
export function queueRow(store) {
  const head = h(
    "span",
    { class: "head" },
    h("span", { class: "visually-hidden" }),
    h("b"),
    h("span", { class: "project" }),
  );
  const link = h(
    "a",
    { class: "queue-row" },
    h("span", { class: "mark", "aria-hidden": "true" }),
    head,
    h("span", { class: "line" }),
    timeElement("", () => store.now()),
  );
  return h("li", {}, link);
}

/**
 * @param {HTMLElement} row
 * @param {AttentionItem} item
 * @param {{title: string, selected: string, tabbable: string, marked: boolean, store: Store}} look
 */
export function updateQueueRow(
  row,
  item,
  { title, selected, tabbable, marked, store },
) {
  const link = /** @type {HTMLAnchorElement} */ (row.firstElementChild);
  const [mark, head, line, time] = /** @type {any} */ (link.children);
  const [kind, name, project] = head.children;
  const { kind: shown, project: path, since } = item.need;
  const problem = outboxOf(store).problem(item.key);
  if (row.dataset.kind !== shown) row.dataset.kind = shown;
  const href = `?need=${encodeURIComponent(item.key)}`;
  if (link.getAttribute("href") !== href) link.setAttribute("href", href);
  setText(mark, marked ? "☑" : MARKS[shown][0]);
  setText(kind, `${MARKS[shown][1]}, ${marked ? "marked, " : ""}`);
  setText(name, item.name);
  setText(project, title);
  setTime(time, since);
  const text = problem
    ? `Not answered: ${problem.message}`
    : showDirection(item.need.line);
  setText(line, text);
  setProperty(link, "title", `${item.name}\n${path}\n${text}`);
  setProperty(link, "tabIndex", item.key === tabbable ? 0 : -1);
  row.toggleAttribute("data-refused", Boolean(problem));
  if (link.hasAttribute("aria-current") !== (item.key === selected))
    item.key === selected
      ? link.setAttribute("aria-current", "true")
      : link.removeAttribute("aria-current");
}
