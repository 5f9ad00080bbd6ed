/** Chooses the notifications to show outside the page: browser notifications, the title, the icon and sounds. */

import { isOpenQuestion } from './attention.js';
import { isMuted } from './mutes.js';
import { isQuiet } from './quiet-hours.js';
import { projectName } from './sessions.js';
import { showDirection } from './tool.js';
import { KINDS, PRIORITIES } from './types.js';

/** @import { Kind, Notification, Preferences } from './types.js' */

/** The number of simultaneous notifications that are shown one by one; the others are only counted. */
const MAX_ALERTS = 4;
/** The number of characters of a message that fit into a browser notification. */
const MAX_BODY = 240;

/** A verb phrase for each type, for titles of browser notifications. @type {Record<Kind, string>} */
const VERBS = {
  question: 'asks',
  approval: 'asks for permission',
  error: 'has an error',
  waiting: 'waits',
  testing: 'asks for a test',
  complete: 'is done',
  message: 'sends a message',
  answer: 'answers',
  progress: 'reports progress',
  ended: 'has ended',
};

/** Types as headings. @type {Record<Kind, string>} */
export const KIND_NAMES = {
  question: 'Question',
  approval: 'Approval',
  error: 'Error',
  waiting: 'Waiting',
  testing: 'Testing',
  complete: 'Complete',
  message: 'Message',
  answer: 'Answer',
  progress: 'Progress',
  ended: 'Ended',
};

/**
 * Selects the notifications to show outside the page, most urgent first, and one sound for all of them. It leaves out
 * types that the preferences do not name, notifications that quiet hours or mutes suppress, and the person's own.
 *
 * @param {Preferences} preferences
 * @param {Notification[]} notifications
 * @param {number} now ms
 * @returns {{show: Notification[], more: number, sound: Kind|null}}
 */
export function selectAlerts(preferences, notifications, now) {
  const allowed = notifications.filter((it) => it.from !== 'person' && mayAlert(preferences, it, now)).sort(byUrgency);
  const show = allowed.filter(({ type }) => preferences.notify.includes(type));
  const sound = allowed.find(({ type }) => preferences.sound.includes(type));
  // A single remaining notification is shown itself, because its count would need the same space.
  const shown = show.length === MAX_ALERTS + 1 ? show.length : MAX_ALERTS;
  return { show: show.slice(0, shown), more: Math.max(0, show.length - shown), sound: sound?.type ?? null };
}

/**
 * Whether the notification may disturb the person now. `urgent` always may.
 *
 * @param {Pick<Preferences, 'quiet'|'mutes'>} preferences
 * @param {Pick<Notification, 'project'|'from'|'session'|'priority'>} notification
 * @param {number} now ms
 */
function mayAlert(preferences, notification, now) {
  return notification.priority === 'urgent' || !(isQuiet(preferences, now) || isMuted(preferences, notification, now));
}

/**
 * @param {Notification} a
 * @param {Notification} b
 */
function byUrgency(a, b) {
  return (
    PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) || KINDS.indexOf(a.type) - KINDS.indexOf(b.type) || a.id - b.id
  );
}

/**
 * The title and options of a browser notification. Its tag is the notification's id, so the browser never shows it
 * twice. Questions and approvals stay visible until the person acts.
 *
 * @param {Notification} notification
 * @returns {{title: string, options: NotificationOptions}}
 */
export function alertFor({ id, type, from, msg, title, project }) {
  const place = project === 'default' ? '' : `, ${projectName(project)}`;
  return {
    title: showDirection(`${from} ${VERBS[type] ?? VERBS.message}${place}`),
    options: {
      body: showDirection(truncate(title ? `${title}\n${msg}` : msg)),
      tag: String(id),
      silent: true,
      requireInteraction: type === 'question' || type === 'approval',
    },
  };
}

/**
 * The browser notification that stands for those that are not shown one by one.
 *
 * @param {number} more
 * @returns {{title: string, options: NotificationOptions}}
 */
export function alertForRest(more) {
  return { title: `${more} more notifications`, options: { tag: 'more', silent: true } };
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

/** @typedef {'idle'|'waiting'|'error'|'offline'} IconState the state that the icon shows */

/**
 * The most serious state.
 *
 * @param {string[]} kinds of the items that need the person
 * @param {import('./types.js').ConnectionState} connection
 * @returns {IconState}
 */
export function iconState(kinds, connection) {
  if (connection === 'retrying') return 'offline';
  if (kinds.includes('error') || kinds.includes('gone')) return 'error';
  return kinds.length > 0 ? 'waiting' : 'idle';
}

/** Fill colours: contrast 3:1 on light and dark tab strips, and 4.5:1 under white text. */
const FILLS = { idle: '#3f76d8', waiting: '#b35400', error: '#c62c24', offline: '#76706a' };

/**
 * The page's icon as a data URL: a hub if the count is 0, else the count on the colour of the most serious state.
 *
 * @param {number} count
 * @param {IconState} state
 */
export function iconUrl(count, state) {
  const fill = FILLS[state];
  const text = count > 99 ? '99' : String(count);
  const picture = count
    ? `<rect width="32" height="32" rx="9" fill="${fill}"/><text x="16" y="${text.length > 1 ? 23 : 24.5}" font-family="system-ui,sans-serif" ` +
      `font-size="${text.length > 1 ? 20 : 25}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text>`
    : `<circle cx="16" cy="16" r="5" fill="${fill}"/><path d="M16 8V4M16 28v-4M8 16H4M28 16h-4" stroke="#8d877c" stroke-width="2.5" ` +
      `stroke-linecap="round"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${picture}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** @typedef {{hz: number, at: number, duration: number}} Tone in seconds */

/**
 * The sound of a type: rising if an answer is needed, falling for an error, one tone for all others.
 *
 * @param {Kind} kind
 * @returns {Tone[]}
 */
export function tones(kind) {
  if (kind === 'question' || kind === 'approval') return [{ hz: 587, at: 0, duration: 0.14 }, { hz: 880, at: 0.13, duration: 0.24 }];
  if (kind === 'error') return [{ hz: 440, at: 0, duration: 0.16 }, { hz: 330, at: 0.15, duration: 0.3 }];
  return [{ hz: 659, at: 0, duration: 0.22 }];
}
