/** Finds the sessions and questions that need the person. */

import { isEnded, sessionFinder } from './sessions.js';
import { muteFor } from './mutes.js';

/** @import { Notification, Preferences, Question, Session } from './types.js' */

/**
 * @typedef {object} Data The parts of the store that are used here.
 * @property {Map<string, Session>} sessions
 * @property {Map<string, Session>} endedSessions
 * @property {Map<number, Question>} questions
 * @property {(id: number) => Notification|null|undefined} notification undefined until it is loaded, null if the hub no longer has it
 * @property {Pick<Preferences, 'mutes'>} preferences
 * @property {() => number} now
 *
 * @typedef {object} AttentionItem
 * @property {string} key that stays the same while the item exists
 * @property {'question'|'approval'|'error'|'silent'|'gone'} kind
 * @property {string} ts when it began
 * @property {string} project
 * @property {string} name of the session
 * @property {string} text
 * @property {Session} [session]
 * @property {Question} [question]
 * @property {string} [title] of the notification that reports the trouble
 * @property {Notification} [notification] that reports the trouble
 */

/**
 * All items that need the person, oldest first: open questions, unseen errors, and sessions that died at work or fell
 * silent. For a muted session, only its questions.
 *
 * @param {Data} data
 * @returns {AttentionItem[]}
 */
export function attentionItems(data) {
  const open = [...data.questions.values()].filter((question) => isOpenQuestion(question));
  // There may be many ended sessions, so they are not indexed for the few open questions.
  const find = open.length > 0 ? sessionFinder(data.sessions.values()) : () => undefined;
  const findEnded = (/** @type {Question} */ { project, from }) => data.endedSessions.get(`${project}/${from}`);
  const items = open.map((question) => questionItem(question, find(question.project, question.from) ?? findEnded(question)));
  const now = data.now();
  for (const session of [...data.sessions.values(), ...data.endedSessions.values()]) {
    const item = troubleItem(session, data);
    if (item && !muteFor(data.preferences, session, now)) items.push(item);
  }
  return items.sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts) || (a.key < b.key ? -1 : 1));
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
  return { key: `question ${id}`, kind: type, ts, project, name: session?.name ?? question.from, text: questionText(question), session, question };
}

/**
 * @param {Session} session
 * @param {Data} data
 * @returns {AttentionItem|null}
 */
function troubleItem(session, data) {
  const { id, project, name, since, last_seen: seen, last } = session;
  if (!session.silent && session.state !== 'error') return null;
  const report = last === undefined ? null : data.notification(last);
  const of = { project, name, session };
  if (session.silent && !isEnded(session)) {
    const ts = seen ?? since ?? '';
    return { ...of, key: `silent ${project}/${id} ${ts}`, kind: 'silent', ts, text: report?.msg ?? '', notification: report ?? undefined };
  }
  if (report?.type !== 'error' || report.seen) return null;
  return { ...of, key: `trouble ${report.id}`, kind: session.gone ? 'gone' : 'error', ts: report.ts, title: report.title, text: report.msg, notification: report };
}

/** The hook's words before a question; they are removed because the page shows the asker beside it. */
const QUESTION_FRAME = /^Agent .+? asks: ([^]*?)(?: \((?:hubctl answer \d+ "…"|answer it in its own terminal)\))?$/;
const APPROVAL_FRAME = /^Agent .+? needs a permission(?:: ([^]*))?$/;

/**
 * The text of a question, without the parts that the page shows elsewhere.
 *
 * @param {Pick<Notification, 'type'|'msg'|'data'>} question
 * @returns {string}
 */
export function questionText({ type, msg, data }) {
  if (Object(data).via !== 'hook' || (type !== 'approval' && type !== 'question')) return msg;
  const match = (type === 'approval' ? APPROVAL_FRAME : QUESTION_FRAME).exec(msg);
  return match ? match[1] ?? 'It needs a permission.' : msg;
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
