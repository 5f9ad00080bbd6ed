import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

import { quoted, wayToLook, waysThere, waysToAnswer } from '../../web/core/commands.js';

test('a quoted word comes back from a real shell as it was', () => {
  const words = ['plain', 'a b', "it's", '', '$HOME', '`id`', '$(id)', 'a"b', 'back\\slash', 'new\nline', '*', '~', '-n', ';', '&&', '!1', 'é', '%7', '#', "''"];
  const line = `printf '%s\\0' ${words.map(quoted).join(' ')}`;
  const read = execFileSync('sh', ['-c', line], { encoding: 'utf8' }).split('\0').slice(0, -1);
  assert.deepEqual(read, words);
});

test('what needs no quotes has none, so that it is read easily', () => {
  assert.equal(quoted('/home/me/src/hub'), '/home/me/src/hub');
  assert.equal(quoted("it's"), String.raw`'it'\''s'`);
  assert.equal(quoted(''), "''");
});

test('the way to a session leads over its machine, its pane and its directory', () => {
  const lines = (/** @type {any[]} */ ...args) => waysThere(args[0], args[1]).map(({ line }) => line);
  assert.deepEqual(lines({ host: 'mill', cwd: '/home/me/a b', pane: '%7' }, 'desk'), [
    'ssh mill',
    "tmux select-window -t '%7' && tmux select-pane -t '%7'",
    "cd '/home/me/a b'",
  ]);
  assert.deepEqual(lines({ host: 'desk', cwd: '-odd' }, 'desk'), ['cd -- -odd']);
  assert.deepEqual(lines({ host: 'mill' }), [], 'without our own name nobody knows whether it is another machine');
  assert.deepEqual(lines({}), []);
});

test('no name leaves its word of the command', () => {
  assert.equal(waysThere({ host: 'a; rm -rf ~' }, 'b')[0]?.line, "ssh 'a; rm -rf ~'");
  assert.equal(wayToLook("o'", '/x y').line, String.raw`hubctl look 'o'\''' --project '/x y'`);
});

test('an approval is answered with allow or deny, a question with a text', () => {
  assert.deepEqual(waysToAnswer({ id: 41, type: 'question' }).map(({ line }) => line), ['hubctl answer 41 "…"']);
  assert.deepEqual(waysToAnswer({ id: 42, type: 'approval' }).map(({ line }) => line), ['hubctl answer 42 allow', 'hubctl answer 42 "deny: …"']);
});
