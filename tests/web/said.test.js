import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { asCurl, asHubctl, describe, pretty, thread } from '../../web/core/said.js';

/** @typedef {import('../../web/core/types.js').Notification} Notification */

/**
 * @param {number} id
 * @param {number} [reply_to]
 * @returns {Notification}
 */
const said = (id, reply_to) => ({
  id, ts: '', expires_at: '', from: 'a', type: 'message', msg: `m${id}`, project: 'p', priority: 'normal', ...(reply_to && { reply_to }),
});

/** @param {Notification[]} all */
const known = (all) => ({
  get: (/** @type {number} */ id) => all.find((one) => one.id === id),
  replies: (/** @type {number} */ id) => all.filter((one) => one.reply_to === id),
});

/** Returns the words that a shell parses from a command. @param {string} command */
const words = (command) => execFileSync('sh', ['-c', `for word in ${command}; do printf '%s\\0' "$word"; done`], { encoding: 'utf8' }).split('\0').slice(0, -1);

test('a thread is the whole exchange, from any of its notifications', () => {
  const all = [said(1), said(2, 1), said(3, 2), said(4, 1), said(5)];
  for (const id of [1, 2, 3, 4]) {
    const found = thread(/** @type {Notification} */ (known(all).get(id)), known(all));
    assert.deepEqual(found.map((one) => one.id), [1, 2, 3, 4]);
  }
  assert.deepEqual(thread(said(5), known(all)).map((one) => one.id), [5]);
});

test('a circle of replies ends', () => {
  const all = [said(1, 2), said(2, 1)];
  assert.deepEqual(thread(all[0], known(all)).map((one) => one.id), [1, 2]);
});

test('each step of a delivery is a sentence', () => {
  assert.deepEqual(describe({ state: 'stored', at: '', inbox: 'primary' }), { text: 'Stored for primary', why: '' });
  assert.equal(describe({ state: 'superseded', at: '', by: '47' }).text, 'Replaced by #47');
  assert.match(describe({ state: 'emitted', at: '', inbox: 'w', way: 'rewake' }).why, /woke/);
  assert.deepEqual(describe({ state: 'held', inbox: 'w', limit: '5 wakes a minute by ci' }), { text: 'Held back from w', why: 'limit: 5 wakes a minute by ci' });
  assert.equal(describe(/** @type {any} */ ({ state: 'new in a later hub' })).text, 'new in a later hub');
});

test('the command for hubctl sends the same reply, for any text', () => {
  const hard = { ...said(7, 3), msg: `-rf $(id) "x" 'y'\nz`, title: "it's", data: { a: "'" }, to: 'primary' };
  assert.deepEqual(words(asHubctl(hard)), [
    'hubctl', 'notify', '--from', 'a', '--to', 'primary', '--type', 'message', '--project', 'p', '--title', "it's",
    '--reply-to', '3', '--data', `{"a":"'"}`, '--', hard.msg,
  ]);
});

test('the command for curl sends every field that can be sent', () => {
  const seen = { ...said(7), msg: `$(id) '`, status: 'acked', seen: true, hops: 2, received: '' };
  const all = words(asCurl(seen, 'http://127.0.0.1:4782', '/home/a b'));
  assert.deepEqual(all.slice(0, 4), ['curl', '-H', '@/home/a b/auth.header', '-d']);
  assert.deepEqual(JSON.parse(all[4] ?? ''), { from: 'a', type: 'message', msg: `$(id) '`, project: 'p', priority: 'normal' });
  assert.equal(all[5], 'http://127.0.0.1:4782/notify');
});

test('data is shown in its most readable form', () => {
  assert.equal(pretty('text'), 'text');
  assert.equal(pretty({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}');
});
