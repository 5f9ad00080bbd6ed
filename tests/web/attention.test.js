import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attentionItems, counts, settlementText, wordsOf } from '../../web/core/attention.js';
import { queueOf, successor } from '../../web/core/queue.js';

/** @typedef {import('../../web/core/types.js').Session} Session */
/** @typedef {import('../../web/core/types.js').Need} Need */
/** @typedef {import('../../web/core/types.js').Question} Question */

const NOW = Date.parse('2026-11-22T12:00:00Z');
const at = (/** @type {number} */ minute) => `2026-11-22T11:${String(minute).padStart(2, '0')}:00.000Z`;

/** @param {Partial<Session> & {id: string}} fields @returns {Session} */
const session = (fields) => ({ name: fields.id, project: '/src/hub', primary: false, gone: false, silent: false, pending: 0, wake: 'none', phase: { name: 'working', since: at(0) }, ...fields });
const phase = (/** @type {import('../../web/core/types.js').Phase['name']} */ name, since = at(1), more = {}) => ({ phase: { name, since, ...more } });
/** @param {Partial<Question> & {id: number}} fields @returns {Question} */
const question = (fields) => ({ project: '/src/hub', from: 'w1', type: 'question', ts: at(0), expires_at: at(59), state: 'open', msg: 'Why?', text: 'Why?', complete: true, deliverable: true, controls: [{ type: 'reply' }], ...fields });
/** @param {Partial<Need> & {id: string}} fields @returns {Need} */
const need = (fields) => ({ kind: 'turn', since: at(1), project: '/src/hub', name: fields.session ?? 'w1', priority: 'normal', title: 'has stopped', brief: 'Done', complete: true, revision: 1, counts: true, closable: fields.kind !== 'question', ...fields });

/**
 * @param {{sessions?: Session[], ended?: Session[], needs?: Need[], questions?: Question[]}} all
 * @returns {import('../../web/core/attention.js').Known}
 */
function known({ sessions = [], ended = [], needs = [], questions = [] }) {
  const places = (/** @type {Session[]} */ list) => new Map(list.map((it) => [`${it.project}/${it.id}`, it]));
  return {
    sessions: places(sessions),
    endedSessions: places(ended),
    needs,
    questions: new Map(questions.map((it) => [it.id, it])),
  };
}
const keys = (/** @type {Parameters<typeof known>[0]} */ all) => attentionItems(known(all)).map(({ kind, name }) => `${name} ${kind}`);

test('the order is the hub’s, and a question that it does not rank yet comes last', () => {
  const sessions = [session({ id: 'bad' }), session({ id: 'w1', name: 'login' })];
  const needs = [need({ id: '9', kind: 'question', notification: 9 }), need({ id: 's3', kind: 'error', session: 'bad', since: at(3) }), need({ id: 's1', kind: 'silent', session: 'still' })];
  const questions = [question({ id: 8, ts: at(2), type: 'approval', from: 'nobody' }), question({ id: 9, ts: at(4) })];
  assert.deepEqual(keys({ sessions, needs, questions }), ['login question', 'bad error', 'still silent', 'nobody approval']);
});

test('a settled question needs no answer; a claimed one still does', () => {
  const states = /** @type {const} */ (['claimed', 'answered', 'withdrawn', 'superseded', 'expired']);
  assert.deepEqual(keys({ questions: states.map((state, id) => question({ id, state, from: state })) }), ['claimed question']);
});

test('what the hub does not count is shown', () => {
  const kinds = /** @type {const} */ (['turn', 'error', 'died', 'urgent', 'limit', 'silent']);
  const items = attentionItems(known({ needs: kinds.map((kind, at) => need({ id: kind, kind, counts: at < 4 })) }));
  assert.deepEqual([items.length, items.filter(counts).map(({ kind }) => kind).sort()], [6, ['died', 'error', 'turn', 'urgent']]);
});

test('an answer is on its way until the agent has it, and its need is in the queue no more', () => {
  const deliveries = /** @type {const} */ ([undefined, 'stored', 'delivered', 'taken', 'terminal']);
  const questions = [...deliveries.map((delivery, id) => question({ id, state: 'answered', delivery, from: String(delivery) })), question({ id: 9, from: 'held' }), question({ id: 10, from: 'open' })];
  const needs = [need({ id: 's1', session: 'ended' }), need({ id: 's2', kind: 'limit', session: 'limited', counts: false })];
  const queue = (/** @type {number} */ recent) => queueOf(known({ questions, needs }), { isAnswered: (id) => id === 9, isRecent: (id) => id === recent, isEnding: (key) => key === 's1' });
  const names = (/** @type {import('../../web/core/attention.js').AttentionItem[]} */ items) => items.map(({ name }) => name);
  assert.deepEqual(names(queue(-1).sent), ['stored', 'delivered', 'held']);
  assert.deepEqual(names(queue(3).sent), ['stored', 'delivered', 'taken', 'held'], 'its result is shown for a moment');
  assert.deepEqual([names(queue(-1).open), names(queue(-1).later)], [['open'], ['limited']]);
});

test('the next need is selected instead of one that is gone, else the previous one', () => {
  assert.equal(successor('b', ['a', 'b', 'c', 'd'], ['a', 'd']), 'd');
  assert.equal(successor('c', ['a', 'b', 'c'], ['a', 'b']), 'b');
  assert.equal(successor('x', ['a'], ['a', 'b']), 'a', 'an unknown one');
  assert.equal(successor('a', ['a'], []), '');
});

test('each need keeps its key while it is the same', () => {
  const all = { needs: [need({ id: 's2' })], questions: [question({ id: 9 })] };
  const before = attentionItems(known(all)).map(({ key }) => key);
  const after = attentionItems(known({ ...all, questions: [question({ id: 9, state: 'claimed' })] })).map(({ key }) => key);
  assert.deepEqual(before, after);
  assert.equal(new Set(before).size, 2);
});

test('a hook\'s words are shown without its own before them; nobody else claims them', () => {
  assert.equal(wordsOf({ msg: 'Agent login asks: Which?', data: { via: 'hook', said: 'Which?' } }), 'Which?');
  for (const data of [undefined, { said: 'x' }, { via: 'hook' }, 'x']) assert.equal(wordsOf({ msg: 'Agent login asks: x', data }), 'Agent login asks: x');
});

test('a settled question names its winner and the answer', () => {
  assert.equal(settlementText('login', question({ id: 1, state: 'answered', by: 'lead', answer: '8080' })), 'login’s question was answered by lead: 8080');
  assert.equal(settlementText('login', question({ id: 1, state: 'answered', by: 'person', answer: '8080' })), 'login’s question was answered elsewhere: 8080');
  assert.equal(settlementText('login', question({ id: 1, state: 'withdrawn', by: 'resumed', type: 'approval' })), 'login continued: its approval is settled.');
  assert.equal(settlementText('login', question({ id: 1, state: 'expired' })), 'login’s question is expired.');
});
