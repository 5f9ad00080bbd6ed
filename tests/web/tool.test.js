import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { parseRequest, showDirection, splitHidden } from '../../web/core/tool.js';

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

test('without data there is no request', () => {
  assert.equal(parseRequest(undefined), null);
  assert.equal(parseRequest({ via: 'hook', event: 'Notification', request: null }), null);
  assert.equal(parseRequest({}), null);
});

test('an invisible character is shown by its code point', () => {
  assert.deepEqual(splitHidden('rm \u202Eoof\u{E0041}'), [
    { text: 'rm ', hidden: false }, { text: 'U+202E', hidden: true }, { text: 'oof', hidden: false }, { text: 'U+E0041', hidden: true },
  ]);
});

/** `protocol/src/text.rs` reads the same file. */
test('hidden are exactly the characters of the table', () => {
  const { ranges, texts } = JSON.parse(readFileSync(new URL('../fixtures/hidden.json', import.meta.url), 'utf8'));
  const listed = ranges.map((/** @type {string[]} */ range) => range.map((code) => parseInt(code, 16)));
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const expected = listed.some((/** @type {number[]} */ [first, last]) => code >= first && code <= last);
    assert.equal(splitHidden(String.fromCodePoint(code))[0]?.hidden, expected, code.toString(16));
  }
  for (const { text, shown } of texts) {
    assert.equal(splitHidden(text).map((it) => (it.hidden ? `[${it.text}]` : it.text)).join(''), shown);
  }
});

test('the change of a file is read from the input of every editing tool', () => {
  const changeOf = (/** @type {object} */ input) => {
    const request = parseRequest({ tool_name: 'T', tool_input: input });
    return [request?.change, request?.parts.map(({ name }) => name)];
  };
  const edit = { before: 'a', after: 'b', all: false };
  assert.deepEqual(changeOf({ file_path: '/x', old_string: 'a', new_string: 'b' }), [{ path: '/x', edits: [edit] }, []]);
  assert.deepEqual(changeOf({ filePath: '/x', oldString: 'a', newString: 'b', more: 1 }), [{ path: '/x', edits: [edit] }, ['more']]);
  assert.deepEqual(changeOf({ file_path: '/x', content: 'b' }), [{ path: '/x', edits: [{ before: '', after: 'b', all: false }] }, []]);
  assert.deepEqual(changeOf({ file_path: '/x', edits: [{ old_string: 'a', new_string: 'b', replace_all: true }] }), [{ path: '/x', edits: [{ ...edit, all: true }] }, []]);
});

test('an input that is no plain change of a file is shown field by field', () => {
  for (const input of [
    { file_path: '/x', old_string: 'a' }, { file_path: '/x', filePath: '/y', content: 'b' }, { file_path: 1, content: 'b' },
    { file_path: '/x', old_string: 'a', oldString: 'c', new_string: 'b' }, { file_path: '/x', edits: [{ old_string: 'a', new_string: 'b', more: 1 }] },
  ]) {
    const request = parseRequest({ tool_name: 'T', tool_input: input });
    assert.equal(request?.change, undefined);
    assert.deepEqual(request?.parts.map(({ name }) => name).sort(), Object.keys(input).sort());
  }
});

test('suggested rules are no part of the request', () => {
  assert.deepEqual(parseRequest({ via: 'hook', request: { tool_name: 'Bash', tool_input: { command: 'ls' }, suggestions: [{}] } }), { tool: 'Bash', parts: [{ name: 'command', text: 'ls' }] });
});

test('marks that change the direction of a text are shown', () => {
  assert.equal(showDirection('a\u202eb\u2066c\u200f \u200d'), 'a[U+202E]b[U+2066]c[U+200F] \u200d');
});
