/** The clock of a page that a test moves. */

/** Further than the page's clock gets until it stands still, in ms. */
const AHEAD = 10_000;

/**
 * Stops the page's clock and timers until the test moves them: an installed clock goes on by itself.
 *
 * @param {import('playwright-core').Page} page
 */
export async function stopClock(page) {
  await page.clock.install();
  const now = await page.evaluate(() => Date.now());
  await page.clock.pauseAt(now + AHEAD);
}
