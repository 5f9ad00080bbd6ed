import assert from 'node:assert/strict';
import { test } from 'node:test';

import { actionOf, caps, KEYS } from '../../web/core/keys.js';

test('each key has one action per scope, and the help lists it', () => {
  for (const { scope, keys } of KEYS) {
    for (const key of keys) {
      const same = KEYS.filter((it) => it.keys.includes(key) && (it.scope === scope || [it.scope, scope].includes('Everywhere')));
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
  assert.equal(actionOf({ ...press, key: '2' }, false), null);
  assert.equal(actionOf({ ...press, key: 'g' }, false), 'sessions');
  assert.equal(actionOf({ ...press, key: '2' }, false, 'Needs you'), 'option');
  assert.equal(actionOf({ ...press, key: 'a' }, false), null);
  assert.equal(actionOf(press, true), null);
  assert.equal(actionOf({ ...press, key: 'Escape' }, true), 'close');
  assert.equal(actionOf({ ...press, ctrlKey: true }, false), null);
});
