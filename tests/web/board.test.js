import assert from "node:assert/strict";
import { test } from "node:test";

import { activity, board, checkout, density } from "../../web/core/board.js";

/** @typedef {import('../../web/core/types.js').Session} Session */

/** @param {any} fields @returns {Session} */
const session = ({
  phase = "working",
  since = "2026-11-22T12:00:00Z",
  text,
  tool,
  ...fields
}) => ({
  name: fields.id,
  project: "/src/hub",
  primary: false,
  gone: false,
  silent: false,
  pending: 0,
  wake: "none",
  state: "complete",
  phase: { name: phase, since, text, tool },
  ...fields,
});

/** @param {Session[]} all @param {Parameters<typeof board>[1]} [view] */
const shown = (all, view) =>
  board(all, view).map(
    ({ name, rows }) =>
      `${name}: ${rows.map(({ session: { id }, depth, parent }) => ">".repeat(depth) + id + (parent ? `(${parent})` : "")).join(" ")}`,
  );

test("the groups are in the order of urgency, and ended sessions are in none", () => {
  const all = [
    "done",
    "working",
    "gone",
    "blocked",
    "your_turn",
    "needs_you",
  ].map((phase) => session({ id: phase.slice(0, 4), phase }));
  assert.deepEqual(shown(all), [
    "needs_you: need",
    "your_turn: your",
    "blocked: bloc",
    "working: work",
    "done: done",
  ]);
});

test("a session that waits for its first prompt is not done", () => {
  const started = session({ id: "new", phase: "done", state: undefined });
  const done = session({ id: "old", phase: "done" });
  assert.deepEqual(shown([started, done]), ["started: new", "done: old"]);
});

test("the longest in a phase is first; of those that are done, the latest", () => {
  const at = (
    /** @type {string} */ id,
    /** @type {string} */ phase,
    /** @type {number} */ hour,
  ) => session({ id, phase, since: `2026-11-22T${hour}:00:00Z` });
  const all = [
    at("a", "needs_you", 12),
    at("b", "needs_you", 11),
    at("c", "done", 11),
    at("d", "done", 12),
  ];
  assert.deepEqual(shown(all), ["needs_you: b a", "done: d c"]);
});

test("rows are sorted by name or by project on request", () => {
  const all = [
    session({ id: "w3", project: "/src/x" }),
    session({ id: "w10" }),
    session({ id: "w2" }),
  ];
  assert.deepEqual(shown(all, { sort: "name" }), ["working: w2 w3 w10"]);
  assert.deepEqual(shown(all.toReversed(), { sort: "project" }), [
    "working: w2 w10 w3",
  ]);
});

test("a worker is below its parent in the same group, else it names the parent", () => {
  const lead = session({ id: "0b1c", name: "lead", aliases: ["77"] });
  const all = [
    session({ id: "a", parent: "lead" }),
    session({ id: "b", parent: "77", phase: "needs_you" }),
    lead,
    session({ id: "c", parent: "a" }),
  ];
  assert.deepEqual(shown(all), ["needs_you: b(lead)", "working: 0b1c >a >>c"]);
});

test("a session whose parent is unknown, itself or its own worker is shown once", () => {
  const all = [
    session({ id: "a", parent: "nobody" }),
    session({ id: "b", parent: "b" }),
    session({ id: "c", parent: "d" }),
    session({ id: "d", parent: "c" }),
  ];
  const ids = board(all).flatMap(({ rows }) =>
    rows.map(({ session: { id } }) => id),
  );
  assert.deepEqual(ids.sort(), ["a", "b", "c", "d"]);
});

test("the search looks at name, project, agent and text, for each word", () => {
  const all = [
    session({ id: "login", agent: "codex", text: "Merge the branches" }),
    session({
      id: "search",
      project: "/src/shop",
      tool: { name: "Bash", on: "cargo test" },
    }),
  ];
  for (const [query, ids] of Object.entries({
    LOG: ["login"],
    "merge codex": ["login"],
    "merge shop": [],
    cargo: ["search"],
    shop: ["search"],
    "": ["login", "search"],
  })) {
    assert.deepEqual(
      board(all, { query }).flatMap(({ rows }) =>
        rows.map(({ session: { id } }) => id),
      ),
      ids,
      query,
    );
  }
});

test("a row says the tool that runs, the question or the text of the phase", () => {
  const since = "";
  assert.equal(
    activity(
      {
        name: "working",
        since,
        text: "prompt",
        tool: { name: "Bash", on: "cargo test", since },
      },
      undefined,
    ),
    "Bash cargo test",
  );
  assert.equal(
    activity({ name: "working", since, text: "prompt" }, undefined),
    "prompt",
  );
  assert.equal(
    activity({ name: "needs_you", since }, { line: "Drop it?" }),
    "Drop it?",
  );
});

test("the branch is reported, or is the directory beside the project", () => {
  assert.equal(
    checkout({ project: "/src/hub", branch: "feature/x" }),
    "feature/x",
  );
  assert.equal(checkout({ project: "/src/hub", cwd: "/src/hub-web" }), "web");
  assert.equal(checkout({ project: "/src/hub", cwd: "/work/other" }), "other");
  assert.equal(checkout({ project: "/src/hub", cwd: "/src/hub/web" }), "");
});

test("the more agents there are, the less space a row takes", () => {
  assert.deepEqual([1, 12, 13, 24, 25, 60].map(density), [
    "roomy",
    "roomy",
    "compact",
    "compact",
    "dense",
    "dense",
  ]);
});
