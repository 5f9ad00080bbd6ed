/** The keyboard shortcuts, for the help and for the page's key handlers. Each key has one meaning on the whole page. */

/**
 * @typedef {object} Key
 * @property {string} id of the action, for the page
 * @property {string[]} keys that trigger it, as {@link keyName} names them
 * @property {string} label its description, for the person
 * @property {'Everywhere'|'Lists'|'Queue'|'Feed'} scope the part of the page that has it
 * @property {string[]} [shown] in the help, instead of the keys
 */

/** @type {readonly Key[]} */
export const KEYS = [
  { id: "help", keys: ["?"], label: "Show this help", scope: "Everywhere" },
  { id: "search", keys: ["/"], label: "Search the feed", scope: "Everywhere" },
  {
    id: "view",
    keys: ["v"],
    label: "Then q, a, f or t: go to Queue, Agents, Feed or Time",
    scope: "Everywhere",
  },
  {
    id: "pane",
    keys: ["g"],
    label: "Go to the tmux pane of the session",
    scope: "Everywhere",
  },
  {
    id: "settings",
    keys: [","],
    label: "Open the settings",
    scope: "Everywhere",
  },
  {
    id: "undo",
    keys: ["u"],
    label: "Undo the last answer or change",
    scope: "Everywhere",
  },
  {
    id: "close",
    keys: ["Escape"],
    label: "Close the dialog or the details",
    scope: "Everywhere",
  },
  { id: "down", keys: ["j", "ArrowDown"], label: "Next", scope: "Lists" },
  { id: "up", keys: ["k", "ArrowUp"], label: "Previous", scope: "Lists" },
  {
    id: "enter",
    keys: ["Enter"],
    label: "Send the answer; in a list, open the row",
    scope: "Lists",
  },
  { id: "reply", keys: ["r"], label: "Write a reply", scope: "Lists" },
  { id: "approve", keys: ["a"], label: "Approve", scope: "Queue" },
  {
    id: "always",
    keys: ["Shift+A"],
    label: "Approve, and from now on what the button says",
    scope: "Queue",
  },
  {
    id: "mark",
    keys: ["x"],
    label: "Mark this permission, to approve several together",
    scope: "Queue",
  },
  {
    id: "approve-marked",
    keys: ["Shift+X"],
    label: "Approve what is marked",
    scope: "Queue",
  },
  {
    id: "deny",
    keys: ["d"],
    label: "Deny: type a reason, then press Enter",
    scope: "Queue",
  },
  {
    id: "option",
    keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    shown: ["1", "9"],
    label: "Choose that option",
    scope: "Queue",
  },
  {
    id: "done",
    keys: ["e"],
    label: "Done: it needs nothing until it reports again",
    scope: "Queue",
  },
  { id: "snooze", keys: ["m"], label: "Snooze for an hour", scope: "Queue" },
  { id: "seen", keys: ["s"], label: "Mark as read or unread", scope: "Feed" },
  { id: "all-seen", keys: ["Shift+S"], label: "Mark all read", scope: "Feed" },
];

/** @type {Record<string, string>} */
const NAMES = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" };

/**
 * The key caps of a shortcut: one for each key that is held.
 *
 * @param {string} key
 * @returns {string[]}
 */
export function caps(key) {
  return key.split("+").map((part) => NAMES[part] ?? part);
}

/**
 * The name of the pressed key. Shift is named only for letters, because the position of `?` and `/` differs between
 * keyboards.
 *
 * @param {Pick<KeyboardEvent, 'key'|'shiftKey'>} event
 */
export function keyName(event) {
  return event.shiftKey && /^\p{L}$/u.test(event.key)
    ? `Shift+${event.key.toUpperCase()}`
    : event.key;
}

/** Whether a key belongs to the browser. @param {Pick<KeyboardEvent, 'ctrlKey'|'metaKey'|'altKey'>} event */
export function isBrowserKey({ ctrlKey, metaKey, altKey }) {
  return ctrlKey || metaKey || altKey;
}

/**
 * The id of a key's action; null for a key without one, or a key that belongs to the browser or to a field.
 *
 * @param {Pick<KeyboardEvent, 'key'|'shiftKey'|'ctrlKey'|'metaKey'|'altKey'>} event
 * @param {boolean} typing whether the focus is in a field that takes text
 * @returns {string|null}
 */
export function actionOf(event, typing) {
  if (isBrowserKey(event)) return null;
  const name = keyName(event);
  if (typing && name !== "Escape") return null;
  return KEYS.find((key) => key.keys.includes(name))?.id ?? null;
}
