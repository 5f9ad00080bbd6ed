/** How long it takes until a person sees a change. */

import {
  newContext,
  openDashboard,
  startHub,
  test,
  until,
} from "../../browser/support/index.js";
import { row } from "./row.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../../browser/support/hub.js').Hub} Hub */

const ROUNDS = 30;

for (const history of [0, 10_000]) {
  test(`a notification is shown soon, with ${history} notifications in the history`, async () => {
    const hub = await startHub();
    await fill(hub, history);
    const page = await openDashboard(hub, { path: "/?view=feed" });
    const ahead = await clockOf(page);
    /** @type {number[]} */
    const took = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const text = `round ${round} of the measurement`;
      const seen = page.evaluate(drawnAt, {
        selector: "hub-feed hub-row",
        text,
      });
      // The observer is installed and the page is idle.
      await page.evaluate(
        () =>
          new Promise((resolve) =>
            requestAnimationFrame(() => requestAnimationFrame(resolve)),
          ),
      );
      const start = performance.now();
      await hub.post({ msg: text, from: `worker-${round}`, type: "message" });
      took.push((await seen) - ahead - start);
    }
    row(`POST to pixels, ${history} stored`, took);
  });
}

test("a question that is answered elsewhere disappears soon", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const ahead = await clockOf(page);
  /** @type {number[]} */
  const took = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { id } = await hub.post({
      msg: `question ${round}`,
      from: `worker-${round}`,
      type: "question",
      options: ["yes", "no"],
    });
    await page.locator(`hub-question[data-id="${id}"]`).waitFor();
    const gone = page.evaluate(drawnAt, {
      selector: `hub-question[data-id="${id}"]`,
    });
    await page.evaluate(
      () =>
        new Promise((resolve) =>
          requestAnimationFrame(() => requestAnimationFrame(resolve)),
        ),
    );
    const start = performance.now();
    await hub.call("POST", `/needs/${id}/answer`, { reply: "yes" });
    took.push((await gone) - ahead - start);
  }
  row("answered elsewhere to gone here", took);
});

for (const history of [0, 10_000]) {
  test(`the page loads soon, with ${history} notifications in the history`, async () => {
    const hub = await startHub();
    await fill(hub, history);
    /** @type {{paint: number, full: number}[]} */
    const cold = [];
    for (let round = 0; round < 5; round += 1) {
      // A new profile has an empty cache.
      const context = await newContext({
        viewport: { width: 1280, height: 900 },
      });
      await context.addInitScript(watchFirst);
      const page = await openDashboard(hub, { context, path: "/?view=feed" });
      if (history) await page.locator("hub-feed hub-row").nth(9).waitFor();
      cold.push(
        await until(() => page.evaluate(firstOf), { what: "the first paint" }),
      );
      await context.close();
    }
    row(
      `first paint, ${history} stored`,
      cold.map((one) => one.paint),
    );
    row(
      `all drawn, ${history} stored`,
      cold.map((one) => one.full),
    );
  });
}

/** @param {Hub} hub @param {number} count */
async function fill(hub, count) {
  const types = ["message", "progress", "message", "message"];
  for (let first = 0; first < count; first += 500) {
    const now = Date.now();
    await hub.post(
      Array.from({ length: Math.min(500, count - first) }, (_, n) => {
        const at = first + n;
        return {
          msg: `notification ${at} of many`,
          from: `worker-${at % 40}`,
          project: `/src/p${at % 5}`,
          type: types[at % 4],
          ts: new Date(now - (count - at) * 1000).toISOString(),
        };
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
      const found = [...document.querySelectorAll(selector)]
        .slice(0, 5)
        .some((element) => element.textContent?.includes(text ?? ""));
      if (found !== (text !== undefined)) return;
      observer.disconnect();
      // A frame callback runs before its frame is drawn, and a message after it.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now());
        port2.postMessage(null);
      });
    });
    observer.observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
}

/** Runs in the page before its scripts: records when everything that the hub knows is drawn. */
function watchFirst() {
  const observer = new MutationObserver(() => {
    if (!document.querySelector("hub-app[data-ready]")) return;
    observer.disconnect();
    requestAnimationFrame(() =>
      setTimeout(() => /** @type {any} */ (window.__full = performance.now())),
    );
  });
  observer.observe(document, {
    subtree: true,
    childList: true,
    attributes: true,
    attributeFilter: ["data-ready"],
  });
}

/** Runs in the page: the times of the first and of the full drawing, in ms after the page was opened. */
function firstOf() {
  const paint = performance.getEntriesByName("first-contentful-paint")[0]
    ?.startTime;
  const full = /** @type {any} */ (window).__full;
  return paint && full ? { paint, full } : null;
}
