/**
 * A person at the page, for the tests with real agents: signs in at a link, says `open`, and presses a button on the stage
 * once a need has it. The page stays open until stdin ends.
 *
 *     node tests/browser/support/click.js LINK BUTTON
 */

import { live } from "./browser.js";
import { until } from "./test.js";
import { browserOptions, tool } from "./tools.js";

/** An agent may need this long until it asks, in ms. */
const PATIENCE = 120_000;

const [link = "", name = ""] = process.argv.slice(2);
const browser = await tool("playwright-core").chromium.launch(
  browserOptions(false),
);
process.stdin.on("end", () => browser.close().then(() => process.exit()));
process.stdin.resume();

/** @type {import('playwright-core').Page} */
const page = await browser.newPage();
await page.goto(link);
await live(page, PATIENCE);
console.log("open");

const button = page.locator("hub-stage").getByRole("button", { name });
await button.waitFor({ timeout: PATIENCE });
// The stage ignores a click in the moment in which a need comes.
await until(
  async () => {
    await button.click({ timeout: 1000 }).catch(() => {});
    return (await page.locator(".sent li").count()) > 0;
  },
  { what: "the answer is on its way", deadline: PATIENCE },
);
console.log("pressed");
