/** An agent's tool request, complete and unaltered, because a person approves exactly the text shown here. */

/**
 * @typedef {{name: string, text: string}} Part
 * @typedef {{tool: string, parts: Part[]}} Request
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
  const parts = input === undefined ? [] : isObject(input) ? partsOf(input) : [{ name: '', text: valueText(input) }];
  parts.push(...partsOf(rest));
  return tool || parts.length > 0 ? { tool, parts } : null;
}

/**
 * Removes the wrapper that the hub's hook added: `{via, event, request}`, or opencode's `{permission}`.
 *
 * @param {unknown} data
 * @returns {unknown} null if there is nothing
 */
function unwrap(data) {
  let all = data ?? null;
  if (isObject(all) && all.via === 'hook') all = all.request ?? null;
  if (isObject(all) && isObject(all.permission) && Object.keys(all).length === 1) all = all.permission;
  return all;
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
 * Characters that are invisible or that move others: controls except tab and line feed, direction marks, zero-width
 * characters, separators, tags. A command that contains them differs from what a person sees.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;

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

/** @param {string} char */
function codePoint(char) {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
