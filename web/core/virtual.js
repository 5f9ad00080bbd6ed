/** Which rows of a long list are in sight. Every row has the same height, so no row is ever measured. */

/** No more rows than this are ever drawn: what the highest screens show, and the end of a page that grew by mistake. */
export const MOST = 240;
/** Rows drawn beyond each edge, for the frames until the next drawing. */
export const BEYOND = 8;

/**
 * @typedef {object} Sight
 * @property {number} top px scrolled
 * @property {number} height px of the list that are seen
 * @property {number} row px of one row
 * @property {number} count of all rows
 */

/**
 * The rows to draw.
 *
 * @param {Sight} sight
 * @param {number} [most] rows beyond each edge
 * @returns {{first: number, last: number}} `last` is not drawn
 */
export function drawn({ top, height, row, count }, most = BEYOND) {
  const seen = Math.min(Math.ceil(height / row) + 1, MOST);
  const beyond = Math.min(most, Math.floor((MOST - seen) / 2));
  const at = Math.floor(Math.max(top, 0) / row);
  const first = clamp(at - beyond, 0, count);
  return { first, last: clamp(at + seen + beyond, first, count) };
}

/**
 * Where to scroll so that a row is seen whole, with as little movement as can be.
 *
 * @param {Sight} sight
 * @param {number} index
 * @returns {number} px
 */
export function revealed({ top, height, row, count }, index) {
  const at = clamp(index, 0, count - 1) * row;
  return clamp(top, Math.max(0, at + row - height), at);
}

/**
 * Where to scroll after rows came or went, so that what is being read stays where it is. At the very top nothing is kept:
 * there one waits for what is new.
 *
 * @param {number} top px scrolled
 * @param {number} row px of one row
 * @param {number} was the index of a row in sight
 * @param {number} is its index now
 * @param {boolean} reading whether the top is kept, too
 * @returns {number} px
 */
export function kept(top, row, was, is, reading) {
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
