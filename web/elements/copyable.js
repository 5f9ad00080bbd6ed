/** A command that is copied with one click. */

import { h } from "./dom.js";

/**
 * @param {string} text
 * @param {string} [label] the name of the copied text, for screen readers
 */
export function copyable(text, label = "Copy the command") {
  const button = h(
    "button",
    { class: "ghost", "aria-label": label, title: label },
    "Copy",
  );
  const status = h("span", { class: "visually-hidden", role: "status" });
  button.addEventListener("click", async () => {
    const done = await copy(text);
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    status.textContent = done ? "copied" : "";
    if (!done) getSelection()?.selectAllChildren(code);
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const code = h("code", {}, text);
  return h("div", { class: "copyable" }, code, button, status);
}

/**
 * Copies a text; returns false if the browser does not allow it.
 *
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
