/** Reads a page's browser notifications, and records its sounds. */

/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{title: string, body: string, tag: string, actions: string[]}} Shown */

/**
 * Lets pages of this profile show browser notifications, which Chromium really shows. The pages have no focus until
 * {@link focus} gives it to one.
 *
 * @param {BrowserContext} context
 */
export async function record(context) {
  await context.grantPermissions(["notifications"]);
  await context.addInitScript(recorder);
}

/** Runs in the page before its scripts. */
function recorder() {
  /** @type {number[]} */
  const heard = [];
  /** @type {number[]} */
  const badges = [];
  Object.assign(window, { heard, badges, focused: false });
  // Playwright gives every page the focus.
  // @ts-expect-error the recorder's
  document.hasFocus = () => window.focused;
  // Chromium drops a notification that is shown while the list is read.
  if ("ServiceWorkerRegistration" in window) {
    const { showNotification } = ServiceWorkerRegistration.prototype;
    ServiceWorkerRegistration.prototype.showNotification = function (...args) {
      return navigator.locks.request("browser notifications", () =>
        showNotification.apply(this, args),
      );
    };
  }
  navigator.setAppBadge = async (count = 0) => void badges.push(count);
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (when) {
    heard.push(Math.round(this.frequency.value));
    return start.call(this, when);
  };
}

/**
 * Gives a page the focus, or takes it.
 *
 * @param {Page} page
 * @param {boolean} [focused]
 */
export function focus(page, focused = true) {
  return page.evaluate((on) => {
    Object.assign(window, { focused: on });
    dispatchEvent(new Event(on ? "focus" : "blur"));
  }, focused);
}

/**
 * The browser notifications that are shown now, by tag.
 *
 * @param {Page} page
 * @returns {Promise<Shown[]>}
 */
export async function shown(page) {
  const all = await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    const found =
      (await navigator.locks.request("browser notifications", () =>
        registration?.getNotifications(),
      )) ?? [];
    // @ts-expect-error not in the types of TypeScript yet
    return found.map(({ title, body, tag, actions }) => ({
      title,
      body,
      tag,
      actions: actions.map((one) => one.title),
    }));
  });
  return all.sort((a, b) => (a.tag < b.tag ? -1 : 1));
}

/**
 * The tags of the browser notifications that are shown now; those of questions are their ids.
 *
 * @param {Page} page
 */
export async function tags(page) {
  return (await shown(page)).map(({ tag }) => tag);
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
 * The numbers on the badge of the installed page, oldest first.
 *
 * @param {Page} page
 * @returns {Promise<number[]>}
 */
export function badges(page) {
  // @ts-expect-error the recorder's
  return page.evaluate(() => window.badges);
}

/**
 * Clicks a browser notification, or one of its buttons, as the person would. Returns the addresses of the pages that the
 * service worker opened.
 *
 * @param {BrowserContext} context
 * @param {string} tag
 * @param {string} [action] the title of a button
 * @returns {Promise<string[]>}
 */
export async function click(context, tag, action) {
  return clickOn(await notification(context, tag), action);
}

/**
 * A browser notification that is shown now, as the service worker has it.
 *
 * @param {BrowserContext} context
 * @param {string} tag
 */
export async function notification(context, tag) {
  const [worker] = context.serviceWorkers();
  if (!worker) throw new Error("no service worker");
  return worker.evaluateHandle(async (wanted) => {
    const [found] = await /** @type {any} */ (
      self
    ).registration.getNotifications({ tag: wanted });
    return found;
  }, tag);
}

/**
 * {@link click} on a notification that may be gone by then.
 *
 * @param {import('playwright-core').JSHandle} notification
 * @param {string} [action]
 */
export function clickOn(notification, action) {
  return notification.evaluate(async (notification, title) => {
    const scope = /** @type {any} */ (self);
    const found = notification.actions.find(
      (/** @type {any} */ one) => one.title === title,
    );
    if (title && !found) throw new Error(`no action ${title}`);
    const event = new scope.NotificationEvent("notificationclick", {
      notification,
      action: found?.action ?? "",
    });
    /** @type {Promise<unknown>[]} */
    const work = [];
    /** @type {string[]} */
    const opened = [];
    // Only the browser's own events may extend the worker's life, and open pages.
    event.waitUntil = (/** @type {Promise<unknown>} */ it) => work.push(it);
    const { openWindow } = scope.clients;
    scope.clients.openWindow = async (/** @type {string} */ url) =>
      void opened.push(url);
    scope.dispatchEvent(event);
    await Promise.all(work);
    scope.clients.openWindow = openWindow;
    return opened;
  }, action);
}
