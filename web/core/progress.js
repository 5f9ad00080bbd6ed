/** The progress that a session reports. */

/** @typedef {{value: number, max: number, text: string}} Progress */

/**
 * The progress from `completed` and `total` in a notification's data; null if they cannot be drawn.
 *
 * @param {Pick<import('./types.js').Notification, 'type'|'data'>|null|undefined} notification
 * @returns {Progress|null}
 */
export function progressOf(notification) {
  if (notification?.type !== "progress") return null;
  const { completed, total } = Object(notification.data);
  if (!isCount(completed) || !isCount(total) || total === 0) return null;
  return {
    value: Math.min(completed, total),
    max: total,
    text: `${round(completed)} of ${round(total)}`,
  };
}

/** @param {unknown} it */
function isCount(it) {
  return typeof it === "number" && Number.isFinite(it) && it >= 0;
}

/** @param {number} it */
function round(it) {
  return String(Math.round(it * 10) / 10);
}
