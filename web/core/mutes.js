/** Mutes: the projects, sessions and other senders that must not disturb the person, and until when. */

/** @import { Mute, Preferences } from './types.js' */

/**
 * @typedef {{project: string, id: string}} Target
 * @typedef {'hour'|'tomorrow'|'good'} Duration
 */

/** The hour at which a mute until tomorrow ends. */
const MORNING = 8;

/** The durations of a mute that can be chosen. @type {readonly {span: Duration, text: string}[]} */
export const DURATIONS = [
  { span: "hour", text: "for 1 h" },
  { span: "tomorrow", text: `until tomorrow, ${MORNING}:00` },
  { span: "good", text: "until unmuted" },
];

/**
 * The end of a mute that begins now, in the reader's time zone; undefined for no end.
 *
 * @param {Duration} span
 * @param {number} now ms
 * @returns {string|undefined}
 */
export function muteEnd(span, now) {
  if (span === "good") return undefined;
  const end = new Date(now);
  if (span === "hour") end.setTime(now + 3_600_000);
  else end.setHours(24 + MORNING, 0, 0, 0);
  return end.toISOString();
}

/**
 * Whether a mute is still active. A mute with an invalid end counts as expired.
 *
 * @param {Mute} mute
 * @param {number} now ms
 */
export function isActive(mute, now) {
  return mute.until === undefined || now < Date.parse(mute.until);
}

/**
 * The mute that applies to a session: its own, or its project's.
 *
 * @param {Pick<Preferences, 'mutes'>} preferences
 * @param {Target} target
 * @param {number} now ms
 * @returns {Mute|undefined}
 */
export function muteFor({ mutes }, { project, id }, now) {
  const live = mutes.filter(
    (mute) => mute.project === project && isActive(mute, now),
  );
  return (
    live.find((mute) => mute.session === id) ??
    live.find((mute) => !mute.session)
  );
}

/**
 * The preferences with this session muted, without expired mutes.
 *
 * @param {Preferences} preferences
 * @param {Target} target
 * @param {Duration} span
 * @param {number} now ms
 * @returns {Preferences}
 */
export function withMute(preferences, target, span, now) {
  const until = muteEnd(span, now);
  const mute = {
    project: target.project,
    session: target.id,
    ...(until && { until }),
  };
  const { mutes } = withoutMute(preferences, target, now);
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
export function withoutMute(preferences, { project, id }, now) {
  const others = preferences.mutes.filter(
    (mute) =>
      !(mute.project === project && mute.session === id) && isActive(mute, now),
  );
  return { ...preferences, mutes: others };
}
