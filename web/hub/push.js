/**
 * Web Push: the hub tells this browser what needs the person while the page is closed. The subscription belongs to the
 * device, and ends when the device is revoked.
 */

import { Problem } from "./problem.js";
import { canNotify, workerRegistration } from "./worker.js";

/** @import { Api } from './api.js' */

/** Whether this browser can receive Web Push. */
export function canPush() {
  return canNotify() && "PushManager" in window;
}

/** The browser cannot subscribe: its push service refuses, or it has none. */
class NoPushService extends Problem {
  /** @param {unknown} error */
  constructor(error) {
    super({
      status: 0,
      code: "no_push_service",
      title: `this browser cannot subscribe to its push service: ${/** @type {Error} */ (error).message}`,
    });
  }
}

/**
 * Whether the hub pushes to this browser. A subscription for a key that the hub has no longer is made anew.
 *
 * @param {Api} api
 */
export async function keepSubscribed(api) {
  if (!canPush() || Notification.permission !== "granted") return false;
  const { pushManager } = await workerRegistration();
  const subscription = await pushManager.getSubscription();
  if (!subscription) return false;
  const { key, subscribed } = await api.get("/login/push");
  if (subscribed && keyOf(subscription) !== key) await subscribe(api);
  return subscribed;
}

/**
 * Subscribes this browser. Throws a Problem if the browser or the hub refuses.
 *
 * @param {Api} api
 */
export async function subscribe(api) {
  const { pushManager } = await workerRegistration();
  const { key } = await api.get("/login/push");
  const subscription = await subscriptionFor(pushManager, key);
  const { endpoint, keys } = subscription.toJSON();
  await api.put("/login/push", { endpoint, keys });
}

/** Ends the subscription. @param {Api} api */
export async function unsubscribe(api) {
  const { pushManager } = await workerRegistration();
  await api.delete("/login/push");
  await (await pushManager.getSubscription())?.unsubscribe();
}

/** The key of the hub that may push, as the hub writes it. @param {PushSubscription} subscription */
function keyOf({ options: { applicationServerKey } }) {
  const bytes = new Uint8Array(applicationServerKey ?? []);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/**
 * @param {PushManager} pushManager
 * @param {string} key of the hub
 */
async function subscriptionFor(pushManager, key) {
  try {
    // One for the key of another hub, or of one whose state was removed, is no use.
    await (await pushManager.getSubscription())?.unsubscribe();
    return await pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: key,
    });
  } catch (error) {
    throw new NoPushService(error);
  }
}
