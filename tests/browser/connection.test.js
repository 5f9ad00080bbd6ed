/** The page shows the hub's state, or says that it is out of date: over kills, restarts, other logs and closed tabs. */

import assert from "node:assert/strict";

import {
  allow,
  feedIds,
  HUB_DOWN,
  live,
  openDashboard,
  startHub,
  test,
  until,
} from "./support/index.js";

/** High enough that few steps go through the feed. */
const TALL = { path: "/?view=feed", height: 2000 };
/** Number of notifications in a burst; the hub is killed halfway. */
const BURST = 24;

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

test("the page says that it is live, that the hub is away and when it tries again, and that it is back", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub, { path: "/?view=feed" });
  const connection = page.locator("hub-connection");
  assert.match(await connection.innerText(), /live/);
  assert.equal(await connection.getAttribute("role"), "status");
  allow(page, HUB_DOWN);
  await hub.kill();
  await stateIs(page, "retrying");
  assert.match(
    await connection.innerText(),
    /not connected.*since.*retrying( in \d+ s)?/s,
  );
  assert.equal(await connection.isVisible(), true);
  await hub.restart();
  await live(page);
  assert.match(await connection.innerText(), /live/);
});

test("after kills and restarts the feed holds exactly what the log holds", async () => {
  const hub = await startHub();
  await publish(hub, "before", BURST);
  const page = await openDashboard(hub, TALL);
  allow(page, HUB_DOWN);
  await feedIsTheLog(hub, page);
  for (const round of [1, 2, 3]) {
    const publishing = publish(hub, `round ${round}`, BURST);
    await until(
      async () =>
        (await page
          .getByText(`round ${round} message ${BURST / 2}`, { exact: true })
          .count()) > 0,
      {
        what: "half of the burst is on the page",
      },
    );
    await hub.kill();
    await hub.restart();
    await publishing;
    await feedIsTheLog(hub, page);
  }
  await live(page);
  await publish(hub, "after", BURST);
  await feedIsTheLog(hub, page);
});

test("notifications published while the page is offline arrive once it is online", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub, TALL);
  allow(page, HUB_DOWN, /ERR_FAILED/);
  await page.route("**/events?*", (route) => route.abort());
  await hub.kill();
  await hub.restart();
  await publish(hub, "unheard", BURST);
  assert.deepEqual(await feedIds(page), []);
  await page.unroute("**/events?*");
  await live(page);
  await feedIsTheLog(hub, page);
});

test("with another log the page shows only that log, and says so", async () => {
  const hub = await startHub();
  await publish(hub, "old log", BURST);
  const page = await openDashboard(hub, TALL);
  allow(page, HUB_DOWN);
  await feedIsTheLog(hub, page);
  await hub.kill();
  await hub.restart({ fresh: "log" });
  await publish(hub, "new log", 5);
  await page.getByText(/another log/).waitFor();
  await feedIsTheLog(hub, page);
  assert.doesNotMatch(await page.locator("hub-feed").innerText(), /old log/);
  await live(page);
  // The page's cursor in the new log is right, because another outage reports no gap.
  await page
    .locator("hub-toast")
    .getByRole("button", { name: "Close" })
    .click();
  await hub.kill();
  await hub.restart();
  await publish(hub, "after it", 5);
  await feedIsTheLog(hub, page);
  assert.equal(await page.getByText(/another log/).count(), 0);
});

test("when retention drops a part of the log, the page names it and shows the rest", async () => {
  const hub = await startHub({
    args: [
      "--set",
      "snapshot.every_records=200",
      "--set",
      "retention.max_bytes=600000",
    ],
  });
  const [first] = (await publish(hub, "first", 1)).slice(-1);
  const page = await openDashboard(hub, { path: "/?view=feed" });
  allow(page, HUB_DOWN, /ERR_FAILED/);
  await page.route("**/events?*", (route) => route.abort());
  await hub.kill();
  await hub.restart();
  const filler = "x".repeat(2000);
  for (let batch = 0; batch < 12; batch += 1) {
    await hub.post(
      Array.from({ length: 100 }, (_, n) => ({
        from: "filler",
        type: "progress",
        msg: `${batch}.${n} ${filler}`,
      })),
    );
  }
  await until(async () => (await hub.ids())[0] > (first ?? 0), {
    what: "retention has dropped the first one",
  });
  // Memory still has notifications that the disk has dropped; a restart empties it.
  await hub.restart();
  await page.unroute("**/events?*");
  // A slow reader may be overtaken again.
  await page
    .getByText(/no longer has/)
    .first()
    .waitFor();
  await live(page);
  const [last] = (await publish(hub, "last", 1)).slice(-1);
  await page.locator(`hub-feed hub-row[data-id="${last}"]`).waitFor();
});

