/** The page: gets in, keeps a store, and shows it. */

import { Api, Problem } from './hub/api.js';
import { Attention } from './hub/attention.js';
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
  const login = kept();
  if (message.kind === 'login-wanted' && login) tabs.tell({ kind: 'login', login });
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

/** @param {Login} login */
async function enter(login) {
  store?.live.stop();
  const api = new Api();
  api.token = login.token;
  const entered = new Store(api, tabs);
  store = entered;
  const leave = () => store === entered && signOut(entered);
  api.onSignedOut = leave;
  const late = setTimeout(leave, Math.min(Date.parse(login.expires_at) - Date.now(), 2 ** 31 - 1));
  entered.live.ended.addEventListener('abort', () => clearTimeout(late));
  const app = new HubApp();
  app.store = entered;
  show(app);
  new Attention(entered).start();
  try {
    await entered.live.start();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}

/** @param {Store} left */
function signOut(left) {
  left.live.stop();
  store = null;
  forget();
  show(HubSignIn.expired());
}

/** @param {HTMLElement} view */
function show(view) {
  document.body.replaceChildren(view);
}
