/** Chooses what to show outside the page: browser notifications, the title, the icon and sounds. */

import { isOpen } from "./attention.js";
import { projectName } from "./sessions.js";
import { showDirection } from "./tool.js";

/** @import { Need, Preferences, Schemas } from './types.js' */

/**
 * @typedef {Schemas['Alert']} Alert
 *
 * @typedef {object} Call a reason to call the person
 * @property {string} tag the same as long as its need exists
 * @property {Alert|null} state null for an urgent one, which alerts whatever the person has chosen
 * @property {boolean} silenced whether it must not call the person now
 * @property {number|null} id the notification to open
 * @property {string} ts
 * @property {boolean} urgent
 * @property {string} title
 * @property {string} body
 * @property {Answer[]} answers that can be given without opening the page
 *
 * @typedef {{action: string, title: string, answer: Schemas['Answer']}} Answer
 */

/** The states that alert, most important first. @type {readonly {state: Alert, name: string, text: string}[]} */
export const ALERTS = [
  {
    state: "needs_you",
    name: "Needs you",
    text: "an agent asks a question or for a permission",
  },
  {
    state: "blocked",
    name: "Blocked",
    text: "an agent failed, died or fell silent",
  },
  { state: "your_turn", name: "Your turn", text: "an agent has stopped" },
];

/** The alerts of the switch on the page. @type {Alert[]} */
export const DEFAULT_ALERTS = ["needs_you", "blocked"];

/** The number of simultaneous calls that are shown one by one; the others are only counted. */
const MAX_ALERTS = 4;
/** Browsers show two actions. */
const MAX_ACTIONS = 2;

/**
 * The reasons to call the person.
 *
 * @param {Need[]} needs
 * @param {boolean} [onlyReads] whether this device gives no answers
 * @returns {Call[]}
 */
export function callsOf(needs, onlyReads = false) {
  const calls = needs.filter(isOpen).map(callOf);
  return onlyReads ? calls.map((call) => ({ ...call, answers: [] })) : calls;
}

/** @param {Need} need @returns {Call} */
function callOf({
  id,
  alert,
  silenced,
  notification,
  since,
  project,
  name,
  priority,
  title,
  brief,
  quick = [],
}) {
  const answers =
    quick.length > MAX_ACTIONS
      ? []
      : quick.map(({ label, answer }, at) => ({
          action: `answer-${at}`,
          title: label,
          answer,
        }));
  return {
    tag: id,
    state: alert ?? null,
    silenced: silenced !== undefined,
    id: notification ?? null,
    ts: since,
    urgent: priority === "urgent",
    title: titleOf(name, title, project),
    body: brief,
    answers,
  };
}

/** @param {string} name @param {string} verb @param {string} project */
function titleOf(name, verb, project) {
  return `${name} ${verb}${project === "default" ? "" : `, ${projectName(project)}`}`;
}

/**
 * Selects the calls to show outside the page, most urgent first, and one sound for all of them. It leaves out states that the
 * preferences do not name.
 *
 * @param {Preferences} preferences
 * @param {Call[]} calls
 * @returns {{show: Call[], more: number, sound: Alert|null}}
 */
export function selectAlerts(preferences, calls) {
  const allowed = calls.filter(({ silenced }) => !silenced).sort(byUrgency);
  const wanted = (/** @type {Alert[]} */ states) =>
    allowed.filter(({ state }) =>
      state ? states.includes(state) : states.length > 0,
    );
  const show = wanted(preferences.notify);
  const [loudest] = wanted(preferences.sound);
  // A single remaining one is shown itself, because its count would need the same space.
  const shown = show.length === MAX_ALERTS + 1 ? show.length : MAX_ALERTS;
  return {
    show: show.slice(0, shown),
    more: Math.max(0, show.length - shown),
    sound: loudest ? (loudest.state ?? "needs_you") : null,
  };
}

/** @param {Call} a @param {Call} b */
function byUrgency(a, b) {
  const rank = (/** @type {Call} */ { state, urgent }) =>
    urgent ? -1 : ALERTS.findIndex((alert) => alert.state === state);
  return rank(a) - rank(b) || Date.parse(a.ts) - Date.parse(b.ts);
}

/**
 * The title and options of a browser notification. Its tag is that of the need, so the browser never shows it twice.
 * Questions and approvals stay visible until the person acts.
 *
 * @param {Call} call
 */
export function alertFor({ tag, state, id, title, body, answers }) {
  const actions =
    answers.length > 0
      ? answers.map(({ action, title: text }) => ({
          action,
          title: showDirection(text),
        }))
      : [{ action: "open", title: "Open" }];
  const data = {
    id,
    answers: Object.fromEntries(
      answers.map(({ action, title: label, answer }) => [
        action,
        { label, answer },
      ]),
    ),
  };
  return {
    title: showDirection(title),
    options: {
      tag,
      body: showDirection(body),
      data,
      actions,
      icon: ICON,
      badge: ICON,
      silent: true,
      renotify: false,
      requireInteraction: state === "needs_you",
    },
  };
}

const ICON = "/assets/icon-192.png";

/**
 * The browser notification that stands for the needs that are not shown one by one.
 *
 * @param {number} more
 */
export function alertForRest(more) {
  return {
    title: `${more} more agents need you`,
    options: { tag: MORE, icon: ICON, silent: true, data: { id: null } },
  };
}

/** The tag of the notification that only counts. */
export const MORE = "more";

/**
 * The page's title.
 *
 * @param {number} count of items that need the person
 */
export function pageTitle(count) {
  return count ? `(${count}) hub` : "hub";
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
  if (connection === "signed-out") return connection;
  if (connection === "retrying") return "offline";
  if (kinds.includes("error") || kinds.includes("died")) return "error";
  return kinds.length > 0 ? "waiting" : "idle";
}

/** Fill colours: contrast 3:1 on light and dark tab strips, and 4.5:1 under white text. */
const FILLS = {
  idle: "#3f76d8",
  waiting: "#b35400",
  error: "#c62c24",
  offline: "#76706a",
  "signed-out": "#76706a",
};

/**
 * The page's icon as a data URL: a hub if the count is 0, else the count on the colour of the most serious state; a
 * question mark when nobody is signed in.
 *
 * @param {number} count
 * @param {IconState} state
 */
export function iconUrl(count, state) {
  const fill = FILLS[state];
  const text = state === "signed-out" ? "?" : count > 99 ? "99" : String(count);
  const picture =
    count || state === "signed-out"
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
  if (state === "needs_you")
    return [
      { hz: 587, at: 0, duration: 0.14 },
      { hz: 880, at: 0.13, duration: 0.24 },
    ];
  if (state === "blocked")
    return [
      { hz: 440, at: 0, duration: 0.16 },
      { hz: 330, at: 0.15, duration: 0.3 },
    ];
  return [{ hz: 659, at: 0, duration: 0.22 }];
}
