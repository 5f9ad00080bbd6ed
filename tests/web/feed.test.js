import assert from "node:assert/strict";
import { test } from "node:test";
import { Feed } from "../../web/core/feed.js";
import { matches } from "../../web/core/filter.js";
import {
  answerOf,
  counts,
  endOf,
  leadOf,
  others,
} from "../../web/core/rows.js";

/** @typedef {import('../../web/core/types.js').Notification} Notification */

/**
 * @param {number} id
 * @param {Partial<Notification>} [more]
 * @returns {Notification}
 */
const notification = (id, more = {}) => ({
  id,
  ts: "2026-11-22T05:00:00.000Z",
  from: "worker",
  type: "message",
  msg: `message ${id}`,
  project: "default",
  priority: "normal",
  expires_at: "2026-11-29T05:00:00.000Z",
  ...more,
});

/** @param {Feed} feed @param {import('../../web/core/filter.js').Filter} [filter] */
const shown = (feed, filter) =>
  [...feed.rows(filter)].map((row) => row.items.map(({ id }) => id).join("+"));

/** @param {number} seed */
function chance(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The key that a notification shares with the others of its row. @param {Notification} item */
const sharedBy = ({
  id,
  type,
  key,
  project,
  from,
  to,
  reply_to,
  turn,
  repeats,
}) =>
  type === "question"
    ? [`q ${id}`, `q ${repeats ?? id}`]
    : type === "answer" && reply_to
      ? [`q ${reply_to}`]
      : turn && type !== "message" && type !== "answer"
        ? [`turn ${turn}`]
        : key
          ? [`${key} ${project} ${from} ${to}`]
          : [];

/** Computes rows by definition, without increments. @param {Notification[]} all newest first */
function defined(all) {
  /** @type {{keys: string[], items: Notification[]}[]} */
  const rows = [];
  for (const item of all) {
    const keys = sharedBy(item);
    const last = rows.at(-1);
    const repeated =
      last &&
      last.keys.length === 0 &&
      keys.length === 0 &&
      ["msg", "from", "type", "project"].every(
        (part) =>
          last.items.at(-1)?.[/** @type {'msg'} */ (part)] ===
          item[/** @type {'msg'} */ (part)],
      );
    const row =
      rows.find((row) => row.keys.some((key) => keys.includes(key))) ??
      (repeated ? last : undefined);
    if (row) row.items.push(item);
    if (row) row.keys.push(...keys);
    else rows.push({ keys, items: [item] });
  }
  return rows.map((row) => row.items.map(({ id }) => id).join("+"));
}

test("the newest notification is first, in any order of arrival", () => {
  const feed = new Feed();
  feed.add([notification(5), notification(9)]);
  feed.add([notification(7)]);
  feed.add([notification(2), notification(3)]);
  assert.deepEqual(shown(feed), ["9", "7", "5", "3", "2"]);
  assert.deepEqual([feed.size, feed.newest, feed.oldest], [5, 9, 2]);
});

test("a duplicate is stored once, and updates its status", () => {
  const feed = new Feed();
  assert.equal(feed.add([notification(1)]).length, 1);
  assert.equal(feed.unseen, 1);
  assert.deepEqual(
    feed.add([notification(1, { status: "acked", seen: true })]),
    [],
  );
  assert.equal(feed.size, 1);
  assert.equal(feed.get(1)?.status, "acked");
});

test("history that was requested before a mark was changed does not undo the change", () => {
  const feed = new Feed();
  feed.add([notification(1, { seen: false }), notification(2, { seen: true })]);
  feed.markSeen({ ids: [1], seen: true });
  feed.markSeen({ ids: [2], seen: false });
  feed.add([notification(1, { seen: false }), notification(2, { seen: true })]);
  assert.deepEqual(
    [feed.get(1)?.seen, feed.get(2)?.seen, feed.unseen],
    [true, false, 1],
  );
});

test("a notification from the person arrives as read", () => {
  const feed = new Feed();
  feed.add([
    notification(1, { from: "person", type: "answer" }),
    notification(2),
  ]);
  assert.deepEqual([feed.get(1)?.seen, feed.unseen], [true, 1]);
});

test("marks are set in ranges", () => {
  const feed = new Feed();
  feed.add([1, 2, 3, 5, 6].map((id) => notification(id)));
  assert.deepEqual(
    feed.markSeen({
      ids: [],
      ranges: [
        [2, 3],
        [5, 5],
        [8, 9],
      ],
      seen: true,
    }),
    [5, 3, 2],
  );
  assert.equal(feed.unseen, 2);
});

test("a turn, as the hub says, is one row, with the newest in front", () => {
  const feed = new Feed();
  const of = (
    /** @type {number} */ id,
    /** @type {number} */ turn,
    /** @type {Partial<Notification>} */ more = {},
  ) => notification(id, { type: "progress", from: "w", turn, ...more });
  feed.add([
    of(1, 1),
    of(2, 1),
    notification(3, { from: "v" }),
    of(4, 1, { type: "waiting", key: "hook:waiting" }),
  ]);
  feed.add([
    of(5, 5),
    of(6, 5, { type: "waiting", key: "hook:waiting" }),
    of(7, 5, { from: "login" }),
    of(8, 5, { type: "message", key: "k" }),
  ]);
  assert.deepEqual(shown(feed), ["8", "7+6+5", "4+2+1", "3"]);
  assert.deepEqual([...feed.rows()].map(others), [
    "",
    "2 steps",
    "2 steps",
    "",
  ]);
  assert.equal(leadOf([...feed.rows()][2]).id, 4);
});

test("a question and its answer are one row, which shows the question", () => {
  const feed = new Feed();
  feed.add([
    notification(1, {
      type: "question",
      msg: "Drop it?",
      key: "hook:held_dialog",
    }),
    notification(2),
  ]);
  feed.add([
    notification(3, {
      type: "answer",
      from: "person",
      reply_to: 1,
      msg: "yes",
    }),
  ]);
  feed.add([
    notification(4, {
      type: "question",
      msg: "And this?",
      key: "hook:held_dialog",
    }),
  ]);
  assert.deepEqual(shown(feed), ["4", "3+1", "2"]);
  const [open, row] = feed.rows();
  assert.deepEqual(
    [leadOf(row).msg, answerOf(row)?.msg, others(row), answerOf(open)],
    ["Drop it?", "yes", "", undefined],
  );
});

test("an answer counts until the hub tells that its question ended otherwise", () => {
  const answer = notification(2, {
    type: "answer",
    from: "person",
    reply_to: 1,
  });
  const feed = new Feed();
  feed.add([notification(1, { type: "approval" }), answer]);
  const [row] = feed.rows();
  assert.equal(counts(row), false, "the hub has not told that it counts");
  feed.settleQuestion({ id: 1, answer: 2 });
  feed.applyDelivery({ ids: [2], state: "acked" });
  assert.deepEqual([counts(row), leadOf(row).delivery], [true, "taken"]);
  feed.settleQuestion({ id: 1, ended: "settled in its terminal" });
  assert.deepEqual(
    [counts(row), leadOf(row).delivery, leadOf(row).ended],
    [false, undefined, "settled in its terminal"],
  );
  // History tells it too.
  feed.add([notification(1, { type: "approval", answer: 2 })]);
  assert.equal(counts(row), true);
});

test("what its terminal settled was not withdrawn, as the hub says", () => {
  const ended = "settled in its terminal";
  const feed = new Feed();
  feed.add([
    notification(1, { type: "approval" }),
    notification(2, { type: "approval" }),
  ]);
  const ends = () => [1, 2].map((id) => endOf(feed.get(id) ?? {}));
  feed.applyDelivery({ ids: [1, 2], state: "withdrawn" });
  assert.deepEqual(ends(), ["withdrawn", "withdrawn"]);
  feed.settleQuestion({ id: 1, ended });
  feed.add([notification(2, { type: "approval", ended })]);
  assert.deepEqual(ends(), [ended, ended]);
});

test("the questions of two hooks of one dialog are one row, which shows the last one", () => {
  const all = [
    notification(1, { type: "question", from: "w", key: "hook:dialog" }),
    notification(2, {
      type: "question",
      from: "w",
      key: "hook:held_dialog",
      repeats: 1,
    }),
    notification(3, { type: "answer", from: "person", reply_to: 2 }),
  ];
  for (const order of [all, [...all].reverse()]) {
    const feed = new Feed();
    for (const one of order) {
      feed.addPage({}, { notifications: [one], next: one.id });
      feed.rows();
    }
    assert.deepEqual(shown(feed), ["3+2+1"]);
    const [row] = feed.rows();
    assert.deepEqual([leadOf(row).id, others(row)], [2, ""]);
  }
});

test("an answer has arrived once its asker acknowledges it", () => {
  const feed = new Feed();
  feed.addPage(
    {},
    {
      notifications: [
        notification(1, { type: "question", delivery: "stored" }),
        notification(2, { type: "answer", reply_to: 1 }),
      ],
      next: 1,
    },
  );
  feed.applyDelivery({ ids: [2], state: "emitted" });
  assert.equal(feed.get(1)?.delivery, "stored");
  feed.applyDelivery({ ids: [2], state: "acked" });
  assert.equal(feed.get(1)?.delivery, "taken");
});

test("adjacent repeats are one row, and another notification separates them", () => {
  const feed = new Feed();
  feed.add([
    notification(1, { msg: "a" }),
    notification(2, { msg: "a" }),
    notification(3, { msg: "b" }),
    notification(4, { msg: "a" }),
  ]);
  feed.add([notification(5, { msg: "a" })]);
  feed.add([notification(6, { msg: "a", from: "other" })]);
  assert.deepEqual(shown(feed), ["6", "5+4", "3", "2+1"]);
});

test("a notification hidden by a filter does not separate repeats", () => {
  const feed = new Feed();
  feed.add([
    notification(1, { msg: "a" }),
    notification(2, { type: "error" }),
    notification(3, { msg: "a" }),
  ]);
  assert.deepEqual(shown(feed, { types: ["message"] }), ["3+1"]);
  assert.deepEqual(shown(feed), ["3", "2", "1"]);
});

test("a newer notification with the same key takes the older one into its row", () => {
  const feed = new Feed();
  feed.add([
    notification(1, { key: "k" }),
    notification(2),
    notification(3, { key: "k", from: "other" }),
  ]);
  feed.rows();
  feed.add([notification(4, { key: "k" })]);
  assert.deepEqual(shown(feed), ["4+1", "3", "2"]);
});

test("repeats join when the row between them moves up", () => {
  const feed = new Feed();
  feed.add([
    notification(1, { msg: "a" }),
    notification(2, { key: "k" }),
    notification(3, { msg: "a" }),
    notification(4),
  ]);
  feed.rows();
  feed.add([notification(5, { key: "k" })]);
  assert.deepEqual(shown(feed), ["5+2", "4", "3+1"]);
});

test("incremental rows equal recomputed rows, for any history", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const pick = chance(seed);
    const feed = new Feed();
    /** @type {Notification[]} */
    const log = [];
    for (let id = 1; id <= 60; id += 1) {
      const type = /** @type {const} */ ([
        "error",
        "message",
        "message",
        "progress",
        "progress",
        "complete",
        "question",
        "answer",
      ])[pick(8)];
      const asked = log.filter(
        (it) =>
          it.type === "question" &&
          !log.some(({ repeats, reply_to }) =>
            [repeats, reply_to].includes(it.id),
          ),
      );
      const [question] = asked.slice(pick(asked.length + 1));
      log.push(
        notification(id, {
          msg: "ab"[pick(2)],
          from: "xy"[pick(2)],
          type,
          ...(pick(2) === 0 && { turn: 1 + pick(2) }),
          ...(pick(3) === 0 && { key: "kl"[pick(2)] }),
          ...(question && type === "question" && { repeats: question.id }),
          ...(question && type === "answer" && { reply_to: question.id }),
        }),
      );
    }
    /** @type {import('../../web/core/filter.js').Filter[]} */
    const filters = [
      {},
      { types: ["error"] },
      { types: ["error", "progress"] },
    ];
    const left = [...log];
    let newest = 20;
    feed.add(left.splice(10, 10));
    while (left.length > 0) {
      const at =
        pick(3) > 0
          ? left.findIndex(({ id }) => id > newest)
          : pick(left.length);
      const [next] = left.splice(Math.max(at, 0), 1);
      newest = Math.max(newest, next.id);
      feed.add([next]);
      for (const filter of filters) feed.rows(filter);
    }
    for (const filter of filters) {
      const all = log.filter((item) => matches(filter, item)).reverse();
      assert.deepEqual(shown(feed, filter), defined(all), `seed ${seed}`);
      for (const item of all) {
        const rows = feed.rows(filter);
        assert.ok(
          rows.at(rows.indexOf(item))?.items.includes(item),
          `seed ${seed}: ${item.id}`,
        );
      }
    }
  }
});

