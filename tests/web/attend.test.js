import assert from 'node:assert/strict';
import { test } from 'node:test';

import { choose, icon, isOver, mood, notice, title, tones } from '../../web/core/attend.js';
import { cronLine, firstCurl } from '../../web/core/first.js';
import { actionOf, caps, KEYS } from '../../web/core/keys.js';

/** @typedef {import('../../web/core/types.js').Notification} Notification */

const OFF = /** @type {import('../../web/core/types.js').Preferences} */ ({ quiet: null, mutes: [], notify: [], sound: [] });
const ON = { ...OFF, notify: /** @type {any} */ (['question', 'error']), sound: /** @type {any} */ (['error']) };

/**
 * @param {number} id
 * @param {Partial<Notification>} [more]
 * @returns {Notification}
 */
function said(id, more = {}) {
  const ts = '2026-01-10T12:00:00Z';
  return { id, ts, from: 'api', type: 'question', msg: 'Which db?', project: 'default', priority: 'normal', expires_at: ts, ...more };
}

test('before the person asks, no notification is shown and no sound is played', () => {
  assert.deepEqual(choose(OFF, [said(1), said(2, { priority: 'urgent' })], 0), { show: [], more: 0, sound: null });
});

test('only the requested types are shown, the most urgent first, with one sound for all', () => {
  const news = [said(1), said(2, { type: 'complete' }), said(3, { type: 'error' }), said(4, { type: 'error', priority: 'urgent' })];
  const { show, more, sound } = choose(ON, news, 0);
  assert.deepEqual([show.map(({ id }) => id), more, sound], [[4, 1, 3], 0, 'error']);
});

test('a mute or quiet hours suppress notification and sound, unless it is urgent', () => {
  const muted = { ...ON, mutes: [{ project: 'default' }] };
  assert.deepEqual(choose(muted, [said(1), said(2, { type: 'error' })], 0), { show: [], more: 0, sound: null });
  assert.deepEqual(choose(muted, [said(3, { priority: 'urgent' })], 0).show.map(({ id }) => id), [3]);
});

test('the notifications of the person are not shown to the person', () => {
  assert.deepEqual(choose(ON, [said(1, { from: 'person' })], 0).show, []);
});

test('of a burst some are shown and the rest are counted', () => {
  const many = Array.from({ length: 50 }, (_, index) => said(index + 1));
  const { show, more } = choose(ON, many, 0);
  assert.equal(show.length + more, 50);
  assert.deepEqual(show.map(({ id }) => id), [1, 2, 3, 4]);
  assert.equal(choose(ON, many.slice(0, 5), 0).more, 0, 'one alone is never counted');
});

test('a browser notification is tagged by its id, names sender and place, and stays while it needs an answer', () => {
  const { title, options } = notice(said(7, { project: '/home/me/src/shop/' }));
  assert.equal(title, 'api asks, shop');
  assert.deepEqual([options.tag, options.body, options.requireInteraction, options.silent], ['7', 'Which db?', true, true]);
  assert.equal(notice(said(8, { type: 'complete' })).options.requireInteraction, false);
});

test('a long message is cut between characters', () => {
  const { body = '' } = notice(said(1, { msg: '😀'.repeat(500) })).options;
  assert.equal([...body].length, 240);
  assert.match(body, /^(😀)+…$/u);
});

test('a browser notification ends when its item is settled, read or superseded', () => {
  const question = /** @type {any} */ ({ id: 1, state: 'open' });
  assert.equal(isOver(said(1), question), false);
  assert.equal(isOver(said(1), { ...question, state: 'claimed' }), false);
  for (const state of ['answered', 'withdrawn', 'superseded', 'expired']) assert.equal(isOver(said(1), { ...question, state }), true);
  assert.equal(isOver(said(1, { seen: true })), true);
  assert.equal(isOver(said(1, { status: 'superseded' })), true);
  assert.equal(isOver(said(1, { status: 'acked' })), false);
  assert.equal(isOver(undefined), false);
});

test('title and icon show the count and the most severe item', () => {
  assert.deepEqual([title(0), title(3)], ['hub', '(3) hub']);
  assert.equal(mood([], 'live'), 'calm');
  assert.equal(mood(['question', 'silent'], 'live'), 'asks');
  assert.equal(mood(['question', 'gone'], 'live'), 'error');
  assert.equal(mood(['error'], 'retrying'), 'away');
  /** @param {number} count */
  const drawn = (count) => decodeURIComponent(icon(count, 'asks'));
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

test('the first commands hold the hub\'s own paths, quoted for the shell', () => {
  const plain = { origin: 'http://127.0.0.1:4799', stateDir: '/var/lib/hub' };
  assert.equal(firstCurl(plain), "curl -H @/var/lib/hub/auth.header -d 'backup done' http://127.0.0.1:4799/notify");
  const odd = { origin: 'http://[::1]:4799', stateDir: "/home/o'neil/my 100% state" };
  assert.equal(firstCurl(odd), "curl -H '@/home/o'\\''neil/my 100% state/auth.header' -d 'backup done' 'http://[::1]:4799/notify'");
  assert.match(firstCurl({ ...plain, stateDir: null }), /@"\$HOME\/\.local\/state\/hub\/auth\.header"/);
});

test('a cron line has no bare per cent sign, which would end it', () => {
  const line = cronLine({ origin: 'http://127.0.0.1:4799', stateDir: '/home/me/100%' });
  assert.doesNotMatch(line, /(?<!\\)%/);
  assert.match(line, /^0 3 \* \* \* backup; curl .*'http:\/\/127\.0\.0\.1:4799\/notify\?from=cron'$/);
});

test('each key has one action per place, and the help lists it', () => {
  for (const { where, keys } of KEYS) {
    for (const key of keys) {
      const same = KEYS.filter((it) => it.keys.includes(key) && (it.where === where || it.where === 'Everywhere' || where === 'Everywhere'));
      assert.equal(same.length, 1, key);
    }
  }
  assert.deepEqual(caps('Shift+E'), ['Shift', 'E']);
});

test('a key acts outside of fields only, and never together with the keys of the browser', () => {
  const press = { key: 'e', shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
  assert.equal(actionOf(press, false), 'seen');
  assert.equal(actionOf({ ...press, key: 'E', shiftKey: true }, false), 'all-seen');
  assert.equal(actionOf({ ...press, key: '?', shiftKey: true }, false), 'help');
  assert.equal(actionOf(press, true), null);
  assert.equal(actionOf({ ...press, key: 'Escape' }, true), 'close');
  assert.equal(actionOf({ ...press, ctrlKey: true }, false), null);
});
