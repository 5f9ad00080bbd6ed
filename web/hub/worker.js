/** The service worker, which shows notifications with actions. `service-worker.js` is its script. */

/** The document that registers it, because the page's Trusted Types refuse the URL of a script. */
const REGISTER = '/assets/register-worker.html';

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
  frame.src = REGISTER;
  frame.hidden = true;
  frame.title = 'service worker';
  document.documentElement.append(frame);
  const registration = await navigator.serviceWorker.ready;
  frame.remove();
  return registration;
}
