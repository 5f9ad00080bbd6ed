/** Chooses what to show outside the page: browser notifications, the title, the icon and sounds. */

import { isOpenQuestion } from './attention.js';
import { isMuted } from './mutes.js';
import { isQuiet } from './quiet-hours.js';
import { projectName } from './sessions.js';
import { showDirection } from './tool.js';

/** @import { AttentionItem } from './attention.js' */
/** @import { Notification, Preferences, Priority, Question } from './types.js' */

/**
 * @typedef {import('./types.js').Schemas['Alert']} Alert
 *
 * @typedef {object} Need a reason to call the person
 * @property {string} tag the same as long as the need exists
 * @property {Alert|null} state null for an urgent notification, which alerts whatever the person has chosen
 * @property {number|null} id the notification to open
 * @property {string} ts
 * @property {string} project
 * @property {string} from
 * @property {string} [session] its id
 * @property {Priority} priority
 * @property {string} title
 * @property {string} body
 * @property {Answer[]} answers that can be given without opening the page
 *
 * @typedef {{action: string, title: string, answer: string}} Answer
 */

/** The states that alert, most important first. @type {readonly {state: Alert, name: string, text: string}[]} */
export const ALERTS = [
  { state: 'needs_you', name: 'Needs you', text: 'an agent asks a question or for a permission' },
  { state: 'blocked', name: 'Blocked', text: 'an agent failed, died or fell silent' },
  { state: 'your_turn', name: 'Your turn', text: 'an agent has stopped' },
];

/** The alerts of the switch on the page. @type {Alert[]} */
export const DEFAULT_ALERTS = ['needs_you', 'blocked'];

/** The number of simultaneous needs that are shown one by one; the others are only counted. */
const MAX_ALERTS = 4;
/** The number of characters, and of lines, that fit into a browser notification. */
const MAX_BODY = 240;
const MAX_LINES = 4;
/** Browsers show two actions. */
const MAX_ACTIONS = 2;

/**
 * The reasons to call the person; without those that a rule muted. An urgent message calls when it arrives.
 *
 * @param {AttentionItem[]} items
 * @returns {Need[]}
 */
export function needsOf(items) {
  return items.flatMap((item) => (item.need && item.kind !== 'urgent' && !item.need.muted_by ? [needOf(item, item.need)] : []));
}

/**
 * @param {AttentionItem} item
 * @param {import('./types.js').Need} need
 * @returns {Need}
 */
function needOf({ kind, ts, project, name, text, question }, { id, notification, session, priority, title }) {
  const body = question?.text ?? text;
  return {
    tag: id,
    state: question ? 'needs_you' : kind === 'turn' ? 'your_turn' : 'blocked',
    id: notification ?? null,
    ts,
    project,
    from: question?.from ?? name,
    session,
    priority,
    title: titleOf(name, title, project),
    body: truncate(body),
    answers: question ? answersTo(question, body) : [],
  };
}

/**
 * An urgent notification, as a reason to call the person.
 *
 * @param {Notification} notification
 * @returns {Need}
 */
export function urgentNeed({ id, ts, from, session, project, priority, title, msg }) {
  const body = truncate(title ? `${title}\n${msg}` : msg);
  return { tag: String(id), state: null, id, ts, project, from, session, priority, title: titleOf(from, 'sends an urgent message', project), body, answers: [] };
}

/** @param {string} name @param {string} verb @param {string} project */
function titleOf(name, verb, project) {
  return `${name} ${verb}${project === 'default' ? '' : `, ${projectName(project)}`}`;
}

/**
 * The answers that need nothing but what a browser notification shows: the whole request, drawn to its end.
 *
 * @param {Question} question
 * @param {string} body
 * @returns {Answer[]}
 */
function answersTo({ type, options = [], data, deliverable, complete }, body) {
  const { dialog } = /** @type {any} */ (Object(data));
  if (deliverable === false || !complete || !fits(body)) return [];
  if (type === 'approval') {
    if (dialog) return [];
    return [{ action: 'allow', title: 'Approve', answer: 'allow' }, { action: 'deny', title: 'Deny', answer: 'deny' }];
  }
  const questions = dialog?.tool_input?.questions;
  if (Array.isArray(questions) && (questions.length > 1 || questions[0]?.multiSelect)) return [];
  if (options.length > MAX_ACTIONS) return [];
  return options.map((option, index) => ({ action: `option-${index}`, title: option, answer: option }));
}

/**
 * Selects the needs to show outside the page, most urgent first, and one sound for all of them. It leaves out states
 * that the preferences do not name, and needs that quiet hours or mutes suppress.
 *
 * @param {Preferences} preferences
 * @param {Need[]} needs
 * @param {number} now ms
 * @returns {{show: Need[], more: number, sound: Alert|null}}
 */
export function selectAlerts(preferences, needs, now) {
  const allowed = needs.filter((need) => mayAlert(preferences, need, now)).sort(byUrgency);
  const wanted = (/** @type {Alert[]} */ states) => allowed.filter(({ state }) => (state ? states.includes(state) : states.length > 0));
  const show = wanted(preferences.notify);
  const [loudest] = wanted(preferences.sound);
  // A single remaining need is shown itself, because its count would need the same space.
  const shown = show.length === MAX_ALERTS + 1 ? show.length : MAX_ALERTS;
  return { show: show.slice(0, shown), more: Math.max(0, show.length - shown), sound: loudest ? loudest.state ?? 'needs_you' : null };
}

