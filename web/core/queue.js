/** The queue: the needs that the person can settle, those that end by themselves, and the answers on their way. */

import { attentionItems, counts, isOnItsWay, isOpenQuestion, settledItem } from './attention.js';

/** @import { AttentionItem, Data } from './attention.js' */

/** The most characters of a text that a row shows. */
const MAX_BRIEF = 240;

/**
 * @typedef {object} Queue
 * @property {AttentionItem[]} open in the hub's order
 * @property {AttentionItem[]} later what needs nothing for now
 * @property {AttentionItem[]} sent answered, and the agent does not have the answer yet
 *
 * @typedef {object} Own The acts of this page that the hub does not show yet.
 * @property {(id: number) => boolean} isAnswered whether the answer to a question is held back or being sent
 * @property {(id: number) => boolean} isRecent whether the question was settled here a moment ago
 * @property {(key: string) => boolean} isEnding whether the need was ended here
 */

/**
 * @param {Data} data
 * @param {Own} own
 * @returns {Queue}
 */
export function queueOf(data, { isAnswered, isRecent, isEnding }) {
  const items = attentionItems(data).filter(({ key }) => !isEnding(key));
  const isSent = (/** @type {AttentionItem} */ { question }) => question !== undefined && isAnswered(question.id);
  const settling = [...data.questions.values()].filter((question) => !isOpenQuestion(question) && (isOnItsWay(question) || isRecent(question.id)));
  const open = items.filter((item) => !isSent(item));
  return {
    open: open.filter(counts),
    later: open.filter((item) => !counts(item)),
    sent: [...settling.map((question) => settledItem(question, data)), ...items.filter(isSent)],
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
  const near = at < 0 ? undefined : before.slice(at + 1).find(stays) ?? before.slice(0, at).findLast(stays);
  return near ?? now[0] ?? '';
}

/** How far an answer has come, in a word. @param {AttentionItem} item */
export function wayOf({ question }) {
  if (isOpenQuestion(question)) return 'not sent yet';
  return question?.state === 'answered' ? question.delivery ?? 'answered' : question?.state ?? '';
}

/** The beginning of a need's text, in a line. @param {AttentionItem} item */
export function briefOf({ need, text }) {
  return (need?.brief || text).slice(0, MAX_BRIEF).replace(/\s+/g, ' ').trim();
}
