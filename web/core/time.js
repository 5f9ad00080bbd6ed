/** Times for people: relative and exact. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The format in which a `<time>` shows its distance from now. @typedef {'age'|'ago'|'left'} Form */

/**
 * A duration in the largest unit that fits at least once, rounded down.
 *
 * @param {number} ms
 * @returns {string} '12 s', '4 min', '3 h', '2 d'
 */
export function age(ms) {
  const span = Math.max(0, ms);
  if (span < MINUTE) return `${Math.floor(span / SECOND)} s`;
  if (span < HOUR) return `${Math.floor(span / MINUTE)} min`;
  if (span < DAY) return `${Math.floor(span / HOUR)} h`;
  return `${Math.floor(span / DAY)} d`;
}

/**
 * The exact time, in the reader's zone, with the zone's name.
 *
 * @param {string|number} ts RFC 3339, or ms
 * @param {string} [zone] IANA name, the reader's own when absent
 * @returns {string} 'Sun, 22 Nov 2026, 05:10:34 GMT+1', or '' if `ts` is invalid
 */
export function absolute(ts, zone) {
  const at = new Date(ts);
  return Number.isNaN(at.getTime()) ? "" : format(zone).format(at);
}

/** @type {Map<string|undefined, Intl.DateTimeFormat>} Creating one costs more than a hundred uses. */
const formats = new Map();

/** @param {string} [zone] */
function format(zone) {
  let made = formats.get(zone);
  if (!made) {
    made = new Intl.DateTimeFormat("en-GB", {
      weekday: "short",
      day: "numeric",
      month: "short",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "short",
      timeZone: zone,
    });
    formats.set(zone, made);
  }
  return made;
}

/**
 * The text of a time as seen from `now`.
 *
 * @param {string|number} ts
 * @param {number} now ms
 * @param {Form} [form] 'age': '4 min', 'ago': '4 min ago', 'left': '4 min left' or 'due'
 * @returns {string}
 */
export function relative(ts, now, form = "age") {
  const at = new Date(ts).getTime();
  if (Number.isNaN(at)) return "";
  if (form === "left") return at > now ? `${age(at - now)} left` : "due";
  return form === "ago" ? `${age(now - at)} ago` : age(now - at);
}

/**
 * A duration in whole seconds and at most two units, for texts that tick: `48 s`, `1 min 20 s`, `2 h 5 min`, `3 d 4 h`.
 *
 * @param {number} ms
 */
export function longDuration(ms) {
  const seconds = Math.max(0, Math.round(ms / SECOND));
  if (seconds < 60) return `${seconds} s`;
  const minute = Math.floor(seconds / 60);
  if (minute < 60) return pair(minute, "min", seconds % 60, "s");
  const hour = Math.floor(minute / 60);
  if (hour < 24) return pair(hour, "h", minute % 60, "min");
  return pair(Math.floor(hour / 24), "d", hour % 24, "h");
}

/**
 * @param {number} big
 * @param {string} unit
 * @param {number} small
 * @param {string} sub
 */
function pair(big, unit, small, sub) {
  return small ? `${big} ${unit} ${small} ${sub}` : `${big} ${unit}`;
}
