/** `test`, as of node:test, which undoes at its end whatever the support library started in it, also when it fails. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { after, test as nodeTest } from 'node:test';

/** No test takes this long; one that does hangs. */
const LONGEST = 90_000;

/** How long a step may take on a machine that is busy. */
export const DEADLINE = 15_000;

/** @typedef {() => unknown} Undo */
/** @typedef {{undo: Undo[]}} Scope */

/** @type {AsyncLocalStorage<Scope>} */
const scopes = new AsyncLocalStorage();

/** What was started outside any test lives until the file ends. @type {Scope} */
const fileScope = { undo: [] };
after(() => leave(fileScope));

/**
 * One promise. Started hubs end and pages close with it, and what pages complained about fails it.
 *
 * @param {string} name what holds
 * @param {import('node:test').TestOptions | ((t: import('node:test').TestContext) => void | Promise<void>)} options
 * @param {(t: import('node:test').TestContext) => void | Promise<void>} [body]
 */
export function test(name, options, body) {
  const [settings, run] = typeof options === 'function' ? [{}, options] : [options, body];
  return nodeTest(name, { timeout: LONGEST, ...settings }, (t) => {
    /** @type {Scope} */
    const scope = { undo: [] };
    // A test that takes too long is abandoned by node:test, with its hooks run: so they undo, not a `finally`.
    t.after(() => leave(scope));
    return scopes.run(scope, () => run?.(t));
  });
}

/**
 * Runs `undo` when the test ends, last first; outside a test, when the file ends.
 *
 * @param {Undo} undo
 */
export function atEnd(undo) {
  (scopes.getStore() ?? fileScope).undo.push(undo);
}

/** @param {Scope} scope */
async function leave(scope) {
  /** @type {unknown[]} */
  const errors = [];
  for (let undo = scope.undo.pop(); undo; undo = scope.undo.pop()) {
    try {
      await undo();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length) throw new AggregateError(errors, errors.map(String).join('\n'));
}

/**
 * Asks until the answer is truthy (or not an error), and gives it; fails at the deadline with what it saw last.
 *
 * @template T
 * @param {() => T | Promise<T>} ask
 * @param {{what?: string, deadline?: number, every?: number}} [options] ms
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(ask, { what = String(ask), deadline = DEADLINE, every = 20 } = {}) {
  const end = Date.now() + deadline;
  for (;;) {
    /** @type {unknown} */
    let last;
    try {
      const value = await ask();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() >= end) throw new Error(`not within ${deadline} ms: ${what}; last seen: ${show(last)}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

/** @param {unknown} value */
function show(value) {
  if (value instanceof Error) return value.message;
  return JSON.stringify(value) ?? String(value);
}
