/** The hub's needs, and the questions with their state. */

import { sessionFinder } from './sessions.js';
import { showDirection } from './tool.js';

/** @import { Need, Notification, Question, Session } from './types.js' */

/**
 * @typedef {object} Data The parts of the store that are used here.
 * @property {Map<string, Session>} sessions
 * @property {Map<string, Session>} endedSessions
 * @property {Map<number, Question>} questions
 * @property {Need[]} needs
 *
 * @typedef {object} AttentionItem
 * @property {string} key the need's id
 * @property {'approval'|Need['kind']} kind
 * @property {string} ts when it began
 * @property {string} project
 * @property {string} name of the session
 * @property {string} text
 * @property {Session} [session]
 * @property {Question} [question]
 * @property {Need} [need] absent for a moment after a question has arrived, and for a settled one
 */

/**
 * All items that need the person, in the hub's order.
 *
 * @param {Data} data
 * @returns {AttentionItem[]}
 */
export function attentionItems(data) {
  const open = [...data.questions.values()].filter((question) => isOpenQuestion(question));
  // There may be many ended sessions, so they are not indexed for the few open questions.
  const find = open.length > 0 ? sessionFinder(data.sessions.values()) : () => undefined;
  const findEnded = (/** @type {Question} */ { project, from }) => data.endedSessions.get(`${project}/${from}`);
  const needs = new Map(data.needs.map((need) => [need.id, need]));
  /** @type {AttentionItem[]} */
  const items = open.map((question) => ({ ...questionItem(question, find(question.project, question.from) ?? findEnded(question)), need: needs.get(String(question.id)) }));
  items.push(...data.needs.filter(({ closable }) => closable).map((need) => needItem(need, data)));
  return items.sort(byRank(data.needs));
}

/** Whether an item counts in the numbers of the page. @param {Pick<AttentionItem, 'need'>} item */
export function counts({ need }) {
  return need?.counts !== false;
}

/** The order of the hub; a question that it does not rank yet comes last. @param {Need[]} needs */
function byRank(needs) {
  const ranks = new Map(needs.map(({ id }, rank) => [id, rank]));
  const rank = (/** @type {AttentionItem} */ { key }) => ranks.get(key) ?? needs.length;
  return (/** @type {AttentionItem} */ a, /** @type {AttentionItem} */ b) => rank(a) - rank(b) || Date.parse(a.ts) - Date.parse(b.ts) || (a.key < b.key ? -1 : 1);
}

/**
 * The item of a question that is settled.
 *
 * @param {Question} question
 * @param {Data} data
 */
export function settledItem(question, data) {
  const find = sessionFinder(data.sessions.values());
  return questionItem(question, find(question.project, question.from) ?? data.endedSessions.get(`${question.project}/${question.from}`));
}

/**
 * The item of a notification, in any state: of its question, or of the trouble that it reports; null if it has none.
 *
 * @param {number} id
 * @param {Data} data
 * @returns {AttentionItem|null}
 */
export function itemOf(id, data) {
  const question = data.questions.get(id);
  if (!question) return attentionItems(data).find(({ need }) => need?.notification === id) ?? null;
  const find = sessionFinder([...data.sessions.values(), ...data.endedSessions.values()]);
  return questionItem(question, find(question.project, question.from));
}

/**
 * Whether a question is answered, and the agent does not have the answer yet.
 *
 * @param {Pick<Question, 'state'|'delivery'>} question
 */
export function isOnItsWay({ state, delivery }) {
  return state === 'answered' && (delivery === 'stored' || delivery === 'delivered');
}

/**
 * Whether a question can still be answered.
 *
 * @param {Pick<Question, 'state'>} [question]
 */
export function isOpenQuestion(question) {
  return question?.state === 'open' || question?.state === 'claimed';
}

/**
 * @param {Question} question
 * @param {Session} [session]
 * @returns {AttentionItem}
 */
function questionItem(question, session) {
  const { id, type, ts, project } = question;
  return { key: String(id), kind: type, ts, project, name: showDirection(session?.name ?? question.from), text: question.text, session, question };
}

/**
 * @param {Need} need
 * @param {Data} data
 * @returns {AttentionItem}
 */
function needItem(need, data) {
  const { id, kind, since, project, name, brief } = need;
  const key = `${project}/${need.session}`;
  return { key: id, kind, ts: since, project, name: showDirection(name), text: brief, session: data.sessions.get(key) ?? data.endedSessions.get(key), need };
}

/**
 * The words of a notification, without those that the hook of an agent put before them.
 *
 * @param {Pick<Notification, 'msg'|'data'>} notification
 * @returns {string}
 */
export function wordsOf({ msg, data }) {
  const { via, said } = Object(data);
  return via === 'hook' && typeof said === 'string' && said ? said : msg;
}

/**
 * A sentence on who settled a question and how, for screen readers.
 *
 * @param {string} name the session that asked
 * @param {Question} [question] in its current state
 */
export function settlementText(name, question) {
  if (!question) return `${name} does not need you any more.`;
  const { state, by, answer, type } = question;
  const settler = by === 'person' ? 'elsewhere' : `by ${by}`;
  if (state === 'answered') return `${name}’s ${type} was answered ${by ? settler : ''}${answer ? `: ${answer}` : ''}`.trimEnd();
  if (state === 'withdrawn' && by === 'resumed') return `${name} continued: its ${type} is settled.`;
  if (state === 'withdrawn') return `${name}’s ${type} was withdrawn ${by ? settler : ''}`.trimEnd();
  return `${name}’s ${type} is ${state}.`;
}
