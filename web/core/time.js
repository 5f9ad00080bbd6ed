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

/** @type {Intl.DateTimeFormatOptions} */
const MINUTES = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
/** @type {Intl.DateTimeFormatOptions} */
const SECONDS = { ...MINUTES, second: "2-digit" };

/** A time of day, in the reader's zone: '05:10'. */
export const clockTime = formatter(MINUTES);
/** A time of day with its seconds: '05:10:34'. */
export const exactClockTime = formatter(SECONDS);
/** A day of this year: '22 Nov'. */
export const shortDate = formatter({ day: "numeric", month: "short" });
/** The exact time, with the zone's name: 'Sun, 22 Nov 2026, 05:10:34 GMT+1'. */
export const absolute = formatter({
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  ...SECONDS,
  timeZoneName: "short",
});

/**
 * A function that writes a time, given in RFC 3339 or in ms, in the reader's zone or in one with an IANA name. An invalid
 * time has no text.
 *
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {(ts: string|number, zone?: string) => string}
 */
function formatter(options) {
  /** @type {Map<string|undefined, Intl.DateTimeFormat>} Creating one costs more than a hundred uses. */
  const made = new Map();
  return (ts, zone) => {
    const at = new Date(ts);
    if (Number.isNaN(at.getTime())) return "";
    let format = made.get(zone);
    if (!format) {
      format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
      made.set(zone, format);
    }
    return format.format(at);
  };
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
