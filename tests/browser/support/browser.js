/** A real Chromium: one per test file, one context per test. A test fails if one of its pages logs an error. */

import { readFileSync } from "node:fs";

import { atEnd, DEADLINE, until } from "./test.js";
import { browserOptions, tool, toolFile } from "./tools.js";

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./hub.js').Hub} Hub */

/**
 * @typedef {object} Opening
 * @property {BrowserContext} [context] another tab of the same browser profile
 * @property {number} [width]
 * @property {number} [height]
 * @property {'light' | 'dark'} [colorScheme]
 * @property {'reduce' | 'no-preference'} [reducedMotion]
 * @property {string} [path] of the page, with its query, `/` when absent
 * @property {string} [at] another origin than the hub's own
 * @property {boolean} [signIn] false: opens the page as it is, without a code
 * @property {boolean} [live] false: does not wait until the connection is live
 * @property {Partial<import('playwright-core').BrowserContextOptions>} [options] more of the context, as `permissions`
 */

/** @type {Promise<Browser> | undefined} */
let shared;

let isWhole = false;
/** @type {string[]} */
let moreArgs = [];

/** Gives the file a browser with notifications and service workers. @param {string[]} [args] more arguments */
export function useWholeBrowser(args = []) {
  isWhole = true;
  moreArgs = args;
}

/**
 * The complaints of pages, the allowed ones, and the requests that are under way.
 *
 * @type {WeakMap<BrowserContext, {said: string[], allowed: RegExp[], underWay: Set<import('playwright-core').Request>}>}
 */
const complaints = new WeakMap();

/**
 * The file's browser, started when first asked for, closed when the process ends. Tests use {@link openDashboard} or
 * {@link newContext}.
 *
 * @returns {Promise<Browser>}
 */
export function browser() {
  const options = browserOptions(isWhole);
  shared ??= tool("playwright-core").chromium.launch({
    ...options,
    args: [...options.args, ...moreArgs],
    timeout: 60_000,
  });
  return /** @type {Promise<Browser>} */ (shared);
}

/** Closes the file's browser. */
export async function closeBrowser() {
  if (shared) await (await shared).close();
}

/**
 * Creates a browser profile, closed when the test ends. The test then fails if one of its pages complained.
 *
 * @param {Partial<import('playwright-core').BrowserContextOptions>} [options]
 * @returns {Promise<BrowserContext>}
 */
