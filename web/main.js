/** The page's entry point: signs in, creates the store, and shows it. */

import { Api } from "./hub/api.js";
import { Archive } from "./hub/archive.js";
import { Alerts } from "./hub/alerts.js";
import { Live } from "./hub/live.js";
import { hasCode, signIn } from "./hub/login.js";
import { Problem } from "./hub/problem.js";
import { keepSubscribed } from "./hub/push.js";
import { Store } from "./hub/store.js";
import { Tabs } from "./hub/tabs.js";
import { HubApp } from "./elements/hub-app.js";
import { HubSignIn } from "./elements/hub-sign-in.js";

/** @import { Login } from './hub/device.js' */

/** The longest time of a timer, in ms: 24 days. The session of a paired phone lasts longer. */
const LONGEST_TIMER = 2 ** 31 - 1;

const tabs = new Tabs();
/** @type {Store|null} */
let store = null;

tabs.subscribe((message) => {
  if (message.kind === "signed-in" && !store) start();
});
addEventListener("hashchange", () => hasCode() && start());
start();

async function start() {
  try {
    const found = await signIn(new Api(), tabs);
    if (found) await openApp(found);
    else if (!store) show(new HubSignIn());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (!store) show(HubSignIn.because(error));
  }
}

/** @param {Login} login */
async function openApp(login) {
  store?.close();
  const api = new Api();
  api.token = login.token;
  const current = new Store(api);
  store = current;
  /** @param {Problem} [because] */
  const leave = (because) => store === current && signOut(current, because);
  api.onSignedOut = leave;
  const left = Date.parse(login.expires_at) - Date.now();
  // A longer time would be over at once. The hub refuses a call when such a session has ended.
  const timer = left <= LONGEST_TIMER ? setTimeout(() => leave(), left) : 0;
  current.closed.addEventListener("abort", () => clearTimeout(timer));
  const app = new HubApp();
  app.store = current;
  show(app);
  new Archive(current);
  const alerts = new Alerts(current);
  current.addEventListener("signed-out", () => alerts.signOut());
  alerts.start();
  try {
    await new Live(current, tabs).start();
    await keepSubscribed(api);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}

/**
 * @param {Store} left
 * @param {Problem} [because]
 */
function signOut(left, because) {
  left.dispatchEvent(new Event("signed-out"));
  left.close();
  store = null;
  show(because ? HubSignIn.because(because) : HubSignIn.expired());
}

/** @param {HTMLElement} view */
function show(view) {
  document.body.replaceChildren(view);
}
