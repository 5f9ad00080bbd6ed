/** The dashboard as it is shipped: few requests, few bytes, and kept by the browser. */

import assert from "node:assert/strict";

import {
  live,
  newContext,
  openAnew,
  openDashboard,
  startHub,
  test,
} from "./support/index.js";
import { agents } from "./support/world.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{path: string, bytes: number}} Request with the bytes over the wire */

/** Without the proofs of the hub's identity: a slow start needs more of them. */
const MAX_REQUESTS = 7;
const MAX_BYTES = 120_000;
/** The most bytes of a stream whose reader has the lists. */
const MAX_STREAM = 10_000;

test("the first load with sixty agents takes few requests and few bytes over the wire", async (t) => {
  const hub = await startHub();
  await agents(hub, 60);
  const page = await (await newContext()).newPage();
  const requests = await traffic(page);
  await page.goto(`${hub.url}/#code=${(await hub.code()).code}`);
  await live(page);
  // The stream sends its lists before a change of them.
  await hub.hook(
    "claude",
    {
      hook_event_name: "SessionStart",
      source: "startup",
      session_id: "last",
      cwd: "/",
    },
    { project: "late", name: "late" },
  );
  await page.locator("hub-tabs a[data-view=agents]").getByText("61").waitFor();
  const bytes = requests.reduce((sum, request) => sum + request.bytes, 0);
  const count = requests.filter(
    ({ path }) => !path.startsWith("/hello"),
  ).length;
  t.diagnostic(`${count} requests, ${bytes} bytes`);
  assert.ok(
    count <= MAX_REQUESTS && bytes <= MAX_BYTES,
    JSON.stringify(requests, null, 1),
  );
  const stream = requests.find(({ path }) =>
    path.startsWith("/events?kinds=notification"),
  );
  assert.ok(
    stream && stream.bytes > 0 && stream.bytes <= MAX_STREAM,
    JSON.stringify(stream),
  );
  for (const { path, size, length } of (await transfers(page)).filter(
    ({ path }) => /\.(js|css)$/.test(path),
  )) {
    assert.ok(size < length / 3, `${path} is compressed`);
  }
});

test("a second load transfers neither the script nor the style sheet", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await openAnew(hub, page);
  const entries = (await transfers(page)).filter(({ path }) =>
    /\.(js|css)$/.test(path),
  );
  assert.equal(entries.length, 2, JSON.stringify(entries));
  for (const { path, size } of entries) assert.equal(size, 0, path);
});

/** The responses that the page has got: bytes over the wire, and bytes when decoded. @param {Page} page */
function transfers(page) {
  return page.evaluate(() =>
    [
      ...performance.getEntriesByType("navigation"),
      ...performance.getEntriesByType("resource"),
    ].map((entry) => {
      const { name, transferSize, decodedBodySize } =
        /** @type {PerformanceResourceTiming} */ (entry);
      return {
        path: new URL(name).pathname,
        size: transferSize,
        length: decodedBodySize,
      };
    }),
  );
}

/** The requests of a page from now on. @param {Page} page @returns {Promise<Request[]>} */
async function traffic(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.enable");
  /** @type {Map<string, Request>} */
  const byId = new Map();
  /** @type {Request[]} */
  const requests = [];
  devtools.on(
    "Network.requestWillBeSent",
    ({ requestId, request: { url } }) => {
      const request = { path: url.replace(/^\w+:\/\/[^/]*/, ""), bytes: 0 };
      byId.set(requestId, request);
      requests.push(request);
    },
  );
  const add = (/** @type {string} */ id, /** @type {number} */ bytes) => {
    const request = byId.get(id);
    if (request) request.bytes += bytes;
  };
  devtools.on("Network.responseReceived", ({ requestId, response }) =>
    add(requestId, response.encodedDataLength),
  );
  devtools.on("Network.dataReceived", ({ requestId, encodedDataLength }) =>
    add(requestId, encodedDataLength),
  );
  return requests;
}
