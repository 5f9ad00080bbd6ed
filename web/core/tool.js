/** An agent's tool request, complete and unaltered, because a person approves exactly the text shown here. */

/**
 * @typedef {{name: string, text: string}} Part
 * @typedef {{path: string, edits: {before: string, after: string, all: boolean}[]}} FileChange
 * @typedef {{tool: string, parts: Part[], change?: FileChange}} Request the parts are the fields that `change` does not show
 * @typedef {{text: string, hidden: boolean}} Segment
 */

/** The most informative fields, in the order in which they are shown first. */
const LEADING_FIELDS = ['command', 'cmd', 'file_path', 'filePath', 'path', 'url', 'pattern', 'description', 'prompt'];
const TOOL_FIELDS = ['tool_name', 'tool', 'toolName', 'type'];
const INPUT_FIELDS = ['tool_input', 'input', 'args', 'arguments'];

/**
 * The request from the data of an approval, in any agent's format or an unknown one; no field is left out.
 *
 * @param {unknown} data
 * @returns {Request|null}
 */
export function parseRequest(data) {
  const all = unwrap(data);
  if (all === null) return null;
  if (!isObject(all)) return { tool: '', parts: [{ name: '', text: valueText(all) }] };
  const { tool, input, rest } = splitInput(all);
  // The agent's suggested rules are no part of the request: a button of their own applies them.
  if (Array.isArray(rest.suggestions)) delete rest.suggestions;
  const { change, others } = isObject(input) ? fileChange(input) : { change: undefined, others: {} };
  const parts = input === undefined ? [] : isObject(input) ? partsOf(others) : [{ name: '', text: valueText(input) }];
  parts.push(...partsOf(rest));
  return tool || change || parts.length > 0 ? { tool, parts, ...(change && { change }) } : null;
}

/**
 * The change of a file that an input describes (Edit, Write, MultiEdit and their like), and the fields that are no part
 * of it.
 *
 * @param {Record<string, unknown>} input
 * @returns {{change?: FileChange, others: Record<string, unknown>}}
 */
function fileChange(input) {
  const { filePath, file_path: path = filePath, ...others } = input;
  if (typeof path !== 'string' || (filePath !== undefined && filePath !== path)) return { others: input };
  const one = editOf(others);
  if (one) return { change: { path, edits: [one.edit] }, others: one.others };
  if (typeof others.content === 'string') {
    const { content, ...more } = others;
    return { change: { path, edits: [{ before: '', after: content, all: false }] }, others: more };
  }
  const edits = Array.isArray(others.edits) ? others.edits.map((edit) => (isObject(edit) ? editOf(edit) : null)) : [];
  if (edits.length === 0 || !edits.every((edit) => edit && partsOf(edit.others).length === 0)) return { others: input };
  delete others.edits;
  return { change: { path, edits: edits.flatMap((it) => it?.edit ?? []) }, others };
}

/**
 * @param {Record<string, unknown>} from
 * @returns {{edit: FileChange['edits'][number], others: Record<string, unknown>}|null}
 */
function editOf(from) {
  const { oldString, newString, old_string: before = oldString, new_string: after = newString, replace_all: all, ...others } = from;
  // A field that contradicts another one must be shown.
  if ((oldString ?? before) !== before || (newString ?? after) !== after) return null;
  if (typeof before !== 'string' || typeof after !== 'string' || !['boolean', 'undefined'].includes(typeof all)) return null;
  return { edit: { before, after, all: all === true }, others };
}

/**
 * Removes the wrapper that the hub's hook added: `{via, event, request}`.
 *
 * @param {unknown} data
 * @returns {unknown} null if there is nothing
 */
function unwrap(data) {
  const all = data ?? null;
  return isObject(all) && all.via === 'hook' ? (all.request ?? null) : all;
}

/** @param {Record<string, unknown>} all */
function splitInput(all) {
  const rest = { ...all };
  const toolKey = TOOL_FIELDS.find((key) => typeof rest[key] === 'string');
  const inputKey = INPUT_FIELDS.find((key) => rest[key] !== undefined && rest[key] !== null);
  const tool = toolKey ? String(rest[toolKey]) : '';
  const input = inputKey ? rest[inputKey] : undefined;
  if (toolKey) delete rest[toolKey];
  if (inputKey) delete rest[inputKey];
  return { tool, input, rest };
}

/**
 * @param {Record<string, unknown>} object
 * @returns {Part[]}
 */
function partsOf(object) {
  const rank = (/** @type {string} */ name) => (LEADING_FIELDS.includes(name) ? LEADING_FIELDS.indexOf(name) : LEADING_FIELDS.length);
  const names = Object.keys(object).filter((name) => object[name] !== undefined && object[name] !== null);
  return names.sort((a, b) => rank(a) - rank(b)).map((name) => ({ name, text: valueText(object[name]) }));
}

/**
 * A text as it is, other data as JSON that people can read.
 *
 * @param {unknown} value
 */
export function valueText(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/**
 * @param {unknown} it
 * @returns {it is Record<string, unknown>}
 */
function isObject(it) {
  return typeof it === 'object' && it !== null && !Array.isArray(it);
}

/**
 * Characters that are invisible or that move others: controls except tab and line feed, Unicode's format characters,
 * variation selectors, fillers, tags. A command that contains them differs from what a person sees. The table is that of
 * `hub_protocol::is_hidden`: `tests/fixtures/hidden.json`.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/**
 * Splits a text into pieces and shows hidden characters by their code point.
 *
 * @param {string} text
 * @returns {Segment[]}
 */
export function splitHidden(text) {
  /** @type {Segment[]} */
  const found = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) found.push({ text: text.slice(end, match.index), hidden: false });
    found.push({ text: codePoint(match[0]), hidden: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end), hidden: false });
  return found;
}

/** Characters that change the direction of the text around them. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text in which direction marks are shown by their code points instead of taking effect.
 *
 * @param {string} text
 */
export function showDirection(text) {
  return text.replace(DIRECTION, (char) => `[${codePoint(char)}]`);
}

/** @param {string} char */
function codePoint(char) {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
