/** Shows browser notifications: those of a page, and those that the hub pushes. */

/** The most times that a browser notification is shown until it is in the browser's list. */
const ATTEMPTS = 3;

/**
 * Shows a browser notification. Chromium drops one if the list is read before it is drawn, as another tab may do; then it is
 * shown again.
 *
 * @param {ServiceWorkerRegistration} registration
 * @param {string} title
 * @param {NotificationOptions} options
 */
export async function display(registration, title, options) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    await registration.showNotification(title, options);
    if ((await registration.getNotifications({ tag: options.tag })).length > 0)
      return;
  }
}
