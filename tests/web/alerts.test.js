import assert from 'node:assert/strict';
import { test } from 'node:test';

import { alertFor, iconState, iconUrl, isSettled, pageTitle, selectAlerts, tones } from '../../web/core/alerts.js';

/** @typedef {import('../../web/core/types.js').Notification} Notification */

const OFF = /** @type {import('../../web/core/types.js').Preferences} */ ({ quiet: null, mutes: [], notify: [], sound: [] });
const ON = { ...OFF, notify: /** @type {any} */ (['question', 'error']), sound: /** @type {any} */ (['error']) };

/**
 * @param {number} id
 * @param {Partial<Notification>} [more]
 * @returns {Notification}
 */
function notification(id, more = {}) {
  const ts = '2026-01-10T12:00:00Z';
  return { id, ts, from: 'api', type: 'question', msg: 'Which db?', project: 'default', priority: 'normal', expires_at: ts, ...more };
}

test('before the person asks, no notification is shown and no sound is played', () => {
  assert.deepEqual(selectAlerts(OFF, [notification(1), notification(2, { priority: 'urgent' })], 0), { show: [], more: 0, sound: null });
});

test('only the requested types are shown, the most urgent first, with one sound for all', () => {
  const news = [notification(1), notification(2, { type: 'complete' }), notification(3, { type: 'error' }), notification(4, { type: 'error', priority: 'urgent' })];
  const { show, more, sound } = selectAlerts(ON, news, 0);
  assert.deepEqual([show.map(({ id }) => id), more, sound], [[4, 1, 3], 0, 'error']);
});

test('quiet hours and mutes suppress all notifications and sounds that are not urgent', () => {
  const noon = Date.parse('2026-01-10T12:00:00Z');
  const night = Date.parse('2026-01-10T23:00:00Z');
  const quiet = { ...ON, quiet: { from: '22:00', to: '07:00', zone: 'UTC' } };
  const muted = { ...ON, mutes: [{ project: 'default' }] };
  const errors = /** @type {const} */ (['low', 'normal', 'high', 'urgent']).map((priority, id) => notification(id, { type: 'error', priority }));
  assert.equal(selectAlerts(quiet, errors, noon).show.length, 4);
  for (const preferences of [quiet, muted]) {
    assert.deepEqual(selectAlerts(preferences, errors.slice(0, 3), night), { show: [], more: 0, sound: null });
    assert.deepEqual(selectAlerts(preferences, errors, night).show.map(({ priority }) => priority), ['urgent']);
  }
});

test('the notifications of the person are not shown to the person', () => {
  assert.deepEqual(selectAlerts(ON, [notification(1, { from: 'person' })], 0).show, []);
});

test('of a burst some are shown and the rest are counted', () => {
  const many = Array.from({ length: 50 }, (_, index) => notification(index + 1));
  const { show, more } = selectAlerts(ON, many, 0);
  assert.equal(show.length + more, 50);
  assert.deepEqual(show.map(({ id }) => id), [1, 2, 3, 4]);
  assert.equal(selectAlerts(ON, many.slice(0, 5), 0).more, 0, 'one alone is never counted');
});

test('a browser notification is tagged by its id, names sender and place, and stays while it needs an answer', () => {
  const { title, options } = alertFor(notification(7, { project: '/home/me/src/shop/' }));
  assert.equal(title, 'api asks, shop');
  assert.deepEqual([options.tag, options.body, options.requireInteraction, options.silent], ['7', 'Which db?', true, true]);
  assert.equal(alertFor(notification(8, { type: 'complete' })).options.requireInteraction, false);
});

test('a long message is cut between characters', () => {
  const { body = '' } = alertFor(notification(1, { msg: '😀'.repeat(500) })).options;
  assert.equal([...body].length, 240);
  assert.match(body, /^(😀)+…$/u);
});

test('a browser notification ends when its item is settled, read or superseded', () => {
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
  assert.equal(iconState(['question', 'gone'], 'live'), 'error');
  assert.equal(iconState(['error'], 'retrying'), 'offline');
  /** @param {number} count */
  const drawn = (count) => decodeURIComponent(iconUrl(count, 'waiting'));
  assert.match(drawn(3), /^data:image\/svg\+xml,<svg .*>3<\/text><\/svg>$/);
  assert.match(drawn(250), />99<\/text>/);
  assert.doesNotMatch(drawn(0), /<text/);
});

test('a question rises, an error falls, any other sound is one tone', () => {
  const [question, error, complete] = [tones('question'), tones('error'), tones('complete')].map((all) => all.map(({ hz }) => hz));
  assert.ok(question[1] > question[0]);
  assert.ok(error[1] < error[0]);
  assert.equal(complete.length, 1);
});

test('a direction mark in a browser notification is shown', () => {
  const { title, options } = alertFor({ id: 1, type: 'question', from: 'login', msg: 'rm \u202etxt', project: '/a/\u202eb', ts: '', priority: 'normal', expires_at: '' });
  assert.deepEqual([title, options.body], ['login asks, [U+202E]b', 'rm [U+202E]txt']);
});
