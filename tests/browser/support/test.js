/**
 * `test`, like that of node:test. When it ends or fails, it undoes everything that the support library started in it.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { after, test as nodeTest } from "node:test";

/** Timeout of a test, in ms; a test that takes longer hangs. */
const LONGEST = 480_000;

/** Timeout of one step on a busy machine, in ms. */
export const DEADLINE = 120_000;

/** @typedef {() => unknown} Undo */
/** @typedef {{undo: Undo[]}} Scope */

/** @type {AsyncLocalStorage<Scope>} */
const scopes = new AsyncLocalStorage();

/** Things started outside any test live until the file ends. @type {Scope} */
const fileScope = { undo: [] };
after(() => leave(fileScope));

/**
 * Declares a test. At its end its hubs are killed and its pages closed; complaints of its pages fail it.
 *
 * @param {string} name what holds
 * @param {import('node:test').TestOptions | ((t: import('node:test').TestContext) => void | Promise<void>)} options
 * @param {(t: import('node:test').TestContext) => void | Promise<void>} [body]
 */
export function test(name, options, body) {
  const [settings, run] =
    typeof options === "function" ? [{}, options] : [options, body];
  return nodeTest(name, { timeout: LONGEST, ...settings }, (t) => {
    /** @type {Scope} */
    const scope = { undo: [] };
    // node:test abandons a test that takes too long but runs its hooks, so a hook undoes everything, not a `finally`.
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
  if (errors.length)
    throw new AggregateError(errors, errors.map(String).join("\n"));
}

/**
 * Polls `ask` until it returns a truthy value, and returns that; at the deadline throws with the last value or error.
 *
 * @template T
 * @param {() => T | Promise<T>} ask
 * @param {{what?: string, deadline?: number, every?: number}} [options] ms
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(
  ask,
  { what = String(ask), deadline = DEADLINE, every = 20 } = {},
) {
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
    if (Date.now() >= end)
      throw new Error(
        `not within ${deadline} ms: ${what}; last seen: ${show(last)}`,
        { cause: last },
      );
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

/** @param {unknown} value */
function show(value) {
  if (value instanceof Error) return value.message;
  return JSON.stringify(value) ?? String(value);
}
