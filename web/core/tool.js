/** Texts of agents, shown with every character that would hide something. */

/**
 * @typedef {{text: string, hidden: boolean}} Segment
 */

/**
 * A text as it is, other data as JSON that people can read.
 *
 * @param {unknown} value
 */
export function valueText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
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
    if (match.index > end)
      found.push({ text: text.slice(end, match.index), hidden: false });
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
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
