import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  alertFor,
  callsOf,
  iconState,
  iconUrl,
  pageTitle,
  selectAlerts,
  tones,
} from "../../web/core/alerts.js";

/** @typedef {import('../../web/core/alerts.js').Call} Call */

const OFF = /** @type {import('../../web/core/types.js').Preferences} */ ({
  quiet: null,
  mutes: [],
  notify: [],
  sound: [],
});
const ON = {
  ...OFF,
  notify: /** @type {any} */ (["needs_you", "blocked"]),
  sound: /** @type {any} */ (["blocked"]),
};

const TS = "2026-01-10T12:00:00Z";

/**
 * @param {number} id
 * @param {Partial<Call>} [more]
 * @returns {Call}
 */
function call(id, more = {}) {
  return {
    tag: String(id),
    id,
    state: "needs_you",
    silenced: false,
    ts: TS,
    urgent: false,
    title: "api asks",
    body: "Which db?",
    answers: [],
    ...more,
  };
}

/** The call of a question. @param {object} [more] */
function asked(more = {}) {
  const need = {
    id: "7",
    kind: "question",
    alert: "needs_you",
    notification: 7,
    since: TS,
    project: "default",
    name: "api",
    priority: "normal",
    title: "asks",
    brief: "Which db?",
    ...more,
  };
  return callsOf([/** @type {any} */ (need)])[0];
}

/** @param {string[]} labels */
function options(...labels) {
  return {
    quick: labels.map((label) => ({
      label,
      answer: { choices: [{ labels: [label] }] },
    })),
  };
}

test("before the person asks, no notification is shown and no sound is played", () => {
  assert.deepEqual(
    selectAlerts(OFF, [call(1), call(2, { state: null, urgent: true })]),
    { show: [], more: 0, sound: null },
  );
});

test("only the requested states are shown, the most urgent first, with one sound for all", () => {
  const needs = [
    call(1),
    call(2, { state: "your_turn" }),
    call(3, { state: "blocked" }),
    call(4, { state: "blocked", urgent: true }),
    call(5, { state: null, urgent: true }),
  ];
  const { show, more, sound } = selectAlerts(ON, needs);
  assert.deepEqual(
    [show.map(({ id }) => id), more, sound],
    [[4, 5, 1, 3], 0, "blocked"],
  );
});

test("what the hub silences is neither shown nor heard", () => {
  const calls = [
    call(1, { state: "blocked", silenced: true }),
    call(2, { state: "blocked" }),
  ];
  assert.deepEqual(
    selectAlerts(ON, calls).show.map(({ id }) => id),
    [2],
  );
  assert.deepEqual(selectAlerts(ON, calls.slice(0, 1)), {
    show: [],
    more: 0,
    sound: null,
  });
});

test("of a burst some are shown and the rest are counted", () => {
  const many = Array.from({ length: 50 }, (_, index) => call(index + 1));
  const { show, more } = selectAlerts(ON, many);
  assert.equal(show.length + more, 50);
  assert.deepEqual(
    show.map(({ id }) => id),
    [1, 2, 3, 4],
  );
  assert.equal(
    selectAlerts(ON, many.slice(0, 5)).more,
    0,
    "one alone is never counted",
  );
});

test("a need calls as the hub says, as long as it is open", () => {
  const { tag, state, silenced, title, body, id } = asked({
    id: "s3",
    alert: "your_turn",
    silenced: "quiet hours",
    name: "w1",
    project: "/src/p",
    title: "has stopped",
    brief: "words",
    notification: 3,
  });
  assert.deepEqual(
    [tag, state, silenced, title, body, id],
    ["s3", "your_turn", true, "w1 has stopped, p", "words", 3],
  );
  assert.deepEqual(
    callsOf([
      /** @type {any} */ ({ kind: "question", settled: { state: "answered" } }),
    ]),
    [],
  );
});

