import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isEmpty,
  isSame,
  matches,
  normalize,
  parseFilter,
  toQuery,
  toSearch,
} from "../../web/core/filter.js";

/** @typedef {import('../../web/core/filter.js').Filter} Filter */

/** @type {Filter} */
const FULL = {
  types: ["error", "waiting"],
  priority: "high",
  project: "/src/a b",
  session: "login",
  q: 'disk & "x"',
  unseen: true,
};

/** @type {import('../../web/core/types.js').Notification} */
const NOTIFICATION = {
  id: 1,
  ts: "",
  expires_at: "",
  from: "Worker",
  type: "error",
  msg: "Disk full",
  title: "Backup",
  project: "p",
  priority: "high",
};

test("a filter survives a round trip through the address", () => {
  assert.deepEqual(parseFilter(toSearch(FULL, new URLSearchParams())), FULL);
  assert.deepEqual(
    parseFilter(
      new URLSearchParams(toSearch(FULL, new URLSearchParams()).toString()),
    ),
    FULL,
  );
});

test("other parameters in the address stay", () => {
  const written = toSearch(
    { q: "a" },
    new URLSearchParams("id=4&types=error&unseen=1"),
  );
  assert.equal(written.toString(), "id=4&q=a");
});

test("a malformed address selects all", () => {
  assert.deepEqual(
    parseFilter(
      new URLSearchParams("types=nonsense,&priority=huge&q=%20&project="),
    ),
    {},
  );
  assert.ok(isEmpty(parseFilter(new URLSearchParams("types=nonsense"))));
});

test("all types, and the lowest priority, are no filter", () => {
  const all = /** @type {Filter['types']} */ ([
    "question",
    "approval",
    "error",
    "waiting",
    "testing",
    "complete",
    "message",
    "answer",
    "progress",
    "ended",
  ]);
  assert.deepEqual(normalize({ types: all, priority: "low", q: "  " }), {});
  assert.equal(
    toSearch(
      { types: all, priority: "low", q: " " },
      new URLSearchParams("q=a"),
    ).toString(),
    "",
  );
  assert.ok(
    isSame(
      { types: ["waiting", "error"] },
      { types: ["error", "waiting"], q: "" },
    ),
  );
  assert.ok(!isSame({ types: ["waiting"] }, { types: ["error"] }));
});

test("a filter is sent under the names of the API", () => {
  assert.equal(
    toQuery(FULL).toString(),
    "types=error%2Cwaiting&min_priority=high&project=%2Fsrc%2Fa+b&session=login&q=disk+%26+%22x%22&seen=false",
  );
  assert.equal(toQuery({ unseen: true }).toString(), "seen=false");
});

test("each part of a filter selects the same as in the hub", () => {
  /** @type {[Filter, boolean][]} */
  const cases = [
    [{}, true],
    [{ types: ["error"] }, true],
    [{ types: ["message"] }, false],
    [{ priority: "normal" }, true],
    [{ priority: "urgent" }, false],
    [{ project: "p" }, true],
    [{ project: "q" }, false],
    [{ session: "Worker" }, true],
    [{ session: "other" }, false],
    [{ q: "DISK" }, true],
    [{ q: "back" }, true],
    [{ q: "worker" }, true],
    [{ q: "p2" }, false],
    [{ unseen: true }, true],
    [{ types: ["error"], q: "none" }, false],
  ];
  for (const [filter, chosen] of cases)
    assert.equal(matches(filter, NOTIFICATION), chosen, JSON.stringify(filter));
  assert.equal(
    matches({ unseen: true }, { ...NOTIFICATION, seen: true }),
    false,
  );
});

test("a session filter matches the subject, else the sender", () => {
  const about = { ...NOTIFICATION, session: "login" };
  assert.ok(matches({ session: "login" }, about));
  assert.ok(!matches({ session: "Worker" }, about));
});
