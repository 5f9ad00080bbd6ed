import assert from "node:assert/strict";
import { test } from "node:test";

import {
  absence,
  countAbsence,
  MIN_ABSENCE,
  summarizeAbsence,
} from "../../web/core/away.js";

const last = { epoch: "e1", id: 7, at: 1_000_000 };

test("only a long absence from this log is summarized", () => {
  const stored = JSON.stringify(last);
  assert.deepEqual(absence(stored, "e1", last.at + MIN_ABSENCE), last);
  assert.equal(absence(stored, "e1", last.at + MIN_ABSENCE - 1), null);
  assert.equal(
    absence(stored, "e2", last.at + MIN_ABSENCE),
    null,
    "the ids of another log mean something else",
  );
  for (const bad of [null, "", "x", "5", "{}"])
    assert.equal(absence(bad, "e1", last.at + MIN_ABSENCE), null, `${bad}`);
});

test("decisions come first, open ones before settled ones, then results, then the rest by agent", () => {
  const one = (
    /** @type {number} */ id,
    /** @type {string} */ type,
    /** @type {object} */ more = {},
  ) =>
    /** @type {any} */ ({
      id,
      type,
      from: "w1",
      project: "/p",
      status: "acked",
      msg: "",
      ...more,
    });
  const summary = summarizeAbsence([
    one(1, "question", { status: "pending" }),
    one(2, "approval", { status: "answered" }),
    one(3, "complete"),
    one(4, "error"),
    one(5, "progress"),
    one(6, "progress", { from: "w2", from_name: "search" }),
    one(7, "message", { from: "w2", from_name: "search" }),
    one(8, "message", { from: "person" }),
  ]);
  const ids = (/** @type {{id: number}[]} */ items) =>
    items.map(({ id }) => id);
  assert.deepEqual(ids(summary.decisions), [1, 2]);
  assert.deepEqual(ids(summary.results), [4, 3]);
  assert.deepEqual(
    summary.rest.map(({ name, items }) => [name, ids(items)]),
    [
      ["search", [7, 6]],
      ["w1", [5]],
    ],
  );
  assert.equal(
    countAbsence(summary),
    "1 decision, 1 settled decision, 2 results, 3 others",
  );
  assert.equal(countAbsence(summarizeAbsence([one(1, "error")])), "1 result");
});

test("a dialog and a turn are listed once", () => {
  const one = (
    /** @type {number} */ id,
    /** @type {string} */ type,
    /** @type {object} */ more = {},
  ) =>
    /** @type {any} */ ({
      id,
      type,
      from: "w1",
      project: "/p",
      status: "acked",
      msg: `${id}`,
      turn: 1,
      ...more,
    });
  const summary = summarizeAbsence([
    one(1, "progress"),
    one(2, "question"),
    one(3, "question", { repeats: 2 }),
    one(4, "answer", { from: "person", reply_to: 3 }),
    one(5, "progress"),
    one(6, "complete"),
  ]);
  assert.deepEqual(
    [
      summary.decisions.map(({ id }) => id),
      summary.results.map(({ id }) => id),
      summary.rest,
    ],
    [[3], [6], []],
  );
});
