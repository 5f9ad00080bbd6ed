/** Permissions that are approved together: each was on the stage to its end before it was marked. */

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { HubQuestion } from './hub-question.js' */
/** @import { HubStage } from './hub-stage.js' */

export class Batch {
  /** @type {Set<string>} */
  #keys = new Set();
  #stage;

  /** @param {HubStage} stage */
  constructor(stage) {
    this.#stage = stage;
  }

  get size() {
    return this.#keys.size;
  }

  /** @param {string} key */
  has(key) {
    return this.#keys.has(key);
  }

  /** Forgets needs that are no longer open. @param {AttentionItem[]} open */
  keep(open) {
    const keys = new Set(open.map(({ key }) => key));
    for (const key of this.#keys) if (!keys.has(key)) this.#keys.delete(key);
  }

  clear() {
    this.#keys.clear();
  }

  /**
   * Marks the need on the stage, or removes its mark.
   *
   * @returns {'marked'|'unmarked'|'unread'|'none'} `unread` if its end was not on the screen yet, `none` if it cannot be approved
   */
  toggle() {
    const { card, isRead } = this.#stage;
    const key = card?.dataset.key ?? "";
    if (this.#keys.delete(key)) return "unmarked";
    if (!card || !("canApprove" in card) || !card.canApprove) return "none";
    if (!isRead) return "unread";
    this.#keys.add(key);
    return "marked";
  }

  /** Approves what is marked. */
  approve() {
    const cards = [...this.#keys].map(
      (key) => /** @type {HubQuestion|undefined} */ (this.#stage.cardOf(key)),
    );
    this.clear();
    for (const card of cards) card?.act("approve", "a");
  }
}