test("rows end at gaps", () => {
  const feed = new Feed();
  feed.addPage(
    {},
    { notifications: [notification(10), notification(9)], next: 9 },
  );
  assert.deepEqual(feed.nextPage(), { before: 9, end: false });
  feed.addPage(
    { q: "x" },
    { notifications: [notification(4, { msg: "x" })], next: 3 },
  );
  feed.add([notification(1)]);
  assert.deepEqual(shown(feed), ["10", "9"]);
  assert.deepEqual(shown(feed, { q: "x" }), ["4"]);
  feed.addPage(
    {},
    { notifications: [notification(8), notification(6)], next: 6 },
  );
  assert.deepEqual(shown(feed), ["10", "9", "8", "6"]);
  feed.addPage(
    {},
    { notifications: [notification(4, { msg: "x" }), notification(1)] },
  );
  assert.deepEqual(shown(feed), ["10", "9", "8", "6", "4", "1"]);
  assert.equal(feed.nextPage().end, true);
  assert.equal(feed.nextPage({ q: "x" }).end, true);
});

test("older notifications do not appear below the first page before they are loaded", () => {
  const feed = new Feed();
  feed.add([notification(3)]);
  assert.deepEqual(shown(feed), ["3"]);
  feed.addPage(
    {},
    { notifications: [notification(10), notification(9)], next: 9 },
  );
  assert.deepEqual(shown(feed), ["10", "9"]);
});

