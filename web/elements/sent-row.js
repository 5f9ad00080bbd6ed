/** The line of an answer on its way to the agent. */

import { h } from "./dom.js";
import { setProperty, setText } from "./parts.js";
import { wayOf } from "../core/queue.js";
import { outboxOf } from "../hub/outbox.js";

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Store } from '../hub/store.js' */

/** @param {AttentionItem} item */
export function sentRow({ key, name }) {
  const undo = () =>
    row.dispatchEvent(
      new CustomEvent("undone", { bubbles: true, detail: key }),
    );
  const row = h(
    "li",
    {},
    h("span", { class: "mark", "aria-hidden": "true" }, "✓"),
    h("b", {}, name),
    h(
      "span",
      { class: "words" },
      h("span", { class: "what" }),
      h("span", { class: "answer" }),
    ),
    h("span", { class: "way" }),
    h(
      "button",
      {
        class: "small",
        "aria-label": `Undo the answer to ${name}`,
        title: "Undo (u)",
        onclick: undo,
      },
      "Undo",
    ),
    h(
      "button",
      { class: "ghost small now", "aria-label": `Send now, ${name}` },
      "Send",
    ),
  );
  return row;
}

/**
 * @param {HTMLElement} row
 * @param {AttentionItem} item
 * @param {Store} store
 */
export function updateSentRow(row, item, store) {
  const outbox = outboxOf(store);
  const held = outbox.held(item.key);
  const [, , words, way, undo, now] = /** @type {any} */ (row.children);
  const [what, said] = words.children;
  const answer = held?.label ?? item.need.settled?.answer ?? "";
  setText(what, item.need.line);
  setText(said, answer && `· ${answer}`);
  setProperty(
    row,
    "title",
    `${item.name}: ${what.textContent} ${said.textContent}`,
  );
  setText(way, held ? "" : wayOf(item.need));
  setProperty(way, "hidden", held !== undefined);
  setProperty(undo, "hidden", held === undefined);
  setProperty(now, "hidden", held === undefined);
  now.onclick = () => outbox.send(item.key);
}
