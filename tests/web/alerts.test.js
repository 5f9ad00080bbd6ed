import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { alertFor, callsOf, iconState, iconUrl, isSettled, pageTitle, selectAlerts, tones, urgentCall } from '../../web/core/alerts.js';

/** @typedef {import('../../web/core/types.js').Notification} Notification */
/** @typedef {import('../../web/core/alerts.js').Call} Call */

const OFF = /** @type {import('../../web/core/types.js').Preferences} */ ({ quiet: null, mutes: [], notify: [], sound: [] });
const ON = { ...OFF, notify: /** @type {any} */ (['needs_you', 'blocked']), sound: /** @type {any} */ (['blocked']) };

const TS = '2026-01-10T12:00:00Z';

/**
 * @param {number} id
 * @param {Partial<Notification>} [more]
 * @returns {Notification}
 */
function notification(id, more = {}) {
  return { id, ts: TS, from: 'api', type: 'question', msg: 'Which db?', project: 'default', priority: 'normal', expires_at: TS, ...more };
}

/**
 * @param {number} id
 * @param {Partial<Call>} [more]
 * @returns {Call}
 */
function call(id, more = {}) {
  return { tag: String(id), id, state: 'needs_you', silenced: false, ts: TS, urgent: false, title: 'api asks', body: 'Which db?', answers: [], ...more };
}

/** The call of a question. @param {object} [more] */
function asked(more = {}) {
  const need = { id: '7', kind: 'question', alert: 'needs_you', notification: 7, since: TS, project: 'default', name: 'api', priority: 'normal', title: 'asks', brief: 'Which db?', ...more };
  return callsOf([/** @type {any} */ (need)])[0];
}

/** @param {string[]} labels */
function options(...labels) {
  return { quick: labels.map((label) => ({ label, answer: { choices: [{ labels: [label] }] } })) };
}

test('before the person asks, no notification is shown and no sound is played', () => {
  const urgent = urgentCall(notification(2, { type: 'error', priority: 'urgent' }));
  assert.deepEqual(selectAlerts(OFF, [call(1), urgent]), { show: [], more: 0, sound: null });
});

test('only the requested states are shown, the most urgent first, with one sound for all', () => {
  const needs = [call(1), call(2, { state: 'your_turn' }), call(3, { state: 'blocked' }), call(4, { state: 'blocked', urgent: true }), urgentCall(notification(5, { priority: 'urgent' }))];
  const { show, more, sound } = selectAlerts(ON, needs);
  assert.deepEqual([show.map(({ id }) => id), more, sound], [[4, 5, 1, 3], 0, 'blocked']);
});

test('what the hub silences is neither shown nor heard', () => {
  const calls = [call(1, { state: 'blocked', silenced: true }), call(2, { state: 'blocked' })];
  assert.deepEqual(selectAlerts(ON, calls).show.map(({ id }) => id), [2]);
  assert.deepEqual(selectAlerts(ON, calls.slice(0, 1)), { show: [], more: 0, sound: null });
});

test('of a burst some are shown and the rest are counted', () => {
  const many = Array.from({ length: 50 }, (_, index) => call(index + 1));
  const { show, more } = selectAlerts(ON, many);
  assert.equal(show.length + more, 50);
  assert.deepEqual(show.map(({ id }) => id), [1, 2, 3, 4]);
  assert.equal(selectAlerts(ON, many.slice(0, 5)).more, 0, 'one alone is never counted');
});

test('a need calls as the hub says; an urgent message calls when it arrives', () => {
  const { tag, state, silenced, title, body, id } = asked({ id: 's3', alert: 'your_turn', silenced: 'quiet hours', name: 'w1', project: '/src/p', title: 'has stopped', brief: 'words', notification: 3 });
  assert.deepEqual([tag, state, silenced, title, body, id], ['s3', 'your_turn', true, 'w1 has stopped, p', 'words', 3]);
  assert.deepEqual(callsOf([/** @type {any} */ ({ kind: 'urgent' })]), []);
});

test('the quick answers are buttons, if a browser shows all of them', () => {
  const titles = (/** @type {Call} */ { answers }) => answers.map(({ title }) => title);
  assert.deepEqual(titles(asked(options('a', 'b'))), ['a', 'b']);
  assert.deepEqual([titles(asked()), titles(asked(options('a', 'b', 'c')))], [[], []]);
});

