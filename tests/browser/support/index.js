/**
 * The support library of the browser tests. An example:
 *
 *     import assert from 'node:assert/strict';
 *     import { openDashboard, startHub, test, until } from './support/index.js';
 *
 *     test('a notification is shown', async () => {
 *       const hub = await startHub();
 *       const page = await openDashboard(hub);
 *       const { id } = await hub.post('hello', { from: 'worker' });
 *       const row = page.locator(`hub-feed hub-row[data-id="${id}"]`);
 *       await row.waitFor();
 *       assert.match(await row.innerText(), /hello/);
 *     });
 *
 * Use this `test`, not that of node:test: at its end hubs are killed, pages closed, and the test fails if a page logged
 * an error, threw, opened a dialog or broke the content security policy (see `allow`).
 */

import { after } from "node:test";

import { closeBrowser } from "./browser.js";

export {
  allow,
  axe,
  browser,
  complained,
  feedIds,
  follow,
  HUB_DOWN,
  idle,
  live,
  newContext,
  openAnew,
  openDashboard,
  stage,
  useWholeBrowser,
} from "./browser.js";
export { stopClock } from "./clock.js";
export { startHub } from "./hub.js";
export { atEnd, DEADLINE, test, until } from "./test.js";
export { ROOT, TARGET } from "./tools.js";

after(closeBrowser);