test("the quick answers are buttons, if a browser shows all of them", () => {
  const titles = (/** @type {Call} */ { answers }) =>
    answers.map(({ title }) => title);
  assert.deepEqual(titles(asked(options("a", "b"))), ["a", "b"]);
  assert.deepEqual(
    [titles(asked()), titles(asked(options("a", "b", "c")))],
    [[], []],
  );
});

test("a browser notification has one button for each answer, else one that opens the page", () => {
  const { title, options: shown } = alertFor(asked(options("a", "b")));
  assert.equal(title, "api asks");
  assert.deepEqual(
    [shown.tag, shown.body, shown.requireInteraction, shown.renotify],
    ["7", "Which db?", true, false],
  );
  assert.deepEqual(
    shown.actions.map((one) => shown.data.answers[one.action].label),
    ["a", "b"],
  );
  assert.deepEqual(alertFor(call(1, { state: "blocked" })).options.actions, [
    { action: "open", title: "Open" },
  ]);
  assert.equal(
    alertFor(call(1, { state: "blocked" })).options.requireInteraction,
    false,
  );
});

test("title and icon show the count and the most severe item", () => {
  assert.deepEqual([pageTitle(0), pageTitle(3)], ["hub", "(3) hub"]);
  assert.equal(iconState([], "live"), "idle");
  assert.equal(iconState(["question", "silent"], "live"), "waiting");
  assert.equal(iconState(["question", "died"], "live"), "error");
  assert.equal(iconState(["error"], "retrying"), "offline");
  assert.equal(iconState(["error"], "signed-out"), "signed-out");
  assert.match(decodeURIComponent(iconUrl(0, "signed-out")), />\?<\/text>/);
  /** @param {number} count */
  const drawn = (count) => decodeURIComponent(iconUrl(count, "waiting"));
  assert.match(drawn(3), /^data:image\/svg\+xml,<svg .*>3<\/text><\/svg>$/);
  assert.match(drawn(250), />99<\/text>/);
  assert.doesNotMatch(drawn(0), /<text/);
});

test("a question rises, a block falls, a stop is one tone", () => {
  const [question, error, complete] = [
    tones("needs_you"),
    tones("blocked"),
    tones("your_turn"),
  ].map((all) => all.map(({ hz }) => hz));
  assert.ok(question[1] > question[0]);
  assert.ok(error[1] < error[0]);
  assert.equal(complete.length, 1);
});

test("a direction mark in a browser notification is shown", () => {
  const { title, options } = alertFor(
    call(1, {
      title: "api\u202e asks",
      body: "txt.a\u202e",
      answers: [{ action: "x", title: "y\u202e", answer: "y" }],
    }),
  );
  for (const text of [title, options.body, options.actions[0]?.title])
    assert.match(text ?? "", /U\+202E/);
});

/** The cases that `hub-desktop` must decide alike. @type {any[]} */
const fixture = (/** @type {string} */ name) =>
  JSON.parse(
    readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), "utf8"),
  );

for (const { name, preferences, needs, show } of fixture("alerts")) {
  test(`as on the desktop: ${name}`, () => {
    const shown = selectAlerts(preferences, callsOf(needs)).show;
    assert.deepEqual(
      shown.map(({ tag }) => tag),
      show,
    );
  });
}

test("the need of every agent is shown as the hub says, with its buttons if a browser has room for them", () => {
  const own = {
    id: "7",
    since: TS,
    project: "default",
    name: "api",
    session: "s",
    notification: 7,
    revision: 7,
  };
  for (const { agent, name, need } of fixture("needs")) {
    const { title, options: shown } = alertFor(
      callsOf([{ ...own, ...need }])[0],
    );
    assert.deepEqual(
      [title, shown.body],
      [`api ${need.title}`, need.brief],
      `${agent}: ${name}`,
    );
    assert.deepEqual(
      shown.actions.map((it) => it.title),
      need.quick?.map((/** @type {{label: string}} */ it) => it.label) ?? [
        "Open",
      ],
    );
  }
});
