/**
 * The service worker of browser notifications. It shows those that the hub pushes, and passes clicks to a page, which has the
 * session. It stores nothing, and answers no request: a page always comes from the hub.
 *
 * @typedef {object} Target what a notification is about
 * @property {number|null} id of the hub's notification
 * @property {Record<string, {label: string, answer: object}>} answers by action
 */

import { alertFor, alertForRest, callsOf } from "./core/alerts.js";
import { display } from "./hub/display.js";

/** The time in which a page must take an answer, in ms. */
const TAKE = 2000;
/** How often to look whether a page that is left is gone, in ms, and how many times. */
const LOOK = 200;
const LOOKS = 20;
/** The looks in a row without a page after which it is gone; a page that is reloaded is back before. */
const GONE = 5;

const worker = /** @type {any} */ (self);

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (/** @type {any} */ event) =>
  event.waitUntil(worker.clients.claim()),
);

worker.addEventListener("notificationclick", (/** @type {any} */ event) => {
  event.notification.close();
  event.waitUntil(click(event.notification, event.action));
});

worker.addEventListener("push", (/** @type {any} */ event) =>
  event.waitUntil(receive(event.data.json())),
);

// Without a page, nothing but a push could close a notification when its need is settled.
worker.addEventListener("message", (/** @type {any} */ event) => {
  if (event.data === "leaving") event.waitUntil(closeWithoutPages());
});

/**
 * Shows what the hub pushes, or closes what is settled.
 *
 * @param {{need?: import('./core/types.js').Need, settled?: string, more?: number}} message
 */
async function receive({ need, settled, more }) {
  if (settled !== undefined) return withdraw(settled);
  const pages = await allPages();
  // The person sees it there.
  if (pages.some(({ focused }) => focused)) return;
  // Only a page can send an answer.
  const [call] = need ? callsOf([need], pages.length === 0) : [];
  const { title, options } = call ? alertFor(call) : alertForRest(more ?? 0);
  // Where no page plays a sound, the device does.
  const silent = pages.length > 0;
  await display(worker.registration, title, { ...options, silent });
}

/**
 * Closes the notification of a need. Browsers want one shown for each push, else they show one of their own or end the
 * subscription.
 *
 * @param {string} tag
 */
async function withdraw(tag) {
  const { registration } = worker;
  await registration.showNotification("Settled", { tag, silent: true });
  for (const shown of await registration.getNotifications({ tag }))
    shown.close();
}

/**
 * Lets a page answer, else shows what the notification is about.
 *
 * @param {Notification} notification
 * @param {string} action
 */
async function click({ title, body, data }, action) {
  /** @type {Target} */
  const { id = null, answers = {} } = data ?? {};
  const answer = answers[action];
  const message = { kind: "answer", id, title, body, ...answer };
  if (answer !== undefined && (await isTaken(await allPages(), message)))
    return;
  // Read again: a page that was being left took nothing.
  const [page] = await allPages();
  if (!page) return worker.clients.openWindow(id === null ? "/" : `/?id=${id}`);
  page.postMessage({ kind: "open", id });
  // A browser may refuse the focus; the page shows it anyway.
  await page.focus().catch(() => {});
}

/**
 * Sends a message to all pages; the one that reads the hub's events says whether it takes it. A page that is signed out says
 * nothing.
 *
 * @param {any[]} pages
 * @param {object} message
 * @returns {Promise<boolean>}
 */
function isTaken(pages, message) {
  return new Promise((resolve) => {
    for (const page of pages) {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data);
      page.postMessage(message, [port2]);
    }
    setTimeout(() => resolve(false), pages.length > 0 ? TAKE : 0);
  });
}

async function closeWithoutPages() {
  if (await worker.registration.pushManager?.getSubscription()) return;
  for (let look = 0, gone = 0; look < LOOKS && gone < GONE; look += 1) {
    gone = (await allPages()).length === 0 ? gone + 1 : 0;
    if (gone === GONE)
      for (const shown of await worker.registration.getNotifications())
        shown.close();
    else await new Promise((resolve) => setTimeout(resolve, LOOK));
  }
}

/** @returns {Promise<any[]>} */
async function allPages() {
  const all = await worker.clients.matchAll({
    type: "window",
    includeUncontrolled: true,
  });
  return all.filter(
    (/** @type {any} */ { frameType }) => frameType !== "nested",
  );
}
