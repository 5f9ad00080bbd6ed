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

/** Whether the hub pushes to this browser. @param {Api} api */
export async function isSubscribed(api) {
  const { pushManager } = await workerRegistration();
  const [subscription, { subscribed }] = await Promise.all([
    pushManager.getSubscription(),
    api.get("/login/push"),
  ]);
  return subscription !== null && subscribed;
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