export async function newContext(options = {}) {
  const context = await (await browser()).newContext(options);
  context.setDefaultTimeout(DEADLINE);
  const book = {
    said: /** @type {string[]} */ ([]),
    allowed: /** @type {RegExp[]} */ ([]),
    underWay: /** @type {Set<import('playwright-core').Request>} */ (new Set()),
  };
  complaints.set(context, book);
  context.on("console", (message) => {
    if (message.type() === "error")
      book.said.push(`console: ${message.text()} (${message.location().url})`);
  });
  context.on(
    "request",
    (request) =>
      new URL(request.url()).pathname !== "/events" &&
      book.underWay.add(request),
  );
  for (const end of /** @type {const} */ (["requestfinished", "requestfailed"]))
    context.on(end, (request) => book.underWay.delete(request));
  context.on("weberror", (error) =>
    book.said.push(`uncaught: ${error.error().stack || error.error()}`),
  );
  context.on("dialog", (dialog) => {
    book.said.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
  atEnd(async () => {
    // A request that is on its way then fails in a handler of page.route, and no test would be there to catch that.
    for (const page of context.pages())
      await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
    const errors = book.said.filter(
      (said) => !book.allowed.some((allowed) => allowed.test(said)),
    );
    if (errors.length)
      throw new Error(
        `the page complained:\n  ${[...new Set(errors)].join("\n  ")}`,
      );
  });
  return context;
}

/**
 * Signs in as `hubctl dashboard` does, by a code in the fragment, and waits until the connection is live.
 *
 * @param {Hub} hub
 * @param {Opening} [opening]
 * @returns {Promise<Page>}
 */
export async function openDashboard(hub, opening = {}) {
  const {
    width = 1280,
    height = 900,
    colorScheme = "light",
    reducedMotion = "no-preference",
    options = {},
  } = opening;
  const viewport = { width, height };
  const context =
    opening.context ??
    (await newContext({ viewport, colorScheme, reducedMotion, ...options }));
  const page = await context.newPage();
  if (opening.context && opening.width) await page.setViewportSize(viewport);
  const fragment =
    opening.signIn === false ? "" : `#code=${(await hub.code()).code}`;
  await page.goto((opening.at ?? hub.url) + (opening.path ?? "/") + fragment);
  if (opening.live !== false) await live(page);
  return page;
}

/**
 * Opens an address of the page as a link in it does: `?need=7`, `?view=feed`.
 *
 * @param {Page} page
 * @param {string} search
 */
export async function follow(page, search) {
  await page.evaluate((to) => {
    history.pushState(null, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
  }, search);
}

/**
 * Puts a need on the stage.
 *
 * @param {Page} page
 * @param {number|string} id
 * @returns {Promise<import('playwright-core').Locator>} its card
 */
export async function stage(page, id) {
  await page
    .locator(`hub-queue-list li[data-key="${id}"]`)
    .waitFor({ state: "attached" });
  await follow(page, `?need=${id}`);
  const card = page.locator(`hub-stage [data-key="${id}"]`);
  await card.waitFor();
  return card;
}

/**
 * Loads the page again, in the session of its browser.
 *
 * @param {Hub} hub
 * @param {Page} page
 * @param {string} [search] with another query
 */
export async function openAnew(hub, page, search = new URL(page.url()).search) {
  await page.goto("about:blank");
  await page.goto(`${hub.url}/${search}`);
  await live(page);
}

/**
 * Waits until the page says that its connection is live, and has loaded its data: it alerts to what arrives from then on.
 *
 * @param {Page} page
 * @param {number} [deadline] ms
 */
export async function live(page, deadline = DEADLINE) {
  const isLive = () =>
    page.evaluate(() =>
      Boolean(
        document.querySelector(
          "hub-app[data-ready] hub-connection[data-state=live]",
        ),
      ),
    );
  await until(isLive, { what: "hub-connection is live", deadline });
}

/**
 * Waits until no request of a page is under way but its stream of events. The browser sends a request again whose connection
 * ends before the answer, and then another program may answer it.
 *
 * @param {BrowserContext} context
 */
export async function idle(context) {
  await until(() => bookOf(context).underWay.size === 0, {
    what: "no request is under way",
  });
}

/**
 * Allows pages of this profile complaints that match: a test that kills the hub expects requests to fail.
 *
 * @param {Page | BrowserContext} where
 * @param {...RegExp} allowed
 */
export function allow(where, ...allowed) {
  bookOf(where).allowed.push(...allowed);
}

/** Chromium's console messages for requests to a hub that is down. */
export const HUB_DOWN =
  /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|occurred when fetching the script/;

/**
 * The complaints of the pages so far.
 *
 * @param {Page | BrowserContext} where
 */
export function complained(where) {
  return [...bookOf(where).said];
}

/** @param {Page | BrowserContext} where */
function bookOf(where) {
  const context = "context" in where ? where.context() : where;
  const book = complaints.get(context);
  if (!book) throw new Error("not a page of this support library");
  return book;
}

/**
 * Fails with each violation of accessibility rules that axe-core finds.
 *
 * @param {Page} page
 * @param {{within?: string, disable?: string[]}} [options] only inside this selector; rules to leave out
 */
export async function axe(page, { within, disable = [] } = {}) {
  await page.evaluate(
    readFileSync(toolFile("axe-core/axe.min.js"), "utf8") + ";undefined",
  );
  const found = await page.evaluate(async ([root, rules]) => {
    const off = Object.fromEntries(
      rules.map((rule) => [rule, { enabled: false }]),
    );
    // Without preload, which would fetch and insert style sheets that the page's CSP refuses.
    // @ts-expect-error axe is there since the line above
    const result = await globalThis.axe.run(root ?? document, {
      rules: off,
      preload: false,
      resultTypes: ["violations"],
    });
    return result.violations.map((/** @type {any} */ one) => ({
      rule: `${one.id} (${one.impact}): ${one.help}`,
      nodes: one.nodes.map(
        (/** @type {any} */ node) =>
          `${node.target.join(" ")}: ${node.failureSummary}`,
      ),
    }));
  }, /** @type {[string | undefined, string[]]} */ ([within, disable]));
  if (found.length === 0) return;
  const lines = found.map(
    (/** @type {any} */ one) =>
      `${one.rule}\n    ${one.nodes.slice(0, 5).join("\n    ")}`,
  );
  throw new Error(`axe found:\n  ${lines.join("\n  ")}`);
}

/**
 * The ids in the feed, in order, from its beginning to its end, including those inside collapsed rows.
 *
 * @param {Page} page
 * @returns {Promise<number[]>}
 */
export function feedIds(page) {
  return page.evaluate(async () => {
    const scroller = /** @type {HTMLElement} */ (
      document.querySelector("hub-feed .scroller")
    );
    const [from, frame] = [
      scroller.scrollTop,
      () => new Promise((resolve) => requestAnimationFrame(resolve)),
    ];
    /** @type {Map<number, number[]>} */
    const places = new Map();
    // Only the visible rows exist in the document.
    for (
      let top = 0;
      top === 0 || top < scroller.scrollHeight;
      top += Math.max(200, scroller.clientHeight / 2)
    ) {
      scroller.scrollTop = top;
      await frame().then(frame);
      for (const row of scroller.querySelectorAll("hub-row")) {
        const { ids, id } = /** @type {HTMLElement} */ (row).dataset;
        places.set(
          Number(row.getAttribute("aria-posinset")),
          (ids ?? id ?? "").split(" ").filter(Boolean).map(Number),
        );
      }
    }
    scroller.scrollTop = from;
    return [...places].sort(([a], [b]) => a - b).flatMap(([, ids]) => ids);
  });
}
