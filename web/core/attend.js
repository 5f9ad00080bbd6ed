/** What of the news disturbs the person, and how the page tells it outside its window. */

import { KINDS, PRIORITIES } from './types.js';
import { deserves } from './quiet.js';

/** @typedef {import('./types.js').Preferences} Preferences */
/** @typedef {import('./types.js').Notification} Notification */
/** @typedef {import('./types.js').Kind} Kind */

/** Of what comes at once, so many are shown one by one; the rest is counted. */
const SHOWN = 4;
/** Characters of a message that a browser notification has room for. */
const ROOM = 240;

/** What somebody did, as a title says it. @type {Record<Kind, string>} */
const DID = {
  question: 'asks',
  approval: 'asks for permission',
  error: 'has an error',
  waiting: 'waits',
  testing: 'wants a test',
  complete: 'is done',
  message: 'says',
  answer: 'answers',
  progress: 'goes on',
  ended: 'has ended',
};

/** Types as headings. @type {Record<Kind, string>} */
export const NAMES = {
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
 * What of the news is shown outside the page, and what is heard: the types asked for, less what quiet hours and mutes
 * hold back, less what the person said; the most urgent first; one sound for all.
 *
 * @param {Preferences} preferences
 * @param {Notification[]} news
 * @param {number} now ms
 * @returns {{show: Notification[], more: number, sound: Kind|null}}
 */
export function choose(preferences, news, now) {
  const fit = news.filter((it) => it.from !== 'person' && deserves(preferences, it, now)).sort(byWeight);
  const show = fit.filter(({ type }) => preferences.notify.includes(type));
  const sound = fit.find(({ type }) => preferences.sound.includes(type));
  // One that is left over takes no more room than its count would.
  const shown = show.length === SHOWN + 1 ? show.length : SHOWN;
  return { show: show.slice(0, shown), more: Math.max(0, show.length - shown), sound: sound?.type ?? null };
}

/**
 * @param {Notification} a
 * @param {Notification} b
 */
function byWeight(a, b) {
  return (
    PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) || KINDS.indexOf(a.type) - KINDS.indexOf(b.type) || a.id - b.id
  );
}

/**
 * A notification as the browser shows it. The tag is its id, so that nothing is ever shown twice; what must be answered
 * stays until it is.
 *
 * @param {Notification} notification
 * @returns {{title: string, options: NotificationOptions}}
 */
export function notice({ id, type, from, msg, title, project }) {
  const place = project === 'default' ? '' : project.replace(/\/+$/, '').replace(/^.*\//, '');
  return {
    title: `${from} ${DID[type] ?? 'says'}${place && `, ${place}`}`,
    options: {
      body: clip(title ? `${title}\n${msg}` : msg),
      tag: String(id),
      silent: true,
      requireInteraction: type === 'question' || type === 'approval',
    },
  };
}

/**
 * What stands for those that are not shown one by one.
 *
 * @param {number} more
 * @returns {{title: string, options: NotificationOptions}}
 */
export function rest(more) {
  return { title: `${more} more at the hub`, options: { tag: 'more', silent: true } };
}

/** @param {string} text */
function clip(text) {
  const letters = [...text];
  return letters.length > ROOM ? `${letters.slice(0, ROOM - 1).join('')}…` : text;
}

/**
 * The page's title.
 *
 * @param {number} count what needs the person
 */
export function title(count) {
  return count ? `(${count}) hub` : 'hub';
}

/** What ends a notification for the person, by its status. */
const FINAL = ['expired', 'superseded', 'withdrawn', 'answered'];

/**
 * Whether the person is not needed for it any more: seen, settled, or replaced.
 *
 * @param {Notification} [notification] as the page knows it
 * @param {import('./types.js').Question} [question] its question
 */
export function isOver(notification, question) {
  if (question && question.state !== 'open' && question.state !== 'claimed') return true;
  return notification?.seen === true || FINAL.includes(notification?.status ?? '');
}

/** @typedef {'calm'|'asks'|'error'|'away'} Mood what the icon tells */

/**
 * The worst of what is so.
 *
 * @param {string[]} kinds of what needs the person
 * @param {import('./types.js').ConnectionState} connection
 * @returns {Mood}
 */
export function mood(kinds, connection) {
  if (connection === 'retrying' || connection === 'stopped') return 'away';
  if (kinds.includes('error') || kinds.includes('gone')) return 'error';
  return kinds.length > 0 ? 'asks' : 'calm';
}

/** The fills have 3:1 on light and dark tab strips, and 4.5:1 under white. */
const FILLS = { calm: '#3f76d8', asks: '#b35400', error: '#c62c24', away: '#76706a' };

/**
 * The page's icon with the count on it, as a URL: a hub while nothing is there, else a number on the colour of the worst.
 *
 * @param {number} count
 * @param {Mood} mood
 */
export function icon(count, mood) {
  const fill = FILLS[mood];
  const text = count > 99 ? '99' : String(count);
  const picture = count
    ? `<rect width="32" height="32" rx="9" fill="${fill}"/><text x="16" y="${text.length > 1 ? 23 : 24.5}" font-family="system-ui,sans-serif" ` +
      `font-size="${text.length > 1 ? 20 : 25}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text>`
    : `<circle cx="16" cy="16" r="5" fill="${fill}"/><path d="M16 8V4M16 28v-4M8 16H4M28 16h-4" stroke="#8d877c" stroke-width="2.5" ` +
      `stroke-linecap="round"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${picture}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** @typedef {{hz: number, at: number, lasts: number}} Tone in seconds */

/**
 * The sound of a type: rising where an answer is wanted, falling for an error, one tone for the rest.
 *
 * @param {Kind} kind
 * @returns {Tone[]}
 */
export function tones(kind) {
  if (kind === 'question' || kind === 'approval') return [{ hz: 587, at: 0, lasts: 0.14 }, { hz: 880, at: 0.13, lasts: 0.24 }];
  if (kind === 'error') return [{ hz: 440, at: 0, lasts: 0.16 }, { hz: 330, at: 0.15, lasts: 0.3 }];
  return [{ hz: 659, at: 0, lasts: 0.22 }];
}
