import assert from "node:assert/strict";
import { test } from "node:test";

import { thread } from "../../web/core/thread.js";

/** @typedef {import('../../web/core/types.js').Notification} Notification */

/**
 * @param {number} id
 * @param {number} [reply_to]
 * @returns {Notification}
 */
const notification = (id, reply_to) => ({
  id,
  ts: "",
  expires_at: "",
  from: "a",
  type: "message",
  msg: `m${id}`,
  project: "p",
  priority: "normal",
  ...(reply_to && { reply_to }),
});

/** @param {Notification[]} all */
const known = (all) => ({
  get: (/** @type {number} */ id) => all.find((one) => one.id === id),
  replies: (/** @type {number} */ id) =>
    all.filter((one) => one.reply_to === id),
});

test("a thread is the whole exchange, from any of its notifications", () => {
  const all = [
    notification(1),
    notification(2, 1),
    notification(3, 2),
    notification(4, 1),
    notification(5),
  ];
  for (const id of [1, 2, 3, 4]) {
    const found = thread(
      /** @type {Notification} */ (known(all).get(id)),
      known(all),
    );
    assert.deepEqual(
      found.map((one) => one.id),
      [1, 2, 3, 4],
    );
  }
  assert.deepEqual(
    thread(notification(5), known(all)).map((one) => one.id),
    [5],
  );
});

test("a circle of replies ends", () => {
  const all = [notification(1, 2), notification(2, 1)];
  assert.deepEqual(
    thread(all[0], known(all)).map((one) => one.id),
    [1, 2],
  );
});
