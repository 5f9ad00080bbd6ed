/** The keyboard shortcuts, for the help and for the page's key handler. */

/**
 * @typedef {object} Key
 * @property {string} id of the action, for the page
 * @property {string[]} keys that trigger it, as {@link keyOf} names them
 * @property {string} what its description, for the person
 * @property {'Everywhere'|'Needs you'|'Feed'} where
 */

/** @type {readonly Key[]} */
export const KEYS = [
  { id: 'help', keys: ['?'], what: 'Show this help', where: 'Everywhere' },
  { id: 'search', keys: ['/'], what: 'Search the feed', where: 'Everywhere' },
  { id: 'needs', keys: ['1'], what: 'Go to Needs you', where: 'Everywhere' },
  { id: 'sessions', keys: ['2'], what: 'Go to Sessions', where: 'Everywhere' },
  { id: 'feed', keys: ['3'], what: 'Go to Feed', where: 'Everywhere' },
  { id: 'stats', keys: ['4'], what: 'Go to Pictures', where: 'Everywhere' },
  { id: 'settings', keys: [','], what: 'Open the settings', where: 'Everywhere' },
  { id: 'undo', keys: ['u'], what: 'Undo the last change', where: 'Everywhere' },
  { id: 'close', keys: ['Escape'], what: 'Close what is open', where: 'Everywhere' },
  { id: 'down', keys: ['j', 'ArrowDown'], what: 'Next', where: 'Feed' },
  { id: 'up', keys: ['k', 'ArrowUp'], what: 'Previous', where: 'Feed' },
  { id: 'open', keys: ['Enter'], what: 'Show details', where: 'Feed' },
  { id: 'seen', keys: ['e'], what: 'Mark seen, or not seen', where: 'Feed' },
  { id: 'all-seen', keys: ['Shift+E'], what: 'Mark all seen', where: 'Feed' },
  { id: 'reply', keys: ['r'], what: 'Reply', where: 'Feed' },
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
export function keyOf(event) {
  return event.shiftKey && /^\p{L}$/u.test(event.key) ? `Shift+${event.key.toUpperCase()}` : event.key;
}

/**
 * The id of a key's action; null for a key without one, or a key that belongs to the browser or to a field.
 *
 * @param {Pick<KeyboardEvent, 'key'|'shiftKey'|'ctrlKey'|'metaKey'|'altKey'>} event
 * @param {boolean} typing whether the focus is in a field that takes text
 * @returns {string|null}
 */
export function actionOf(event, typing) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const name = keyOf(event);
  if (typing && name !== 'Escape') return null;
  return KEYS.find((key) => key.keys.includes(name))?.id ?? null;
}
