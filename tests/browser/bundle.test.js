/** The dashboard as it is shipped: few requests, few bytes, and kept by the browser. */

import assert from 'node:assert/strict';

import { newContext, openAnew, openDashboard, startHub, test } from './support/index.js';

/** @typedef {import('playwright-core').Page} Page */

const MAX_FILES = 4;
/** The calls until the page is complete and live, without the hub's proofs before them. */
const CALLS = ['/login', '/dashboard', '/events'];
const MAX_BYTES = 120_000;

test('the first load takes few requests and few bytes over the wire', async (t) => {
  const hub = await startHub();
  const context = await newContext();
  /** @type {string[]} */
  const files = [];
  /** @type {string[]} */
  const calls = [];
  context.on('request', (request) => {
    const isCall = ['fetch', 'xhr', 'eventsource'].includes(request.resourceType());
    const { pathname, searchParams } = new URL(request.url());
    // The stream by which the hub knows that the page has the focus carries nothing that the page waits for.
    if (!searchParams.has('focused')) (isCall ? calls : files).push(pathname);
  });
  const page = await openDashboard(hub, { context });
  const entries = await transfers(page);
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  t.diagnostic(`${files.length} files and ${calls.length} calls, ${bytes} bytes together`);
  assert.ok(files.length <= MAX_FILES, files.join(' '));
  const first = calls.slice(0, calls.indexOf('/events') + 1);
  assert.deepEqual(first.filter((path) => path !== '/hello'), CALLS);
  assert.ok(bytes <= MAX_BYTES, JSON.stringify(entries));
  for (const kind of ['js', 'css']) {
    const [only, ...more] = entries.filter(({ path }) => path.endsWith(`.${kind}`));
    assert.ok(only && only.size > 0 && more.length === 0, kind);
    assert.ok(only.size < only.length / 3, `${only.path} is compressed`);
  }
});

test('a second load transfers neither the script nor the style sheet', async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await openAnew(hub, page);
  const entries = (await transfers(page)).filter(({ path }) => /\.(js|css)$/.test(path));
  assert.equal(entries.length, 2, JSON.stringify(entries));
  for (const { path, size } of entries) assert.equal(size, 0, path);
});

/** The responses that the page has got: bytes over the wire, and bytes when decoded. @param {Page} page */
function transfers(page) {
  return page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((entry) => {
      const { name, transferSize, decodedBodySize } = /** @type {PerformanceResourceTiming} */ (entry);
      return { path: new URL(name).pathname, size: transferSize, length: decodedBodySize };
    }),
  );
}
