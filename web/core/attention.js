/** The hub's needs, with their sessions. */

import { showDirection } from "./tool.js";

/** @import { Need, Notification, Schemas, Session } from './types.js' */

/**
 * @typedef {object} Data The parts of the store that are used here.
 * @property {Map<string, Session>} sessions
 * @property {Map<string, Session>} endedSessions
 * @property {Need[]} needs
 *
 * @typedef {object} AttentionItem
 * @property {string} key the need's id
 * @property {string} name of the session
 * @property {Session} [session]
 * @property {Need} need
 */

/**
 * The needs in the hub's order, those that are settled among them.
 *
 * @param {Data} data
 * @returns {AttentionItem[]}
 */
export function attentionItems(data) {
  return data.needs.map((need) => itemOf(need, data));
}

/**
 * @param {Need} need
 * @param {Pick<Data, 'sessions'|'endedSessions'>} data
 * @returns {AttentionItem}
 */
export function itemOf(need, { sessions, endedSessions }) {
  const key = `${need.project}/${need.session}`;
  return {
    key: need.id,
    name: showDirection(need.name),
    session: sessions.get(key) ?? endedSessions.get(key),
    need,
  };
}

/** Whether a need is still open. @param {Pick<Need, 'settled'>} need */
export function isOpen({ settled }) {
  return settled === undefined;
}

/** Whether an answer ends it. @param {Pick<Need, 'closable'>} need */
export function asks({ closable }) {
  return !closable;
}

/**
 * The words of a notification, without those that the hook of an agent put before them.
 *
 * @param {Pick<Notification, 'msg'|'data'>} notification
 * @returns {string}
 */
export function wordsOf({ msg, data }) {
  const { via, said } = Object(data);
  return via === "hook" && typeof said === "string" && said ? said : msg;
}

/**
 * A sentence on who settled a need and how, for screen readers.
 *
 * @param {string} name the session that asked
 * @param {string} kind
 * @param {Schemas['Need']['settled']} [settled]
 */
export function settlementText(name, kind, settled) {
  if (!settled) return `${name} does not need you any more.`;
  const { state, by, answer } = settled;
  const settler = by === "person" ? "elsewhere" : `by ${by}`;
  if (state === "answered")
    return `${name}’s ${kind} was answered ${by ? settler : ""}${answer ? `: ${answer}` : ""}`.trimEnd();
  if (state === "withdrawn" && by === "resumed")
    return `${name} continued: its ${kind} is settled.`;
  if (state === "withdrawn")
    return `${name}’s ${kind} was withdrawn ${by ? settler : ""}`.trimEnd();
  return `${name}’s ${kind} is ${state}.`;
}