/**
 * Whether the need may disturb the person now. `urgent` always may.
 *
 * @param {Pick<Preferences, 'quiet'|'mutes'>} preferences
 * @param {Need} need
 * @param {number} now ms
 */
function mayAlert(preferences, need, now) {
  return need.priority === 'urgent' || !(isQuiet(preferences, now) || isMuted(preferences, need, now));
}

/** @param {Need} a @param {Need} b */
function byUrgency(a, b) {
  const rank = (/** @type {Need} */ { state, priority }) => (priority === 'urgent' ? -1 : ALERTS.findIndex((alert) => alert.state === state));
  return rank(a) - rank(b) || Date.parse(a.ts) - Date.parse(b.ts);
}

/**
 * The title and options of a browser notification. Its tag is that of the need, so the browser never shows it twice.
 * Questions and approvals stay visible until the person acts.
 *
 * @param {Need} need
 */
export function alertFor({ tag, state, id, title, body, answers }) {
  const actions = answers.length > 0 ? answers.map(({ action, title: text }) => ({ action, title: showDirection(text) })) : [{ action: 'open', title: 'Open' }];
  const data = { id, answers: Object.fromEntries(answers.map(({ action, answer }) => [action, answer])) };
  return { title: showDirection(title), options: { tag, body: showDirection(body), data, actions, icon: ICON, badge: ICON, silent: true, renotify: false, requireInteraction: state === 'needs_you' } };
}

const ICON = '/assets/icon-192.png';

/**
 * The browser notification that stands for the needs that are not shown one by one.
 *
 * @param {number} more
 */
export function alertForRest(more) {
  return { title: `${more} more agents need you`, options: { tag: MORE, icon: ICON, silent: true, data: { id: null } } };
}

/** The tag of the notification that only counts. */
export const MORE = 'more';

/** @param {string} text */
function fits(text) {
  return [...text].length <= MAX_BODY && text.split('\n').length <= MAX_LINES;
}

/** @param {string} text */
function truncate(text) {
  const letters = [...text];
  return letters.length > MAX_BODY ? `${letters.slice(0, MAX_BODY - 1).join('')}…` : text;
}

/**
 * The page's title.
 *
 * @param {number} count of items that need the person
 */
export function pageTitle(count) {
  return count ? `(${count}) hub` : 'hub';
}

/** The statuses in which a notification no longer needs the person. */
const SETTLED = /** @type {(string|undefined)[]} */ (['expired', 'superseded', 'withdrawn', 'answered']);

/**
 * Whether a notification no longer needs the person: it was seen, settled, or replaced.
 *
 * @param {Notification} [notification] as the page knows it
 * @param {import('./types.js').Question} [question] its question
 */
export function isSettled(notification, question) {
  if (question && !isOpenQuestion(question)) return true;
  return notification?.seen === true || SETTLED.includes(notification?.status);
}

/** @typedef {'idle'|'waiting'|'error'|'offline'|'signed-out'} IconState the state that the icon shows */

/**
 * The most serious state.
 *
 * @param {string[]} kinds of the items that count
 * @param {import('./types.js').ConnectionState} connection
 * @returns {IconState}
 */
export function iconState(kinds, connection) {
  if (connection === 'signed-out') return connection;
  if (connection === 'retrying') return 'offline';
  if (kinds.includes('error') || kinds.includes('died')) return 'error';
  return kinds.length > 0 ? 'waiting' : 'idle';
}

/** Fill colours: contrast 3:1 on light and dark tab strips, and 4.5:1 under white text. */
const FILLS = { idle: '#3f76d8', waiting: '#b35400', error: '#c62c24', offline: '#76706a', 'signed-out': '#76706a' };

/**
 * The page's icon as a data URL: a hub if the count is 0, else the count on the colour of the most serious state; a
 * question mark when nobody is signed in.
 *
 * @param {number} count
 * @param {IconState} state
 */
export function iconUrl(count, state) {
  const fill = FILLS[state];
  const text = state === 'signed-out' ? '?' : count > 99 ? '99' : String(count);
  const picture = count || state === 'signed-out'
    ? `<rect width="32" height="32" rx="9" fill="${fill}"/><text x="16" y="${text.length > 1 ? 23 : 24.5}" font-family="system-ui,sans-serif" ` +
      `font-size="${text.length > 1 ? 20 : 25}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text>`
    : `<circle cx="16" cy="16" r="5" fill="${fill}"/><path d="M16 8V4M16 28v-4M8 16H4M28 16h-4" stroke="#8d877c" stroke-width="2.5" ` +
      `stroke-linecap="round"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${picture}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** @typedef {{hz: number, at: number, duration: number}} Tone in seconds */

/**
 * The sound of a state: rising if an answer is needed, falling if an agent is blocked, one tone otherwise.
 *
 * @param {Alert} state
 * @returns {Tone[]}
 */
export function tones(state) {
  if (state === 'needs_you') return [{ hz: 587, at: 0, duration: 0.14 }, { hz: 880, at: 0.13, duration: 0.24 }];
  if (state === 'blocked') return [{ hz: 440, at: 0, duration: 0.16 }, { hz: 330, at: 0.15, duration: 0.3 }];
  return [{ hz: 659, at: 0, duration: 0.22 }];
}
