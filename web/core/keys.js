/** The keyboard shortcuts, for the help and for the page's key handler. */

/**
 * @typedef {object} Key
 * @property {string} id of the action, for the page
 * @property {string[]} keys that trigger it, as {@link keyName} names them
 * @property {string} label its description, for the person
 * @property {'Everywhere'|'Needs you'|'Feed'} scope
 * @property {string[]} [shown] in the help, instead of the keys
 */

/** @type {readonly Key[]} */
export const KEYS = [
  { id: 'help', keys: ['?'], label: 'Show this help', scope: 'Everywhere' },
  { id: 'search', keys: ['/'], label: 'Search the feed', scope: 'Everywhere' },
  { id: 'needs', keys: ['n'], label: 'Go to Needs you', scope: 'Everywhere' },
  { id: 'sessions', keys: ['g'], label: 'Go to Agents', scope: 'Everywhere' },
  { id: 'feed', keys: ['f'], label: 'Go to Feed', scope: 'Everywhere' },
  { id: 'stats', keys: ['t'], label: 'Go to Time', scope: 'Everywhere' },
  { id: 'settings', keys: [','], label: 'Open the settings', scope: 'Everywhere' },
  { id: 'undo', keys: ['u'], label: 'Undo the last change', scope: 'Everywhere' },
  { id: 'close', keys: ['Escape'], label: 'Close the dialog or the details', scope: 'Everywhere' },
  { id: 'down', keys: ['j'], label: 'Next card', scope: 'Needs you' },
  { id: 'up', keys: ['k'], label: 'Previous card', scope: 'Needs you' },
  { id: 'approve', keys: ['a'], label: 'Approve', scope: 'Needs you' },
  { id: 'deny', keys: ['d'], label: 'Deny: type a reason, then press Enter', scope: 'Needs you' },
  { id: 'option', keys: ['1', '2', '3', '4', '5', '6', '7', '8', '9'], shown: ['1', '9'], label: 'Choose that option', scope: 'Needs you' },
  { id: 'send', keys: ['Enter'], label: 'Send the answer, at once if it is held back', scope: 'Needs you' },
  { id: 'done', keys: ['e'], label: 'Done: it needs nothing until it reports again', scope: 'Needs you' },
  { id: 'snooze', keys: ['m'], label: 'Snooze for an hour', scope: 'Needs you' },
  { id: 'down', keys: ['j', 'ArrowDown'], label: 'Next', scope: 'Feed' },
  { id: 'up', keys: ['k', 'ArrowUp'], label: 'Previous', scope: 'Feed' },
  { id: 'open', keys: ['Enter'], label: 'Show details', scope: 'Feed' },
  { id: 'seen', keys: ['e'], label: 'Mark as read or unread', scope: 'Feed' },
  { id: 'all-seen', keys: ['Shift+E'], label: 'Mark all read', scope: 'Feed' },
  { id: 'reply', keys: ['r'], label: 'Reply', scope: 'Feed' },
];

/** @type {Record<string, string>} */
const NAMES = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' };

/**
 * The key caps of a shortcut: one for each key that is held.
 *
 * @param {string} key
 * @returns {string[]}
 */
export function caps(key) {
  return key.split('+').map((part) => NAMES[part] ?? part);
}

/**
 * The name of the pressed key. Shift is named only for letters, because the position of `?` and `/` differs between
 * keyboards.
 *
 * @param {Pick<KeyboardEvent, 'key'|'shiftKey'>} event
 */
export function keyName(event) {
  return event.shiftKey && /^\p{L}$/u.test(event.key) ? `Shift+${event.key.toUpperCase()}` : event.key;
}

/**
 * The id of a key's action; null for a key without one, or a key that belongs to the browser or to a field.
 *
 * @param {Pick<KeyboardEvent, 'key'|'shiftKey'|'ctrlKey'|'metaKey'|'altKey'>} event
 * @param {boolean} typing whether the focus is in a field that takes text
 * @param {'Needs you'} [scope] the focus is in a part of the page that has keys of its own
 * @returns {string|null}
 */
export function actionOf(event, typing, scope) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const name = keyName(event);
  if (typing && name !== 'Escape') return null;
  return KEYS.find((key) => key.keys.includes(name) && (key.scope === 'Needs you') === (scope !== undefined))?.id ?? null;
}
