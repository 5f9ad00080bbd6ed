import assert from "node:assert/strict";
import { test } from "node:test";

import {
  listEnded,
  sessionFinder,
  shortPaths,
  stateLabel,
  summarize,
  wakeLabel,
} from "../../web/core/sessions.js";

/** @typedef {import('../../web/core/types.js').Session} Session */

/** @param {Partial<Session> & {id: string}} fields @returns {Session} */
const session = (fields) => ({
  name: fields.id,
  project: "/src/hub",
  primary: false,
  gone: false,
  silent: false,
  pending: 0,
  ...fields,
});

test("ended sessions are separate, the latest first", () => {
  const all = [
    session({ id: "a", state: "ended", since: "2026-01-01T00:00:00Z" }),
    session({
      id: "b",
      gone: true,
      state: "error",
      since: "2026-01-02T00:00:00Z",
    }),
    session({ id: "c" }),
  ];
  assert.deepEqual(
    listEnded(all).map(({ id }) => id),
    ["b", "a"],
  );
});

test("a session is found by each of its names, its id before another's name", () => {
  const find = sessionFinder([
    session({ id: "a", name: "b", aliases: ["old"] }),
    session({ id: "b", name: "c" }),
  ]);
  assert.equal(find("/src/hub", "b")?.id, "b");
  assert.equal(find("/src/hub", "old")?.id, "a");
  assert.equal(find("/src/app", "a"), undefined);
});

test("a path is as short as its difference from the others allows", () => {
  const short = shortPaths([
    "/home/me/src/hub",
    "/home/me/old/hub",
    "/home/me/app",
    "default",
    "/",
  ]);
  assert.deepEqual(
    [...short.values()],
    ["src/hub", "old/hub", "app", "default", "/"],
  );
});

test("silent and gone are shown in addition to the state", () => {
  assert.equal(
    stateLabel(session({ id: "a", state: "working", silent: true })).state,
    "silent",
  );
  assert.equal(
    stateLabel(session({ id: "a", state: "error", gone: true })).text,
    "gone",
  );
  assert.equal(
    stateLabel(session({ id: "a", state: "blocked" })).text,
    "blocked",
  );
  assert.equal(stateLabel(session({ id: "a" })).text, "no state yet");
});

test("a waiter is live, stale or none, in words", () => {
  assert.equal(wakeLabel({ wake: "stale" }).text, "waiter stale");
  assert.match(
    wakeLabel({ wake: "live", waiter: { since: "", way: "rewake" } }).means,
    /rewake/,
  );
  assert.match(
    wakeLabel({ wake: "live" }, { since: "", way: "wait" }).means,
    /wait\./,
  );
});

test("background work is described in a sentence", () => {
  const all = [
    session({ id: "a", state: "working" }),
    session({ id: "b", state: "working" }),
    session({ id: "c", state: "complete" }),
    session({ id: "d", state: "ended" }),
  ];
  assert.equal(summarize(all), "2 working, 1 complete.");
  assert.equal(summarize([]), "No agent is running.");
  assert.equal(summarize([session({ id: "new" })]), "1 just started.");
});
