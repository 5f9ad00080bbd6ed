import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseRequest, splitHidden } from '../../web/core/tool.js';

test('a hook\'s permission shows the tool and the whole input, the command first', () => {
  const data = { via: 'hook', event: 'PermissionRequest', request: { tool_name: 'Bash', tool_input: { description: 'Clean', timeout: 5, command: 'rm -rf build\nls' } } };
  assert.deepEqual(parseRequest(data), {
    tool: 'Bash',
    parts: [{ name: 'command', text: 'rm -rf build\nls' }, { name: 'description', text: 'Clean' }, { name: 'timeout', text: '5' }],
  });
});

test('every field of the input is shown', () => {
  const data = { tool: 'Deploy', args: { to: { host: 'mill' } }, dry: false, note: 'x', none: null };
  assert.deepEqual(parseRequest(data), {
    tool: 'Deploy',
    parts: [{ name: 'to', text: '{\n  "host": "mill"\n}' }, { name: 'dry', text: 'false' }, { name: 'note', text: 'x' }],
  });
  assert.deepEqual(parseRequest({ tool_name: 'Bash', tool_input: 'ls' }), { tool: 'Bash', parts: [{ name: '', text: 'ls' }] });
  assert.deepEqual(parseRequest('rm -rf /'), { tool: '', parts: [{ name: '', text: 'rm -rf /' }] });
  assert.deepEqual(parseRequest(['a']), { tool: '', parts: [{ name: '', text: '[\n  "a"\n]' }] });
});

test('opencode\'s permission is read as it comes', () => {
  const data = { via: 'hook', event: 'permission.asked', request: { permission: { id: 'per_1', type: 'bash', pattern: 'git push', title: 'git push' } } };
  assert.deepEqual(parseRequest(data), {
    tool: 'bash',
    parts: [{ name: 'pattern', text: 'git push' }, { name: 'id', text: 'per_1' }, { name: 'title', text: 'git push' }],
  });
});

test('without data there is no request', () => {
  assert.equal(parseRequest(undefined), null);
  assert.equal(parseRequest({ via: 'hook', event: 'Notification', request: null }), null);
  assert.equal(parseRequest({}), null);
});

test('an invisible character is shown by its code point', () => {
  assert.deepEqual(splitHidden('rm \u202Eoof\u{E0041}'), [
    { text: 'rm ', hidden: false }, { text: 'U+202E', hidden: true }, { text: 'oof', hidden: false }, { text: 'U+E0041', hidden: true },
  ]);
  for (const hidden of ['\0', '\x1b', '\r', '\x7f', '\x9b', '\u00ad', '\u200b', '\u200d', '\u2066', '\u2028', '\ufeff', '\u3164']) {
    assert.equal(splitHidden(hidden)[0]?.hidden, true, JSON.stringify(hidden));
  }
  assert.deepEqual(splitHidden('a\tb\nc é 漢 😀'), [{ text: 'a\tb\nc é 漢 😀', hidden: false }]);
});
