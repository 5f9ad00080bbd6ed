/** Finds the sessions and questions that need the person. */

import { finder, isOver } from './sessions.js';
import { muteOf } from './mutes.js';

/**
 * @typedef {import('./types.js').Session} Session
 * @typedef {import('./types.js').Question} Question
 * @typedef {import('./types.js').Notification} Notification
 * @typedef {import('./types.js').Preferences} Preferences
 *
 * @typedef {object} Known The parts of the store that are used here.
 * @property {Map<string, Session>} sessions
 * @property {Map<string, Session>} endedSessions
 * @property {Map<number, Question>} questions
 * @property {(id: number) => Notification|null|undefined} notification undefined until it is loaded, null if the hub no longer has it
 * @property {Pick<Preferences, 'mutes'>} preferences
 * @property {() => number} now
 *
 * @typedef {object} Need
 * @property {string} key that stays the same for the same need
 * @property {'question'|'approval'|'error'|'silent'|'gone'} kind
 * @property {string} ts when the need began
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
 * @param {Known} known
 * @returns {Need[]}
 */
export function needs(known) {
  const open = [...known.questions.values()].filter(isOpen);
  // There may be many ended sessions, so they are not indexed for the few open questions.
  const find = open.length > 0 ? finder(known.sessions.values()) : () => undefined;
  const over = (/** @type {Question} */ { project, from }) => known.endedSessions.get(`${project}/${from}`);
  const found = open.map((question) => asked(question, find(question.project, question.from) ?? over(question)));
  const now = known.now();
  for (const session of [...known.sessions.values(), ...known.endedSessions.values()]) {
    const trouble = troubleOf(session, known);
    if (trouble && !muteOf(known.preferences, session, now)) found.push(trouble);
  }
  return found.sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts) || (a.key < b.key ? -1 : 1));
}

/**
 * Whether a question can still be answered.
 *
 * @param {Pick<Question, 'state'>} question
 */
export function isOpen({ state }) {
  return state === 'open' || state === 'claimed';
}

/**
 * @param {Question} question
 * @param {Session} [session]
 * @returns {Need}
 */
function asked(question, session) {
  const { id, type, ts, project } = question;
  return { key: `question ${id}`, kind: type, ts, project, name: session?.name ?? question.from, text: textOf(question), session, question };
}

/**
 * @param {Session} session
 * @param {Known} known
 * @returns {Need|null}
 */
function troubleOf(session, known) {
  const { id, project, name, since, last_seen: seen, last } = session;
  if (!session.silent && session.state !== 'error') return null;
  const told = last === undefined ? null : known.notification(last);
  const of = { project, name, session };
  if (session.silent && !isOver(session)) {
    const ts = seen ?? since ?? '';
    return { ...of, key: `silent ${project}/${id} ${ts}`, kind: 'silent', ts, text: told?.msg ?? '', notification: told ?? undefined };
  }
  if (told?.type !== 'error' || told.seen) return null;
  return { ...of, key: `trouble ${told.id}`, kind: session.gone ? 'gone' : 'error', ts: told.ts, title: told.title, text: told.msg, notification: told };
}

/** The hook's words before a question; they are removed because the page shows the asker beside it. */
const ASKS = /^Agent .+? asks: ([^]*?)(?: \((?:hubctl answer \d+ "…"|answer it in its own terminal)\))?$/;
const WANTS = /^Agent .+? needs a permission(?:: ([^]*))?$/;

/**
 * The text of a question, without the parts that the page shows elsewhere.
 *
 * @param {Pick<Notification, 'type'|'msg'|'data'>} question
 * @returns {string}
 */
export function textOf({ type, msg, data }) {
  if (Object(data).via !== 'hook' || (type !== 'approval' && type !== 'question')) return msg;
  const match = (type === 'approval' ? WANTS : ASKS).exec(msg);
  return match ? match[1] ?? 'It needs a permission.' : msg;
}

/**
 * A sentence on who settled a question and how, for screen readers.
 *
 * @param {string} name the session that asked
 * @param {Question} [question] in its current state
 */
export function settlement(name, question) {
  if (!question) return `${name} does not need you any more.`;
  const { state, by, answer, type } = question;
  const who = by === 'person' ? 'elsewhere' : `by ${by}`;
  if (state === 'answered') return `${name}’s ${type} was answered ${by ? who : ''}${answer ? `: ${answer}` : ''}`.trimEnd();
  if (state === 'withdrawn' && by === 'resumed') return `${name} went on: its ${type} is settled.`;
  if (state === 'withdrawn') return `${name}’s ${type} was withdrawn ${by ? who : ''}`.trimEnd();
  return `${name}’s ${type} is ${state}.`;
}
