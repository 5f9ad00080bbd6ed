/** Quiet hours. */

/** @import { Preferences } from './types.js' */

/** @type {Map<string, Intl.DateTimeFormat|null>} */
const clocks = new Map();

/**
 * The local time of a zone in minutes since midnight; null for a zone that this browser does not know.
 *
 * @param {string} zone IANA name
 * @param {number} now ms
 * @returns {number|null}
 */
export function minuteOfDay(zone, now) {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    try {
      clock = new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        hour: "2-digit",
        minute: "2-digit",
        hourCycle: "h23",
      });
    } catch {
      clock = null;
    }
    clocks.set(zone, clock);
  }
  return clock && parseTimeOfDay(clock.format(now));
}

/**
 * `HH:MM` as minutes since midnight; null for anything else.
 *
 * @param {string} text
 * @returns {number|null}
 */
export function parseTimeOfDay(text) {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  return match ? Number(match[1]) * 60 + Number(match[2]) : null;
}

/**
 * Whether the quiet hours apply now: from `from` (inclusive) to `to` (exclusive), in the zone's local time, so that a
 * change to summer time does not shift them. If both ends are equal, there are no quiet hours. Invalid values silence
 * nothing.
 *
 * @param {Pick<Preferences, 'quiet'>} preferences
 * @param {number} now ms
 */
export function isQuiet(preferences, now) {
  const quiet = preferences.quiet;
  if (!quiet) return false;
  const at = minuteOfDay(quiet.zone, now);
  const from = parseTimeOfDay(quiet.from);
  const to = parseTimeOfDay(quiet.to);
  if (at === null || from === null || to === null) return false;
  return from <= to ? from <= at && at < to : from <= at || at < to;
}
