/** The kinds of questions, and the answers that the hub takes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { acceptForm, composeAnswer, needOf, verdict } from '../../web/core/need.js';

const dialog = (/** @type {object} */ data, /** @type {object} */ more = {}) => needOf({ type: 'question', data: { via: 'hook', dialog: data }, ...more });

test('a dialog has its questions, with the descriptions of the options', () => {
  const questions = [{ question: 'Which?', header: 'H', options: [{ label: 'a', description: 'the first' }, { label: 'b' }, {}] }, { question: 'More?', multiSelect: true, options: [] }];
  assert.deepEqual(dialog({ tool_name: 'AskUserQuestion', tool_input: { questions } }), {
    kind: 'asks',
    asks: [
      { question: 'Which?', header: 'H', multiSelect: false, options: [{ label: 'a', description: 'the first' }, { label: 'b', description: '' }] },
      { question: 'More?', header: '', multiSelect: true, options: [] },
    ],
  });
});

test('a broken dialog is a question with the options that the hub found', () => {
  for (const questions of [undefined, null, [], [{}], 'x', [{ question: 4 }]]) {
    assert.deepEqual(dialog({ tool_input: { questions } }, { options: ['x'] }), { kind: 'text', options: ['x'] });
  }
  for (const data of [undefined, null, 'x', [], { dialog: null }, { __proto__: { dialog: {} } }]) assert.equal(needOf({ type: 'question', data }).kind, 'text');
});

test('a plan may be approved with edits, the wish to plan may not', () => {
  assert.deepEqual(dialog({ tool_name: 'ExitPlanMode', tool_input: { plan: '# P' } }), { kind: 'plan', plan: '# P', edits: true });
  assert.deepEqual(dialog({ tool_name: 'EnterPlanMode' }), { kind: 'plan', plan: '', edits: false });
});

test('a request that the hub had to cut is not to be approved', () => {
  assert.deepEqual(needOf({ type: 'approval', data: { via: 'hook', cut: '90000 bytes', request: {} } }), { kind: 'permission', always: '', cut: true });
  const dialog = { tool_name: 'ExitPlanMode', tool_input: { plan: '1. do…' } };
  assert.deepEqual(needOf({ type: 'question', data: { cut: '90000 bytes', dialog } }), { kind: 'plan', plan: '1. do…', edits: true, cut: true });
});

test('a permission names the rules that the agent suggests', () => {
  const always = (/** @type {unknown} */ suggestions) => /** @type {any} */ (needOf({ type: 'approval', data: { request: { suggestions } } })).always;
  assert.equal(always([{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'npm test:*' }], behavior: 'allow' }]), 'Bash(npm test:*)');
  assert.equal(always([{ type: 'setMode', mode: 'acceptEdits' }, { type: 'addDirectories', directories: ['/a'] }]), 'all edits, the directory /a');
  for (const none of [undefined, [], {}, [{}], [null]]) assert.equal(always(none), '');
});

test('a form has the fields of its schema', () => {
  const properties = {
    port: { type: 'integer', title: 'Port', default: 80 }, tls: { type: 'boolean' }, name: { type: 'string', description: 'Short' },
    db: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] }, kind: { oneOf: [{ const: 'x', title: 'X' }] }, tags: { type: 'array', items: { enum: ['t'] } },
  };
  const need = dialog({ requested_schema: { type: 'object', properties, required: ['port'] } });
  assert.equal(need.kind, 'form');
  assert.deepEqual(/** @type {any} */ (need).fields.map((/** @type {any} */ it) => [it.name, it.label, it.type, it.required, it.choices.map((/** @type {any} */ one) => one.label).join()]), [
    ['port', 'Port', 'integer', true, ''], ['tls', 'tls', 'boolean', false, ''], ['name', 'name', 'text', false, ''],
    ['db', 'db', 'choice', false, 'A,B'], ['kind', 'kind', 'choice', false, 'X'], ['tags', 'tags', 'choices', false, 't'],
  ]);
  assert.equal(acceptForm({ port: 80 }), 'accept: {"port":80}');
});

test('the answers to several questions stay apart', () => {
  assert.equal(composeAnswer([{ labels: ['a'], other: '' }]), 'a');
  assert.equal(composeAnswer([{ labels: ['a', 'b'], other: ' own; words\nhere ' }]), 'a, b, own; words\nhere');
  assert.deepEqual(composeAnswer([{ labels: ['a'], other: '' }, { labels: ['keep; rename'], other: '' }]), ['a', 'keep; rename']);
  assert.equal(composeAnswer([{ labels: ['a'], other: '' }, { labels: [], other: ' ' }]), null);
});

test('a reason follows its verdict', () => {
  assert.deepEqual([verdict('deny', ' '), verdict('reject', ' too big ')], ['deny', 'reject: too big']);
});
