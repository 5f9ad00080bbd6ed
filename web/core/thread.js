/** The sender of a notification, and the thread that it belongs to. */

/** @import { Notification } from './types.js' */

/** The sender's name, as people know it. @param {Notification} notification */
export function senderName(notification) {
  return notification.from_name ?? notification.from;
}

/**
 * The thread of a notification: from its first notification to the last known one, oldest first.
 *
 * @param {Notification} notification
 * @param {{get: (id: number) => Notification|undefined, replies: (id: number) => Notification[]}} known
 * @returns {Notification[]}
 */
export function thread(notification, known) {
  const found = new Map([[notification.id, notification]]);
  for (
    let at = notification;
    at.reply_to !== undefined && !found.has(at.reply_to);
  ) {
    const before = known.get(at.reply_to);
    if (!before) break;
    found.set(before.id, before);
    at = before;
  }
  const open = [...found.keys()];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const reply of known.replies(id)) {
      if (found.has(reply.id)) continue;
      found.set(reply.id, reply);
      open.push(reply.id);
    }
  }
  return [...found.values()].sort((one, other) => one.id - other.id);
}
