import assert from "node:assert/strict";
import { test } from "node:test";

import { Feed } from "../../web/core/feed.js";
import { firstSteps } from "../../web/core/first-steps.js";

/** @param {object[]} notifications */
const feedOf = (...notifications) => {
  const feed = new Feed();
  feed.add(/** @type {any} */ (notifications));
  return feed;
};

const question = {
  id: 1,
  from: "test",
  type: "question",
  msg: "?",
  project: "default",
};

test("a new hub only runs", () => {
  const steps = firstSteps({
    reporting: [],
    sessions: new Map(),
    feed: feedOf({ ...question, from: "w1" }),
  });
  assert.deepEqual(
    steps.map(({ name, isDone }) => [name, isDone]),
    [
      ["hub", true],
      ["hooks", false],
      ["session", false],
      ["question", false],
    ],
  );
});

test("each step tells what it saw", () => {
  const sessions = new Map([
    ["p/s1", { name: "checkout" }],
    ["p/s2", { name: "docs" }],
  ]);
  const steps = firstSteps({
    reporting: ["Claude Code", "Codex CLI"],
    sessions,
    feed: feedOf(question, {
      id: 2,
      from: "person",
      type: "answer",
      reply_to: 1,
      msg: "This one",
      project: "default",
    }),
  });
  assert.deepEqual(
    steps.map(({ isDone, text }) => [isDone, text]),
    [
      [true, ""],
      [true, "Claude Code, Codex CLI"],
      [true, "checkout"],
      [true, "answered: This one"],
    ],
  );
});

test("a step that is done stays done when the session ends, and an open question is not answered", () => {
  const [, , session, asked] = firstSteps({
    reporting: ["Claude Code"],
    sessions: new Map(),
    feed: feedOf(question),
  });
  assert.deepEqual(
    [session.isDone, asked.isDone, asked.text],
    [true, false, "it waits for your answer"],
  );
});
