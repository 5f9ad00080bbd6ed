/** A phone, paired through a real proxy with TLS that runs as another user. A file that imports this has one proxy name. */

import { live, newContext, useWholeBrowser } from "./browser.js";
import { startHub } from "./hub.js";
import { certificate, freePort, NAME, startProxy } from "./proxy.js";
import { tool } from "./tools.js";

/** @typedef {import('./hub.js').Hub} Hub */

const { dir, browserArgs } = certificate();
useWholeBrowser(browserArgs);

const { defaultBrowserType: _, ...device } =
  tool("playwright-core").devices["Pixel 7"];

/** The options of a phone's context. */
export const PHONE = device;

/** Starts a hub behind the proxy; returns also the address at which phones reach it. */
export async function proxied() {
  const port = await freePort();
  const hub = await startHub({
    args: ["--set", `allowed_hosts=['${NAME}:${port}']`],
  });
  await startProxy(dir, port, hub);
  return { hub, at: `https://${NAME}:${port}` };
}

/**
 * The link of `hubctl phone`.
 *
 * @param {Hub} hub
 * @param {object} [pairing]
 * @returns {Promise<{url: string, code: string}>}
 */
export async function link(hub, pairing = {}) {
  const made = await hub.call("POST", "/login/phone", pairing, {}, hub.socket);
  return made.json;
}

/**
 * Opens the link on a phone.
 *
 * @param {Hub} hub
 * @param {object} [pairing]
 * @param {import('playwright-core').BrowserContext} [context] of the phone
 */
export async function paired(hub, pairing, context) {
  const page = await (context ?? (await newContext(PHONE))).newPage();
  await page.goto((await link(hub, pairing)).url);
  await live(page);
  return page;
}
