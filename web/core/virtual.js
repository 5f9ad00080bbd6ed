/** The visible rows of a long list. All rows have the same height, so no row is measured. */

/** The maximum of drawn rows: enough for the tallest screens, and a bound if the page's height is wrong. */
export const MAX_ROWS = 240;
/** Rows drawn beyond each edge, so that scrolling shows no gap before the next drawing. */
export const OVERSCAN = 8;

/**
 * @typedef {object} Viewport
 * @property {number} top px scrolled
 * @property {number} height px of the visible part of the list
 * @property {number} row px of one row
 * @property {number} count of all rows
 */

/**
 * The rows to draw.
 *
 * @param {Viewport} viewport
 * @param {number} [most] rows beyond each edge
 * @returns {{first: number, last: number}} `last` is exclusive
 */
export function visibleRange({ top, height, row, count }, most = OVERSCAN) {
  const seen = Math.min(Math.ceil(height / row) + 1, MAX_ROWS);
  const beyond = Math.min(most, Math.floor((MAX_ROWS - seen) / 2));
  const at = Math.floor(Math.max(top, 0) / row);
  const first = clamp(at - beyond, 0, count);
  return { first, last: clamp(at + seen + beyond, first, count) };
}

/**
 * The scroll position at which a row is fully visible, with the least movement.
 *
 * @param {Viewport} viewport
 * @param {number} index
 * @returns {number} px
 */
export function scrollTopToReveal({ top, height, row, count }, index) {
  const at = clamp(index, 0, count - 1) * row;
  return clamp(top, Math.max(0, at + row - height), at);
}

/**
 * The scroll position after rows were added or removed, at which the row being read keeps its place. At the very top
 * the list does not keep it, because a reader there waits for new rows.
 *
 * @param {number} top px scrolled
 * @param {number} row px of one row
 * @param {number} was the former index of a visible row
 * @param {number} is its index now
 * @param {boolean} reading whether to keep the place at the top too
 * @returns {number} px
 */
export function anchoredScrollTop(top, row, was, is, reading) {
  return top <= 0 && !reading ? 0 : Math.max(0, top + (is - was) * row);
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
function clamp(value, least, most) {
  return Math.max(least, Math.min(value, most));
}
