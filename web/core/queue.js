/** The queue: the needs that the person can settle, those that end by themselves, and the answers on their way. */

import { attentionItems, isOpen } from "./attention.js";

/** @import { AttentionItem, Data } from './attention.js' */
/** @import { Need } from './types.js' */

/**
 * @typedef {object} Queue
 * @property {AttentionItem[]} open in the hub's order
 * @property {AttentionItem[]} later what needs nothing for now
 * @property {AttentionItem[]} sent answered here or elsewhere, as long as the hub lists them
 *
 * @typedef {object} Own The acts of this page that the hub does not show yet.
 * @property {(key: string) => boolean} isAnswered whether the answer is held back, or being sent
 * @property {(key: string) => boolean} isEnding whether the need was ended here
 */

/**
 * @param {Data} data
 * @param {Own} own
 * @returns {Queue}
 */
export function queueOf(data, { isAnswered, isEnding }) {
  const items = attentionItems(data).filter(({ key }) => !isEnding(key));
  const isSent = (/** @type {AttentionItem} */ { key, need }) =>
    isOpen(need) ? isAnswered(key) : need.settled?.state === "answered";
  const open = items.filter((item) => isOpen(item.need) && !isSent(item));
  return {
    open: open.filter(({ need }) => need.counts),
    later: open.filter(({ need }) => !need.counts),
    sent: items.filter(isSent),
  };
}

/**
 * The need to select instead of one that is gone: the next one that is still there, else the previous one, else the first.
 *
 * @param {string} gone
 * @param {string[]} before all keys when it was there
 * @param {string[]} now
 * @returns {string} empty if there is none
 */
export function successor(gone, before, now) {
  const at = before.indexOf(gone);
  const stays = (/** @type {string} */ key) => now.includes(key);
  const near =
    at < 0
      ? undefined
      : (before.slice(at + 1).find(stays) ??
        before.slice(0, at).findLast(stays));
  return near ?? now[0] ?? "";
}

/** How far an answer has come, in a word. @param {Need} need */
export function wayOf({ settled }) {
  return settled?.delivery ?? (settled ? "answered" : "not sent yet");
}
