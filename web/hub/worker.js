/** The service worker, which shows notifications with actions. `service-worker.js` is its script. */

/** The document that registers it, because the page's Trusted Types refuse the URL of a script. */
const REGISTER = '/assets/register-worker.html';
/** After this time without a worker it is registered again: the hub may be starting. */
const RETRY_MS = 2000;

/** @type {Promise<ServiceWorkerRegistration>|null} */
let registered = null;

/** Whether this browser can show notifications with actions. */
export function canNotify() {
  return 'Notification' in window && 'serviceWorker' in navigator;
}

/** The registered service worker; registers it once. */
export function workerRegistration() {
  registered ??= register();
  return registered;
}

async function register() {
  const frame = document.createElement('iframe');
  const load = () => {
    frame.src = REGISTER;
  };
  load();
  frame.hidden = true;
  frame.title = 'service worker';
  document.documentElement.append(frame);
  const again = setInterval(load, RETRY_MS);
  const registration = await navigator.serviceWorker.ready;
  clearInterval(again);
  frame.remove();
  return registration;
}
