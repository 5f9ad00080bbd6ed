/** The service worker, which shows notifications with actions. `service-worker.js` is its script. */

/** The document that registers it, because the page's Trusted Types refuse the URL of a script. */
const REGISTER = "/assets/register-worker.html";
/** After this time without a worker, a document that was loaded is loaded again: the hub may have been starting. */
const RETRY_MS = 2000;

/** @type {Promise<ServiceWorkerRegistration>|null} */
let registered = null;

/** Whether this browser can show notifications with actions. */
export function canNotify() {
  return "Notification" in window && "serviceWorker" in navigator;
}

/** The registered service worker; registers it once. */
export function workerRegistration() {
  registered ??= register();
  return registered;
}

async function register() {
  const frame = document.createElement("iframe");
  const load = () => {
    frame.src = REGISTER;
  };
  let again = 0;
  // Only what was loaded, in vain: on a busy machine that takes longer.
  frame.addEventListener("load", () => {
    again = setTimeout(load, RETRY_MS);
  });
  load();
  frame.hidden = true;
  frame.title = "service worker";
  document.documentElement.append(frame);
  const registration = await navigator.serviceWorker.ready;
  clearTimeout(again);
  frame.remove();
  return registration;
}
