import assert from "node:assert/strict";
import { test } from "node:test";

import {
  attentionItems,
  settlementText,
  wordsOf,
} from "../../web/core/attention.js";
import { queueOf, successor, wayOf } from "../../web/core/queue.js";

/** @typedef {import('../../web/core/types.js').Session} Session */
/** @typedef {import('../../web/core/types.js').Need} Need */

const at = (/** @type {number} */ minute) =>
  `2026-11-22T11:${String(minute).padStart(2, "0")}:00.000Z`;

/** @param {Partial<Session> & {id: string}} fields @returns {Session} */
const session = (fields) => ({
  name: fields.id,
  project: "/src/hub",
  primary: false,
  gone: false,
  silent: false,
  pending: 0,
  wake: "none",
  phase: { name: "working", since: at(0) },
  ...fields,
});
/** @param {Partial<Need> & {id: string}} fields @returns {Need} */
const need = (fields) => ({
  kind: "turn",
  since: at(1),
  answerable: true,
  project: "/src/hub",
  name: fields.session ?? "w1",
  priority: "normal",
  title: "has stopped",
  brief: "Done",
  complete: true,
  revision: 1,
  counts: true,
  closable: fields.kind !== "question",
  ...fields,
});

/**
 * @param {Need[]} needs
 * @param {Session[]} [sessions]
 * @returns {import('../../web/core/attention.js').Data}
 */
function known(needs, sessions = []) {
  const places = (/** @type {Session[]} */ list) =>
    new Map(list.map((it) => [`${it.project}/${it.id}`, it]));
  return {
    needs,
    sessions: places(sessions.filter(({ phase }) => phase.name !== "gone")),
    endedSessions: places(
      sessions.filter(({ phase }) => phase.name === "gone"),
    ),
  };
}

test("the order is the hub’s, and each need has its session, also one that has ended", () => {
  const sessions = [
    session({ id: "bad" }),
    session({ id: "w1", name: "login", phase: { name: "gone", since: at(1) } }),
  ];
  const needs = [
    need({ id: "9", kind: "question", session: "w1" }),
    need({ id: "s3", kind: "error", session: "bad" }),
    need({ id: "s1", kind: "silent", session: "still" }),
  ];
  const items = attentionItems(known(needs, sessions));
  assert.deepEqual(
    items.map((it) => [it.key, it.session?.name]),
    [
      ["9", "login"],
      ["s3", "bad"],
      ["s1", undefined],
    ],
  );
});

test("needs that do not count are for later, and answered ones on their way", () => {
  const settled = (/** @type {NonNullable<Need['settled']>} */ settled) => ({
    kind: /** @type {const} */ ("question"),
    settled,
    counts: false,
  });
  const needs = [
    need({ id: "open" }),
    need({ id: "claimed", kind: "question", claimed: "lead" }),
    need({ id: "held", kind: "question" }),
    need({ id: "limit", kind: "limit", counts: false }),
    need({ id: "ended" }),
    need({
      id: "answered",
      ...settled({ state: "answered", delivery: "stored" }),
    }),
    need({ id: "withdrawn", ...settled({ state: "withdrawn" }) }),
  ];
  const queue = queueOf(known(needs), {
    isAnswered: (key) => key === "held",
    isEnding: (key) => key === "ended",
  });
  const keys = (
    /** @type {import('../../web/core/attention.js').AttentionItem[]} */ items,
  ) => items.map(({ key }) => key);
  assert.deepEqual(
    [keys(queue.open), keys(queue.later), keys(queue.sent)],
    [["open", "claimed"], ["limit"], ["held", "answered"]],
  );
  assert.deepEqual(
    queue.sent.map((it) => wayOf(it.need)),
    ["not sent yet", "stored"],
  );
});

test("the next need is selected instead of one that is gone, else the previous one", () => {
  assert.equal(successor("b", ["a", "b", "c", "d"], ["a", "d"]), "d");
  assert.equal(successor("c", ["a", "b", "c"], ["a", "b"]), "b");
  assert.equal(successor("x", ["a"], ["a", "b"]), "a", "an unknown one");
  assert.equal(successor("a", ["a"], []), "");
});

test("a hook's words are shown without its own before them; nobody else claims them", () => {
  assert.equal(
    wordsOf({
      msg: "Agent login asks: Which?",
      data: { via: "hook", said: "Which?" },
    }),
    "Which?",
  );
  for (const data of [undefined, { said: "x" }, { via: "hook" }, "x"])
    assert.equal(
      wordsOf({ msg: "Agent login asks: x", data }),
      "Agent login asks: x",
    );
});

test("a settled need names its winner and the answer", () => {
  assert.equal(
    settlementText("login", "question", {
      state: "answered",
      by: "lead",
      answer: "8080",
    }),
    "login’s question was answered by lead: 8080",
  );
  assert.equal(
    settlementText("login", "question", {
      state: "answered",
      by: "person",
      answer: "8080",
    }),
    "login’s question was answered elsewhere: 8080",
  );
  assert.equal(
    settlementText("login", "permission", {
      state: "withdrawn",
      by: "resumed",
    }),
    "login continued: its permission is settled.",
  );
  assert.equal(
    settlementText("login", "plan", { state: "expired" }),
    "login’s plan is expired.",
  );
  assert.equal(
    settlementText("login", "turn"),
    "login does not need you any more.",
  );
});
