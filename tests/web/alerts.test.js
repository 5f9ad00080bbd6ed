import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { attentionItems } from '../../web/core/attention.js';
import { alertFor, iconState, iconUrl, isSettled, needsOf, pageTitle, selectAlerts, tones, urgentNeed } from '../../web/core/alerts.js';

/** @typedef {import('../../web/core/types.js').Notification} Notification */
/** @typedef {import('../../web/core/alerts.js').Need} Need */

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
 * @param {Partial<Need>} [more]
 * @returns {Need}
 */
function need(id, more = {}) {
  return { tag: String(id), id, state: 'needs_you', ts: TS, project: 'default', from: 'api', priority: 'normal', title: 'api asks', body: 'Which db?', answers: [], ...more };
}

/** The need that a question makes. @param {object} question @param {string} [text] */
function asked(question, text = 'Which db?') {
  const full = { id: 7, type: 'question', state: 'open', project: 'default', from: 'api', ts: TS, deliverable: true, text, complete: true, ...question };
  const item = /** @type {any} */ ({ key: '7', kind: full.type, ts: TS, project: 'default', name: 'api', text, question: full, need: { id: '7', notification: 7, priority: 'normal', title: 'asks' } });
  const [found] = needsOf([item]);
  return /** @type {Need} */ (found);
}

/** @param {Need} it */
function titles({ answers }) {
  return answers.map(({ title }) => title);
}

test('before the person asks, no notification is shown and no sound is played', () => {
  const urgent = urgentNeed(notification(2, { type: 'error', priority: 'urgent' }));
  assert.deepEqual(selectAlerts(OFF, [need(1), urgent], 0), { show: [], more: 0, sound: null });
});

test('only the requested states are shown, the most urgent first, with one sound for all', () => {
  const needs = [need(1), need(2, { state: 'your_turn' }), need(3, { state: 'blocked' }), need(4, { state: 'blocked', priority: 'urgent' }), urgentNeed(notification(5, { priority: 'urgent' }))];
  const { show, more, sound } = selectAlerts(ON, needs, 0);
  assert.deepEqual([show.map(({ id }) => id), more, sound], [[4, 5, 1, 3], 0, 'blocked']);
});

test('quiet hours and mutes suppress all notifications and sounds that are not urgent', () => {
  const noon = Date.parse(TS);
  const night = Date.parse('2026-01-10T23:00:00Z');
  const quiet = { ...ON, quiet: { from: '22:00', to: '07:00', zone: 'UTC' } };
  const muted = { ...ON, mutes: [{ project: 'default' }] };
  const errors = /** @type {const} */ (['low', 'normal', 'high', 'urgent']).map((priority, id) => need(id, { state: 'blocked', priority }));
  assert.equal(selectAlerts(quiet, errors, noon).show.length, 4);
  for (const preferences of [quiet, muted]) {
    assert.deepEqual(selectAlerts(preferences, errors.slice(0, 3), night), { show: [], more: 0, sound: null });
    assert.deepEqual(selectAlerts(preferences, errors, night).show.map(({ priority }) => priority), ['urgent']);
  }
});

test('of a burst some are shown and the rest are counted', () => {
  const many = Array.from({ length: 50 }, (_, index) => need(index + 1));
  const { show, more } = selectAlerts(ON, many, 0);
  assert.equal(show.length + more, 50);
  assert.deepEqual(show.map(({ id }) => id), [1, 2, 3, 4]);
  assert.equal(selectAlerts(ON, many.slice(0, 5), 0).more, 0, 'one alone is never counted');
});

test('a need calls by its kind, unless a rule muted it; a question calls once the hub lists it', () => {
  const item = (/** @type {string} */ kind, more = {}) => /** @type {any} */ ({ kind, ts: TS, project: 'p', name: 'api', text: 'words', need: { id: 's3', notification: 3, session: 'w1', priority: 'normal', title: 'has stopped', ...more } });
  const all = ['turn', 'error', 'died', 'silent', 'limit', 'urgent'].map((kind) => item(kind));
  assert.deepEqual(needsOf(all).map(({ state }) => state), ['your_turn', 'blocked', 'blocked', 'blocked', 'blocked']);
  const { tag, title, body, id, session } = needsOf(all)[0];
  assert.deepEqual([tag, title, body, id, session], ['s3', 'api has stopped, p', 'words', 3, 'w1']);
  assert.deepEqual(needsOf([item('error', { muted_by: 'quiet' }), { ...item('question'), need: undefined }]), []);
});

