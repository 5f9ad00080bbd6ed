/** Mutes: the projects and sessions that must not disturb the person, and until when. */

import { isLive } from './quiet.js';

/**
 * @typedef {import('./types.js').Mute} Mute
 * @typedef {import('./types.js').Preferences} Preferences
 * @typedef {{project: string, id: string}} Target
 * @typedef {'hour'|'tomorrow'|'good'} Span
 */

/** The hour at which a mute until tomorrow ends. */
const MORNING = 7;

/** The durations of a mute that can be chosen. @type {readonly {span: Span, text: string}[]} */
export const SPANS = [
  { span: 'hour', text: 'for 1 h' },
  { span: 'tomorrow', text: `until tomorrow, ${MORNING}:00` },
  { span: 'good', text: 'for good' },
];

/**
 * The end of a mute that begins now, in the reader's time zone; undefined for no end.
 *
 * @param {Span} span
 * @param {number} now ms
 * @returns {string|undefined}
 */
export function endOf(span, now) {
  if (span === 'good') return undefined;
  const end = new Date(now);
  if (span === 'hour') end.setTime(now + 3_600_000);
  else end.setHours(24 + MORNING, 0, 0, 0);
  return end.toISOString();
}

/**
 * The mute that applies to a session: its own, or its project's.
 *
 * @param {Pick<Preferences, 'mutes'>} preferences
 * @param {Target} target
 * @param {number} now ms
 * @returns {Mute|undefined}
 */
export function muteOf({ mutes }, { project, id }, now) {
  const live = mutes.filter((mute) => mute.project === project && isLive(mute, now));
  return live.find((mute) => mute.session === id) ?? live.find((mute) => !mute.session);
}

/**
 * The preferences with this session muted, without expired mutes.
 *
 * @param {Preferences} preferences
 * @param {Target} target
 * @param {Span} span
 * @param {number} now ms
 * @returns {Preferences}
 */
export function muted(preferences, target, span, now) {
  const until = endOf(span, now);
  const mute = { project: target.project, session: target.id, ...(until && { until }) };
  const { mutes } = unmuted(preferences, target, now);
  return { ...preferences, mutes: [...mutes, mute] };
}

/**
 * The preferences without this session's own mute, and without expired mutes.
 *
 * @param {Preferences} preferences
 * @param {Target} target
 * @param {number} now ms
 * @returns {Preferences}
 */
export function unmuted(preferences, { project, id }, now) {
  const others = preferences.mutes.filter((mute) => !(mute.project === project && mute.session === id) && isLive(mute, now));
  return { ...preferences, mutes: others };
}
