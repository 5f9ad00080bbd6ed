/** Records a page's browser notifications and sounds. */

/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{title: string, body: string, tag: string, closed: boolean}} Shown */

/**
 * Lets pages of this profile show browser notifications, which Chromium really shows, and records them.
 *
 * @param {BrowserContext} context
 */
export async function record(context) {
  await context.grantPermissions(['notifications']);
  await context.addInitScript(recorder);
}

/** Runs in the page before its scripts. */
function recorder() {
  /** @type {(Notification & {closed?: boolean})[]} */
  const shown = [];
  /** @type {number[]} */
  const heard = [];
  Object.assign(window, { shown, heard });
  const Real = window.Notification;
  window.Notification = class extends Real {
    /** @param {string} title @param {NotificationOptions} [options] */
    constructor(title, options) {
      super(title, options);
      shown.push(this);
    }

    close() {
      Object.assign(this, { closed: true });
      super.close();
    }
  };
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (when) {
    heard.push(Math.round(this.frequency.value));
    return start.call(this, when);
  };
}

/**
 * The browser notifications that this page has shown, oldest first.
 *
 * @param {Page} page
 * @returns {Promise<Shown[]>}
 */
export function shown(page) {
  // @ts-expect-error the recorder's
  return page.evaluate(() => window.shown.map(({ title, body, tag, closed = false }) => ({ title, body, tag, closed })));
}

/**
 * The tags (ids) of the browser notifications that this page has shown.
 *
 * @param {Page} page
 */
export async function tags(page) {
  return (await shown(page)).map(({ tag }) => Number(tag));
}

/**
 * The pitches that this page has played, in Hz, oldest first.
 *
 * @param {Page} page
 * @returns {Promise<number[]>}
 */
export function heard(page) {
  // @ts-expect-error the recorder's
  return page.evaluate(() => window.heard);
}

/**
 * Clicks a browser notification as the person would.
 *
 * @param {Page} page
 * @param {number} index
 */
export function click(page, index) {
  // @ts-expect-error the recorder's
  return page.evaluate((at) => window.shown[at].dispatchEvent(new Event('click')), index);
}