test('a question offers its options, if they are its only answers and fit', () => {
  assert.deepEqual(titles(asked({ options: ['a', 'b'] })), ['a', 'b']);
  assert.deepEqual(titles(asked({ options: ['a'] })), ['a']);
  for (const question of [
    {},
    { options: ['a', 'b', 'c'] },
    { options: ['a', 'b'], deliverable: false },
    { options: ['a', 'b'], data: { dialog: { tool_input: { questions: [{}, {}] } } } },
    { options: ['a', 'b'], data: { dialog: { tool_input: { questions: [{ multiSelect: true }] } } } },
  ]) {
    assert.deepEqual(titles(asked(question)), [], JSON.stringify(question));
  }
  assert.deepEqual(titles(asked({ options: ['a', 'b'] }, 'x'.repeat(241))), [], 'the question is cut');
  assert.deepEqual(titles(asked({ options: ['a', 'b'], complete: false })), [], 'the hub has cut it');
});

test('an approval is offered only with a complete request that is drawn to its end', () => {
  const bash = (/** @type {string} */ command, complete = true) => asked({ type: 'approval', text: `Bash: ${command}`, complete });
  const short = bash('make');
  assert.equal(short.body, 'Bash: make');
  assert.deepEqual(short.answers.map(({ title, answer }) => [title, answer]), [['Approve', 'allow'], ['Deny', 'deny']]);
  assert.deepEqual(titles(bash('rm [U+202E]txt.a', false)), []);
  const long = bash('x'.repeat(300));
  assert.deepEqual([titles(long), [...long.body].length], [[], 240]);
  assert.deepEqual(titles(bash('a\n\n\n\nb')), [], 'a notification has few lines');
  assert.deepEqual(titles(asked({ type: 'approval', deliverable: false })), []);
  assert.deepEqual(titles(asked({ type: 'approval', data: { dialog: { tool_name: 'ExitPlanMode' } } })), [], 'a plan is read in the page');
});

test('a browser notification has one button for each answer, else one that opens the page', () => {
  const { title, options } = alertFor(asked({ options: ['a', 'b'] }));
  assert.equal(title, 'api asks');
  assert.deepEqual([options.tag, options.body, options.requireInteraction, options.renotify], ['7', 'Which db?', true, false]);
  assert.deepEqual(options.actions.map((one) => options.data.answers[one.action]), ['a', 'b']);
  assert.deepEqual(alertFor(need(1, { state: 'blocked' })).options.actions, [{ action: 'open', title: 'Open' }]);
  assert.equal(alertFor(need(1, { state: 'blocked' })).options.requireInteraction, false);
});

test('a long message is cut between characters', () => {
  const { body } = urgentNeed(notification(1, { msg: '😀'.repeat(500) }));
  assert.equal([...body].length, 240);
  assert.match(body, /^(😀)+…$/u);
});

test('an urgent notification ends when it is settled, read or superseded', () => {
  const question = /** @type {any} */ ({ id: 1, state: 'open' });
  assert.equal(isSettled(notification(1), question), false);
  assert.equal(isSettled(notification(1), { ...question, state: 'claimed' }), false);
  for (const state of ['answered', 'withdrawn', 'superseded', 'expired']) assert.equal(isSettled(notification(1), { ...question, state }), true);
  assert.equal(isSettled(notification(1, { seen: true })), true);
  assert.equal(isSettled(notification(1, { status: 'superseded' })), true);
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
  const { title, options } = alertFor(need(1, { title: 'api\u202e asks', body: 'txt.a\u202e', answers: [{ action: 'x', title: 'y\u202e', answer: 'y' }] }));
  for (const text of [title, options.body, options.actions[0]?.title]) assert.match(text ?? '', /U\+202E/);
});

/** The cases that `hub-desktop` must decide alike. @type {any[]} */
const SHARED = JSON.parse(readFileSync(new URL('../fixtures/alerts.json', import.meta.url), 'utf8'));

for (const { name, now, preferences, needs, questions, urgent, alerts, show } of SHARED) {
  test(`as on the desktop: ${name}`, () => {
    const at = Date.parse(now);
    const byId = new Map(questions.map((/** @type {any} */ it) => [it.id, it]));
    const items = attentionItems({ sessions: new Map(), endedSessions: new Map(), questions: byId, needs, notification: () => undefined, preferences, now: () => at });
    const found = [...needsOf(items), ...urgent.map(urgentNeed)];
    const plain = found.map(({ tag, state, id, from, session, priority, body, answers }) => ({
      tag, state, ...(id !== null && { id }), from, ...(session && { session }), priority, text: body, answers: answers.map(({ answer }) => answer),
    }));
    assert.deepEqual(plain, alerts);
    assert.deepEqual(selectAlerts(preferences, found, at).show.map(({ tag }) => tag), show);
  });
}