test("all tabs of a browser share one stream, and show the same", async () => {
  const hub = await startHub();
  const first = await openDashboard(hub, TALL);
  const others = [await anotherTab(hub, first), await anotherTab(hub, first)];
  await publish(hub, "for all", 5);
  for (const page of [first, ...others]) await feedIsTheLog(hub, page);
  assert.equal(await hub.streams(), 1);
});

test("when the tab that reads is closed, another takes over and misses nothing", async () => {
  const hub = await startHub();
  const first = await openDashboard(hub, TALL);
  const second = await anotherTab(hub, first);
  const third = await anotherTab(hub, first);
  await publish(hub, "before", 5);
  const publishing = publish(hub, "meanwhile", BURST);
  await first.close();
  await publishing;
  for (const page of [second, third]) {
    await feedIsTheLog(hub, page);
    await live(page);
  }
  await until(async () => (await hub.streams()) === 1, {
    what: "one stream is open",
  });
  await publish(hub, "after", 5);
  for (const page of [second, third]) await feedIsTheLog(hub, page);
});

test("a tab that is opened during a burst shows all of it, once", async () => {
  const hub = await startHub();
  const first = await openDashboard(hub, TALL);
  const publishing = publish(hub, "flood", 3 * BURST);
  const second = await anotherTab(hub, first);
  await publishing;
  for (const page of [first, second]) await feedIsTheLog(hub, page);
});

test("a notification that is published while a tab loads is shown", async () => {
  const hub = await startHub();
  const first = await openDashboard(hub, TALL);
  await publish(hub, "before", 3);
  let answered = () => {};
  let go = () => {};
  const loading = new Promise(
    (resolve) => (answered = () => resolve(undefined)),
  );
  const gate = new Promise((resolve) => (go = () => resolve(undefined)));
  await first.context().route("**/dashboard", async (route) => {
    const response = await route.fetch();
    answered();
    await gate;
    await route.fulfill({ response });
  });
  const second = await openDashboard(hub, {
    context: first.context(),
    signIn: false,
    live: false,
    ...TALL,
  });
  await loading;
  await publish(hub, "meanwhile", 5);
  await feedIsTheLog(hub, first);
  go();
  await feedIsTheLog(hub, second);
});

test("every tab shows that the hub is away, and reconnects", async () => {
  const hub = await startHub();
  const first = await openDashboard(hub, TALL);
  const second = await anotherTab(hub, first);
  allow(first, HUB_DOWN);
  await hub.kill();
  for (const page of [first, second]) await stateIs(page, "retrying");
  await hub.restart();
  await publish(hub, "back", 3);
  for (const page of [first, second]) {
    await live(page);
    await feedIsTheLog(hub, page);
  }
  assert.equal(await hub.streams(), 1);
});

test("two browsers have a stream each", async () => {
  const hub = await startHub();
  await openDashboard(hub, { path: "/?view=feed" });
  await openDashboard(hub, { path: "/?view=feed" });
  await until(async () => (await hub.streams()) === 2, {
    what: "two streams are open",
  });
});

/**
 * Publishes `count` notifications one after the other, each repeated until the hub has stored it, also across kills.
 *
 * @param {Hub} hub
 * @param {string} name
 * @param {number} count
 */
async function publish(hub, name, count) {
  /** @type {number[]} */
  const ids = [];
  for (let n = 1; n <= count; n += 1) {
    // Each has its own sender, because repeats of one sender may collapse into a row.
    const body = {
      msg: `${name} message ${n}`,
      from: `worker-${n}`,
      type: "message",
    };
    const key = `${name.replaceAll(" ", "-")}-${n}`;
    const said = await until(
      () => hub.call("POST", "/notify", body, { "idempotency-key": key }),
      { what: `${key} is said` },
    );
    ids.push(said.json.id);
  }
  return ids;
}

/** @param {Hub} hub @param {Page} page */
async function feedIsTheLog(hub, page) {
  const log = (await hub.ids()).reverse();
  await until(async () => String(await feedIds(page)) === String(log), {
    what: "the feed holds the ids of the log, newest first, each once",
  }).catch(async (error) =>
    assert.deepEqual(await feedIds(page), log, error.message),
  );
}

/** @param {Hub} hub @param {Page} page */
function anotherTab(hub, page) {
  return openDashboard(hub, {
    context: page.context(),
    signIn: false,
    ...TALL,
  });
}

/** @param {Page} page @param {string} state */
async function stateIs(page, state) {
  await page.locator(`hub-connection[data-state="${state}"]`).waitFor();
}
