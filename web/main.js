/** The page's entry point: signs in, creates the store, and shows it. */

import { Api } from './hub/api.js';
import { Archive } from './hub/archive.js';
import { Alerts } from './hub/alerts.js';
import { Live } from './hub/live.js';
import { clearSession, currentSession, hasCode, setSession, signIn } from './hub/login.js';
import { Problem } from './hub/problem.js';
import { Store } from './hub/store.js';
import { Tabs } from './hub/tabs.js';
import { HubApp } from './elements/hub-app.js';
import { HubSignIn } from './elements/hub-sign-in.js';

/** @import { Login } from './hub/login.js' */

const tabs = new Tabs();
/** @type {Store|null} */
let store = null;

tabs.subscribe((message) => {
  if (message.kind === 'login-wanted') shareSession();
  if (message.kind === 'login' && !store) {
    setSession(message.login);
    openApp(message.login);
  }
});
addEventListener('hashchange', () => hasCode() && start());
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

/** Sends the session to a new tab, after verifying the hub: while another program has the port, the tab is its page. */
async function shareSession() {
  try {
    await store?.api.prove();
    const login = currentSession();
    if (store && login) tabs.post({ kind: 'login', login });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
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
  const timer = setTimeout(() => leave(), Math.min(Date.parse(login.expires_at) - Date.now(), 2 ** 31 - 1));
  current.closed.addEventListener('abort', () => clearTimeout(timer));
  const app = new HubApp();
  app.store = current;
  show(app);
  new Archive(current);
  new Alerts(current).start();
  try {
    await new Live(current, tabs).start();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}

/**
 * @param {Store} left
 * @param {Problem} [because]
 */
function signOut(left, because) {
  left.close();
  store = null;
  clearSession();
  const notProved = because?.code === 'not_the_hub' || because?.code === 'not_secure';
  show(notProved ? HubSignIn.because(because) : HubSignIn.expired());
}

/** @param {HTMLElement} view */
function show(view) {
  document.body.replaceChildren(view);
}
