/** The page's entry point: signs in, creates the store, and shows it. */

import { Api, Problem } from './hub/api.js';
import { Archive } from './hub/archive.js';
import { Attention } from './hub/attention.js';
import { Live } from './hub/live.js';
import { forget, hasCode, keep, kept, login } from './hub/login.js';
import { Store } from './hub/store.js';
import { Tabs } from './hub/tabs.js';
import { HubApp } from './elements/hub-app.js';
import { HubSignIn } from './elements/hub-sign-in.js';

/** @typedef {import('./hub/login.js').Login} Login */

const tabs = new Tabs();
/** @type {Store|null} */
let store = null;

tabs.hear((message) => {
  if (message.kind === 'login-wanted') share();
  if (message.kind === 'login' && !store) {
    keep(message.login);
    enter(message.login);
  }
});
addEventListener('hashchange', () => hasCode() && begin());
begin();

async function begin() {
  try {
    const found = await login(new Api(), tabs);
    if (found) await enter(found);
    else if (!store) show(new HubSignIn());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (!store) show(HubSignIn.because(error));
  }
}

/** Sends the session to a new tab, after verifying the hub: while another program has the port, the tab is its page. */
async function share() {
  try {
    await store?.api.prove();
    const login = kept();
    if (store && login) tabs.tell({ kind: 'login', login });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}

/** @param {Login} login */
async function enter(login) {
  store?.close();
  const api = new Api();
  api.token = login.token;
  const entered = new Store(api);
  store = entered;
  /** @param {Problem} [because] */
  const leave = (because) => store === entered && signOut(entered, because);
  api.onSignedOut = leave;
  const late = setTimeout(() => leave(), Math.min(Date.parse(login.expires_at) - Date.now(), 2 ** 31 - 1));
  entered.closed.addEventListener('abort', () => clearTimeout(late));
  const app = new HubApp();
  app.store = entered;
  show(app);
  new Archive(entered);
  new Attention(entered).start();
  try {
    await new Live(entered, tabs).start();
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
  forget();
  const notProved = because?.code === 'not_the_hub' || because?.code === 'not_secure';
  show(notProved ? HubSignIn.because(because) : HubSignIn.expired());
}

/** @param {HTMLElement} view */
function show(view) {
  document.body.replaceChildren(view);
}
