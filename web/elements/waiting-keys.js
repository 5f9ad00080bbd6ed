/**
 * Keys that were pressed before the need they are for was drawn. After the person's own act the next keys are for the next
 * need: each waits until that one is drawn, and none is lost.
 */

import { isBrowserKey } from "../core/keys.js";

/** The actions that are for a need. The others do not depend on it. */
const OF_NEEDS = new Set([
  "approve",
  "always",
  "mark",
  "approve-marked",
  "deny",
  "option",
  "enter",
  "reply",
  "done",
  "snooze",
  "pane",
  "undo",
  "up",
  "down",
]);
/** The actions that lead into a field, so that the keys after them are its text. */
const INTO_FIELDS = new Set(["deny", "reply"]);
const FIELDS = "input:not([type=checkbox], [type=radio]), textarea";

export class WaitingKeys {
  /** @type {{action: string, key: string}[]} */
  #keys = [];
  #waits = false;
  #perform;

  /** @param {(action: string, key: string) => unknown} perform */
  constructor(perform) {
    this.#perform = perform;
  }

  /** From now on keys wait. */
  wait() {
    this.#waits = true;
  }

  /**
   * Keeps a key, if keys wait now.
   *
   * @param {string|null} action
   * @param {KeyboardEvent} event
   * @returns {boolean} whether it waits
   */
  take(action, event) {
    if (!this.#waits || event.repeat || isBrowserKey(event)) return false;
    const isText =
      this.#keys.some((one) => INTO_FIELDS.has(one.action)) &&
      event.key.length === 1;
    if (!isText && !OF_NEEDS.has(action ?? "")) return false;
    this.#keys.push({ action: action ?? "", key: event.key });
    return true;
  }

  /** Performs the keys that waited, until one of them makes the others wait again. */
  release() {
    this.#waits = false;
    while (this.#keys.length > 0 && !this.#waits) {
      const { action, key } = /** @type {{action: string, key: string}} */ (
        this.#keys.shift()
      );
      this.#perform(action, key);
      if (document.activeElement?.matches(FIELDS)) this.#type();
    }
  }

  /** There is nothing left for them to act on. */
  drop() {
    this.#waits = false;
    this.#keys = [];
  }

  /** Types what was pressed after a key that leads into a field. */
  #type() {
    const text = this.#keys
      .map(({ key }) => key)
      .filter((key) => key.length === 1);
    this.#keys = [];
    document.execCommand("insertText", false, text.join(""));
  }
}
