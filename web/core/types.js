/**
 * The types of the page. Those of the hub's JSON come from openapi.yaml, by way of tests/web/api.d.ts.
 *
 * @typedef {import('../../tests/web/api.js').Schemas} Schemas
 * @typedef {Schemas['Kind']} Kind
 * @typedef {Schemas['Priority']} Priority
 * @typedef {Schemas['Session']} Session
 * @typedef {Schemas['Phase']} Phase
 * @typedef {Schemas['Need']} Need
 * @typedef {Schemas['Holder']} Holder
 * @typedef {Schemas['Listener']} Listener
 * @typedef {Schemas['AskersPlace']} SessionLocation
 * @typedef {Schemas['Mute']} Mute
 * @typedef {Schemas['Preferences']} Preferences
 * @typedef {Schemas['Stats']} Stats
 * @typedef {Schemas['Step']} Step
 * @typedef {Schemas['ConversationEntry']} ConversationEntry
 *
 * @typedef {Schemas['Notification'] & Partial<Schemas['HistoryEntry']>} Notification Only history has the status and the mark.
 *
 * @typedef {'connecting'|'live'|'retrying'|'signed-out'} ConnectionState
 *
 * @typedef {object} Connection
 * @property {ConnectionState} state
 * @property {number} since ms
 * @property {number} [retryAt] ms
 * @property {string} [reason]
 */

/** @type {Kind[]} */
export const KINDS = [
  "question",
  "approval",
  "error",
  "waiting",
  "testing",
  "complete",
  "message",
  "answer",
  "progress",
  "ended",
];

/** A type of notifications for people: an agent that asks for an approval needs a permission. @param {Kind} kind */
export function kindText(kind) {
  return kind === "approval" ? "permission" : kind;
}

/** @type {Priority[]} */
export const PRIORITIES = ["urgent", "high", "normal", "low"];
