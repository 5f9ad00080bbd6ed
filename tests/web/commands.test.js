import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

import { quoted, wayToLook, waysThere } from '../../web/core/commands.js';

test('a real shell parses a quoted word back to the original', () => {
  const words = ['plain', 'a b', "it's", '', '$HOME', '`id`', '$(id)', 'a"b', 'back\\slash', 'new\nline', '*', '~', '-n', ';', '&&', '!1', 'é', '%7', '#', "''"];
  const line = `printf '%s\\0' ${words.map(quoted).join(' ')}`;
  const read = execFileSync('sh', ['-c', line], { encoding: 'utf8' }).split('\0').slice(0, -1);
  assert.deepEqual(read, words);
});

test('a word that needs no quotes has none', () => {
  assert.equal(quoted('/home/me/src/hub'), '/home/me/src/hub');
  assert.equal(quoted("it's"), String.raw`'it'\''s'`);
  assert.equal(quoted(''), "''");
});

test('the commands that lead to a session name its machine, its pane and its directory', () => {
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

test('no name breaks out of its word of the command', () => {
  assert.equal(waysThere({ host: 'a; rm -rf ~' }, 'b')[0]?.line, "ssh 'a; rm -rf ~'");
  assert.equal(wayToLook("o'", '/x y').line, String.raw`hubctl look 'o'\''' --project '/x y'`);
});
