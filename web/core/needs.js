/** Who needs the person, and why. */

import { finder, isOver } from './sessions.js';
import { muteOf } from './mutes.js';

/**
 * @typedef {import('./types.js').Session} Session
 * @typedef {import('./types.js').Question} Question
 * @typedef {import('./types.js').Notification} Notification
 * @typedef {import('./types.js').Preferences} Preferences
 *
 * @typedef {object} Past What is not in the live parts of the page.
 * @property {Map<string, Session>} sessions those that are over
 * @property {(id: number) => Notification|null|undefined} notification null if the hub does not have it
 *
 * @typedef {object} Known What of the store is needed.
 * @property {Map<string, Session>} sessions
 * @property {Map<number, Question>} questions
 * @property {{get: (id: number) => Notification|undefined}} feed
 * @property {Pick<Preferences, 'mutes'>} preferences
 * @property {() => number} now
 * @property {Past} [past]
 *
 * @typedef {object} Need
 * @property {string} key the same for as long as it is the same need
 * @property {'question'|'approval'|'error'|'silent'|'gone'} kind
 * @property {string} ts since when
 * @property {string} project
 * @property {string} name of the session
 * @property {string} text
 * @property {Session} [session]
 * @property {Question} [question]
 * @property {string} [title] of what tells the trouble
 * @property {Notification} [notification] what tells the trouble
 */

/**
 * Everything that needs the person, oldest first: what is asked and not settled, errors that nobody has seen, sessions that
 * died at work or fell silent. Of a muted session only what it asks.
 *
 * @param {Known} known
 * @returns {Need[]}
 */
export function needs(known) {
  const open = [...known.questions.values()].filter(isOpen);
  // Many sessions may be over: they are not indexed for a few questions.
  const find = open.length > 0 ? finder(known.sessions.values()) : () => undefined;
  const over = (/** @type {Question} */ { project, from }) => known.past?.sessions.get(`${project}/${from}`);
  const found = open.map((question) => asked(question, find(question.project, question.from) ?? over(question)));
  const now = known.now();
  for (const sessions of [known.sessions, known.past?.sessions ?? new Map()]) {
    for (const session of sessions.values()) {
      const trouble = troubleOf(session, known);
      if (trouble && !muteOf(known.preferences, session, now)) found.push(trouble);
    }
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
  const told = last === undefined ? null : known.feed.get(last) ?? known.past?.notification(last);
  const of = { project, name, session };
  if (session.silent && !isOver(session)) {
    const ts = seen ?? since ?? '';
    return { ...of, key: `silent ${project}/${id} ${ts}`, kind: 'silent', ts, text: told?.msg ?? '', notification: told ?? undefined };
  }
  if (told?.type !== 'error' || told.seen) return null;
  return { ...of, key: `trouble ${told.id}`, kind: session.gone ? 'gone' : 'error', ts: told.ts, title: told.title, text: told.msg, notification: told };
}

/** What a hook's question says around the question: who asks is shown beside it. */
const ASKS = /^Agent .+? asks: ([^]*?)(?: \(hubctl answer \d+ "…"\))?$/;
const WANTS = /^Agent .+? needs a permission(?:: ([^]*))?$/;

/**
 * The text of a question, without what the page says in another place.
 *
 * @param {Pick<Notification, 'type'|'msg'|'data'>} question
 * @returns {string}
 */
export function textOf({ type, msg, data }) {
  if (data?.via !== 'hook' || (type !== 'approval' && type !== 'question')) return msg;
  const match = (type === 'approval' ? WANTS : ASKS).exec(msg);
  return match ? match[1] ?? 'It needs a permission.' : msg;
}

/**
 * Who settled a question, and how, in a sentence; it is said aloud.
 *
 * @param {string} name the session that asked
 * @param {Question} [question] as it is now
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
