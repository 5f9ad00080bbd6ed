/** How long it takes until a person sees a change. The figures are printed; the assertions are only sanity bounds. */

import assert from 'node:assert/strict';

import { newContext, openDashboard, startHub, test, until } from './support/index.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const ROUNDS = 30;
/** A thousand times the usual latency, in ms; a higher value means that something is broken. */
const SANE = 5000;

for (const history of [0, 10_000]) {
  test(`a notification is shown soon, with ${history} notifications in the history`, async (t) => {
    const hub = await startHub();
    await fill(hub, history);
    const page = await openDashboard(hub);
    const ahead = await clockOf(page);
    /** @type {number[]} */
    const took = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const text = `round ${round} of the measurement`;
      const seen = page.evaluate(drawnAt, { selector: 'hub-feed hub-row', text });
      // The observer is installed and the page is idle.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      const start = performance.now();
      await hub.post({ msg: text, from: `worker-${round}`, type: 'message' });
      took.push((await seen) - ahead - start);
    }
    const figures = summary(took);
    t.diagnostic(`POST to pixels, history of ${history}: ${figures.text}`);
    assert.ok(figures.median > 0 && figures.median < SANE, figures.text);
  });
}

test('a question that is answered elsewhere disappears soon', async (t) => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const ahead = await clockOf(page);
  /** @type {number[]} */
  const took = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { id } = await hub.post({ msg: `question ${round}`, from: `worker-${round}`, type: 'question', options: ['yes', 'no'] });
    await page.locator(`hub-question[data-id="${id}"]`).waitFor();
    const gone = page.evaluate(drawnAt, { selector: `hub-question[data-id="${id}"]` });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const start = performance.now();
    await hub.call('POST', `/questions/${id}/answer`, { answer: 'yes' });
    took.push((await gone) - ahead - start);
  }
  const figures = summary(took);
  t.diagnostic(`answered elsewhere to gone here: ${figures.text}`);
  assert.ok(figures.median > 0 && figures.median < SANE, figures.text);
});

for (const history of [0, 10_000]) {
  test(`the page loads soon, with ${history} notifications in the history`, async (t) => {
    const hub = await startHub();
    await fill(hub, history);
    /** @type {{paint: number, full: number}[]} */
    const cold = [];
    for (let round = 0; round < 5; round += 1) {
      // A new profile has an empty cache.
      const context = await newContext({ viewport: { width: 1280, height: 900 } });
      await context.addInitScript(watchFirst);
      const page = await openDashboard(hub, { context });
      if (history) await page.locator('hub-feed hub-row').nth(9).waitFor();
      cold.push(await until(() => page.evaluate(firstOf), { what: 'the first paint' }));
      await context.close();
    }
    const paint = summary(cold.map((one) => one.paint));
    const full = summary(cold.map((one) => one.full));
    t.diagnostic(`first paint, cold, history of ${history}: ${paint.text}; with what the hub knows: ${full.text}`);
    assert.ok(full.median > 0 && full.median < SANE, full.text);
  });
}

test('a burst of 2,000 notifications in 5 s is shown without long tasks', async (t) => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await page.evaluate(watchLongTasks);
  const start = performance.now();
  for (let sent = 0; sent < 2000; sent += 10) {
    await new Promise((resolve) => setTimeout(resolve, start + sent * 2.5 - performance.now()));
    await hub.post(Array.from({ length: 10 }, (_, n) => ({ msg: `notification ${sent + n} of a burst`, from: `worker-${n}`, type: 'message' })));
  }
  await page.locator('hub-feed hub-row', { hasText: 'notification 1999 of a burst' }).waitFor();
  const figures = summary(await page.evaluate(() => /** @type {any} */ (window).__tasks));
  t.diagnostic(`2,000 notifications in ${((performance.now() - start) / 1000).toFixed(1)} s; tasks over 50 ms: ${figures.text}`);
  assert.ok(!(figures.worst > SANE), figures.text);
});

/** @param {Hub} hub @param {number} count */
async function fill(hub, count) {
  const types = ['message', 'progress', 'message', 'message'];
  for (let first = 0; first < count; first += 500) {
    const now = Date.now();
    await hub.post(
      Array.from({ length: Math.min(500, count - first) }, (_, n) => {
        const at = first + n;
        return { msg: `notification ${at} of many`, from: `worker-${at % 40}`, project: `/src/p${at % 5}`, type: types[at % 4], ts: new Date(now - (count - at) * 1000).toISOString() };
      }),
    );
  }
}

/** How far the page's clock is ahead of this one, in ms, from the fastest of several calls. @param {Page} page */
async function clockOf(page) {
  let best = { took: Infinity, ahead: 0 };
  for (let n = 0; n < 40; n += 1) {
    const before = performance.now();
    const there = await page.evaluate(() => performance.now());
    const took = performance.now() - before;
    if (took < best.took) best = { took, ahead: there - (before + took / 2) };
  }
  return best.ahead;
}

/**
 * Runs in the page: when the frame is drawn in which an element with the text exists, or without a text no element; or
 * at most the next frame.
 *
 * @param {{selector: string, text?: string}} expected
 * @returns {Promise<number>}
 */
function drawnAt({ selector, text }) {
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const found = [...document.querySelectorAll(selector)].slice(0, 5).some((element) => element.textContent?.includes(text ?? ''));
      if (found !== (text !== undefined)) return;
      observer.disconnect();
      // A frame callback runs before its frame is drawn, and a message after it.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now());
        port2.postMessage(null);
      });
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

/** Runs in the page before its scripts: records when everything that the hub knows is drawn. */
function watchFirst() {
  const observer = new MutationObserver(() => {
    if (!document.querySelector('hub-app[data-ready]')) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => (/** @type {any} */ (window).__full = performance.now())));
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-ready'] });
}

/** Runs in the page: collects the durations of tasks that block it for more than 50 ms. */
function watchLongTasks() {
  const tasks = /** @type {any} */ (window).__tasks = /** @type {number[]} */ ([]);
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
}

/** Runs in the page: the times of the first and of the full drawing, in ms after the page was opened. */
function firstOf() {
  const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  const full = /** @type {any} */ (window).__full;
  return paint && full ? { paint, full } : null;
}

/** @param {number[]} times ms */
function summary(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  const [median, late, worst] = [at(0.5), at(0.9), at(1)];
  return { median, worst, text: `median ${median.toFixed(1)} ms, p90 ${late.toFixed(1)} ms, worst ${worst.toFixed(1)} ms (${times.length})` };
}