test('a browser notification has one button for each answer, else one that opens the page', () => {
  const { title, options: shown } = alertFor(asked(options('a', 'b')));
  assert.equal(title, 'api asks');
  assert.deepEqual([shown.tag, shown.body, shown.requireInteraction, shown.renotify], ['7', 'Which db?', true, false]);
  assert.deepEqual(shown.actions.map((one) => shown.data.answers[one.action].label), ['a', 'b']);
  assert.deepEqual(alertFor(call(1, { state: 'blocked' })).options.actions, [{ action: 'open', title: 'Open' }]);
  assert.equal(alertFor(call(1, { state: 'blocked' })).options.requireInteraction, false);
});

test('a long message is cut between characters', () => {
  const { body } = urgentCall(notification(1, { msg: '😀'.repeat(500) }));
  assert.equal([...body].length, 240);
  assert.match(body, /^(😀)+…$/u);
});

test('an urgent notification ends when it is settled, read or superseded', () => {
  assert.equal(isSettled(notification(1)), false);
  for (const status of /** @type {const} */ (['answered', 'withdrawn', 'superseded', 'expired'])) assert.equal(isSettled(notification(1, { status })), true);
  assert.equal(isSettled(notification(1, { seen: true })), true);
  assert.equal(isSettled(notification(1, { status: 'acked' })), false);
  assert.equal(isSettled(undefined), false);
});

test('title and icon show the count and the most severe item', () => {
  assert.deepEqual([pageTitle(0), pageTitle(3)], ['hub', '(3) hub']);
  assert.equal(iconState([], 'live'), 'idle');
  assert.equal(iconState(['question', 'silent'], 'live'), 'waiting');
  assert.equal(iconState(['question', 'died'], 'live'), 'error');
  assert.equal(iconState(['error'], 'retrying'), 'offline');
  assert.equal(iconState(['error'], 'signed-out'), 'signed-out');
  assert.match(decodeURIComponent(iconUrl(0, 'signed-out')), />\?<\/text>/);
  /** @param {number} count */
  const drawn = (count) => decodeURIComponent(iconUrl(count, 'waiting'));
  assert.match(drawn(3), /^data:image\/svg\+xml,<svg .*>3<\/text><\/svg>$/);
  assert.match(drawn(250), />99<\/text>/);
  assert.doesNotMatch(drawn(0), /<text/);
});

test('a question rises, a block falls, a stop is one tone', () => {
  const [question, error, complete] = [tones('needs_you'), tones('blocked'), tones('your_turn')].map((all) => all.map(({ hz }) => hz));
  assert.ok(question[1] > question[0]);
  assert.ok(error[1] < error[0]);
  assert.equal(complete.length, 1);
});

test('a direction mark in a browser notification is shown', () => {
  const { title, options } = alertFor(call(1, { title: 'api\u202e asks', body: 'txt.a\u202e', answers: [{ action: 'x', title: 'y\u202e', answer: 'y' }] }));
  for (const text of [title, options.body, options.actions[0]?.title]) assert.match(text ?? '', /U\+202E/);
});

/** The cases that `hub-desktop` must decide alike. @type {any[]} */
const SHARED = JSON.parse(readFileSync(new URL('../fixtures/alerts.json', import.meta.url), 'utf8'));

for (const { name, preferences, needs, urgent, alerts, show } of SHARED) {
  test(`as on the desktop: ${name}`, () => {
    const found = [...callsOf(needs), ...urgent.map(urgentCall)];
    const words = (/** @type {import('../../web/core/alerts.js').Answer} */ { answer }) => answer.verdict ?? answer.choices?.[0].labels?.[0];
    const shown = selectAlerts(preferences, found).show;
    assert.deepEqual(shown.map(({ tag }) => tag), show);
    for (const { tag, state, id, body, answers } of shown) {
      const expected = alerts.find((/** @type {any} */ it) => it.tag === tag);
      assert.deepEqual({ tag, state, ...(id !== null && { id }), text: body, answers: answers.map(words) }, expected);
    }
  });
}
