/** Tasks that block the page for more than 50 ms while the hub is busy. */

import assert from "node:assert/strict";

import {
  openDashboard,
  startHub,
  test,
  until,
} from "../../browser/support/index.js";
import { agents } from "../../browser/support/world.js";
import { row } from "./row.js";

/** @typedef {import('playwright-core').Page} Page */

test("2,000 notifications in five seconds arrive at a page with sixty agents", async () => {
  const hub = await startHub();
  await agents(hub, 60);
  const page = await openDashboard(hub, { width: 1440 });
  await until(async () => (await page.locator(".board-row").count()) === 60, {
    what: "sixty rows",
  });
  await watch(page);
  const start = performance.now();
  let last = 0;
  for (let batch = 0; batch < 100; batch += 1) {
    const due = start + batch * 50;
    await new Promise((resolve) =>
      setTimeout(resolve, Math.max(0, due - performance.now())),
    );
    const types = ["progress", "message", "complete", "message"];
    const { ids } = await hub.post(
      Array.from({ length: 20 }, (_, n) => ({
        msg: `batch ${batch}, step ${n}`,
        from: `worker-${n}`,
        project: "/src/app",
        type: types[n % 4],
      })),
    );
    last = ids[19] ?? 0;
  }
  await until(
    () =>
      page.evaluate(
        (id) =>
          /** @type {any} */ (document.querySelector("hub-app")).store.feed
            .newest >= id,
        last,
      ),
    { what: "the last one arrived" },
  );
  assert.equal((await page.locator(".board-row").count()) >= 60, true);
  row("long tasks, 2,000 notifications in 5 s", await tasks(page));
});

test("a page opens on a history of 100,000 notifications and sixty agents", async () => {
  const hub = await startHub();
  for (let at = 0; at < 100; at += 1)
    await hub.post(
      Array.from({ length: 1000 }, (_, n) => ({
        msg: `step ${at}/${n}`,
        from: `worker-${n % 60}`,
        type: "message",
      })),
    );
  await agents(hub, 60);
  const page = await openDashboard(hub, { width: 1440, path: "/?view=feed" });
  await watch(page);
  await until(async () => (await page.locator(".board-row").count()) === 60, {
    what: "sixty rows",
  });
  await page.locator("hub-feed hub-row").first().waitFor();
  await page.getByRole("button", { name: "Mark all read" }).click();
  await page.getByText(/^Marked 1\d\d,?\d{3} as read\.$/).waitFor();
  row("long tasks, 100,000 stored, all marked read", await tasks(page));
  assert.equal(await page.locator("hub-row[data-unseen]").count(), 0);
});

/** @param {Page} page */
async function watch(page) {
  await page.evaluate(() => {
    const tasks = /** @type {number[]} */ ([]);
    Object.assign(window, { tasks });
    new PerformanceObserver((list) =>
      tasks.push(...list.getEntries().map(({ duration }) => duration)),
    ).observe({ type: "longtask", buffered: true });
  });
}

/** @param {Page} page @returns {Promise<number[]>} */
async function tasks(page) {
  return page.evaluate(() => /** @type {any} */ (window).tasks);
}
