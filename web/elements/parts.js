/** Small parts that several elements share. */

import { h } from "./dom.js";
import { showDirection, splitHidden } from "../core/tool.js";

/** @import { Problem } from '../hub/problem.js' */

/**
 * Sets a text only if it differs, so that screen readers and selections keep their position.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  const shown = showDirection(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Why a paired phone that only reads shows no buttons. */
export const ONLY_READS =
  "This device only reads. To answer, use the machine of the hub, or pair the device again: hubctl phone";

/** {@link ONLY_READS} in the place of buttons. */
export function onlyReadsNote() {
  return h("p", { class: "muted" }, ONLY_READS);
}

/**
 * Sets a property that is also an attribute only if it differs, to avoid a needless layout.
 *
 * @template {Element} E
 * @template {keyof E} K
 * @param {E} element
 * @param {K} name
 * @param {E[K]} value
 */
export function setProperty(element, name, value) {
  const shown =
    typeof value === "string"
      ? /** @type {E[K]} */ (showDirection(value))
      : value;
  if (element[name] !== shown) element[name] = shown;
}

/**
 * A badge with a state: a word on the state's colour.
 *
 * @param {{state: string, text: string}} shown
 */
export function stateBadge({ state, text }) {
  return h("span", { class: "state", "data-state": state }, text);
}

/**
 * Makes a badge of {@link stateBadge} show another state.
 *
 * @param {HTMLElement} badge
 * @param {{state: string, text: string}} shown
 */
export function setState(badge, { state, text }) {
  if (badge.dataset.state !== state) badge.dataset.state = state;
  setText(badge, text);
}

/**
 * A text without hidden characters: invisible and direction-changing ones are shown by their code points.
 *
 * @param {string} text
 */
export function revealHidden(text) {
  return splitHidden(text).map((piece) =>
    piece.hidden
      ? h(
          "mark",
          { class: "hidden-character", title: "invisible character" },
          piece.text,
        )
      : piece.text,
  );
}

/** A container for a refusal by the hub; screen readers announce it. */
export function errorLine() {
  return h("p", { class: "error", role: "alert", hidden: true });
}

/**
 * Shows a refusal and what to do about it; hides it again with null.
 *
 * @param {HTMLElement} element
 * @param {Problem|null} problem
 */
export function showError(element, problem) {
  element.hidden = problem === null;
  element.replaceChildren(
    ...(problem
      ? [
          sentence(problem.message),
          " ",
          h("span", { class: "hint" }, sentence(problem.hint)),
        ]
      : []),
  );
}

/** @param {string} text */
function sentence(text) {
  if (!text) return "";
  const begun = text[0].toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/**
 * Runs a button's action. Meanwhile the button is marked as busy and ignores further presses. It is not disabled,
 * because that would take away the focus.
 *
 * @param {HTMLElement} scope holds the buttons that belong together
 * @param {() => Promise<void>} action
 */
export async function runOnce(scope, action) {
  if (scope.ariaBusy === "true") return;
  scope.ariaBusy = "true";
  try {
    await action();
  } finally {
    scope.ariaBusy = "false";
  }
}

/**
 * Makes Ctrl+Enter (⌘ Enter) in a field send it.
 *
 * @param {HTMLElement} field
 * @param {() => void} send
 */
export function onCtrlEnter(field, send) {
  field.addEventListener("keydown", (event) => {
    if (
      event.key !== "Enter" ||
      !(event.ctrlKey || event.metaKey) ||
      event.isComposing
    )
      return;
    event.preventDefault();
    send();
  });
}

/**
 * A button that closes a dialog or a view.
 *
 * @param {() => void} close
 */
export function closeButton(close) {
  return h(
    "button",
    {
      class: "ghost close",
      "aria-label": "Close",
      title: "Close (Esc)",
      onclick: close,
    },
    "×",
  );
}