test("marking up to an id returns the changed marks, and undo restores only those", () => {
  const feed = new Feed();
  feed.add([
    notification(1, { seen: true }),
    notification(2),
    notification(3, { seen: false }),
    notification(4),
  ]);
  const changed = feed.markSeen({ ids: [], up_to: 3, seen: true });
  assert.deepEqual(changed, [3, 2]);
  assert.equal(feed.unseen, 1);
  feed.markSeen({ ids: changed, seen: false });
  assert.deepEqual(
    [...feed].map(({ seen }) => Boolean(seen)),
    [false, false, false, true],
  );
  assert.equal(feed.unseen, 3);
});

test("a notification marked as read stays in the unread view until the view is renewed", () => {
  const feed = new Feed();
  feed.add([notification(1), notification(2)]);
  assert.deepEqual(shown(feed, { unseen: true }), ["2", "1"]);
  feed.markSeen({ ids: [2], seen: true });
  assert.deepEqual(shown(feed, { unseen: true }), ["2", "1"]);
  feed.invalidate({ unseen: true });
  assert.deepEqual(shown(feed, { unseen: true }), ["1"]);
});

test("the end of a delivery settles a notification, showing it does not", () => {
  const feed = new Feed();
  feed.add([notification(1, { status: "pending" }), notification(2)]);
  feed.applyDelivery({ ids: [1, 2, 99], state: "emitted" });
  assert.equal(feed.get(1)?.status, "pending");
  feed.applyDelivery({ ids: [1, 2, 99], state: "superseded" });
  assert.deepEqual(
    [feed.get(1)?.status, feed.get(2)?.status],
    ["superseded", "superseded"],
  );
});

test("a reset feed is empty", () => {
  const feed = new Feed();
  feed.add([notification(1), notification(2), notification(3)]);
  feed.rows();
  feed.reset();
  assert.deepEqual(
    [feed.size, feed.unseen, feed.newest, feed.rows().length],
    [0, 0, 0, 0],
  );
  assert.deepEqual(feed.nextPage(), { before: undefined, end: false });
});
