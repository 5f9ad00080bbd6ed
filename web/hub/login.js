/**
 * Signing in: with a single-use code from `hubctl dashboard` in the URL's fragment, or with a session of this tab or of
 * another tab. The token is kept only in the memory of the tabs, because the page of another program that gets the
 * hub's port would have the same origin and could read any storage. So the token is lost with the last tab, and a
 * single tab that is reloaded signs in again.
 *
 * @typedef {import('../core/types.js').Schemas['BrowserSession']} Login
 */

/** The time that another tab has to answer, in ms; it verifies the hub first. */
const TAB_TIMEOUT = 500;

/** @type {Login|null} */
let session = null;

// Earlier versions stored the session here.
sessionStorage.removeItem('hub.session');

/**
 * The session to use, or null if there is none.
 *
 * @param {import('./api.js').Api} api
 * @param {import('./tabs.js').Tabs} tabs
 * @returns {Promise<Login|null>}
 */
export async function signIn(api, tabs) {
  const code = takeCode();
  if (code) {
    const created = await api.post('/login', { code });
    setSession(created);
    tabs.post({ kind: 'login', login: created });
    return created;
  }
  return currentSession() ?? askTabs(tabs);
}

/** Whether the URL contains a code. */
export function hasCode() {
  return location.hash.startsWith('#code=');
}

/** Removes the code from the URL, so that it is neither visible nor in the history. */
function takeCode() {
  if (!hasCode()) return null;
  const code = location.hash.slice('#code='.length);
  history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

/** @param {Login} login */
export function setSession(login) {
  session = login;
}

export function clearSession() {
  session = null;
}

/**
 * The session of this tab, if it has one that has not expired.
 *
 * @returns {Login|null}
 */
export function currentSession() {
  return session && Date.parse(session.expires_at) > Date.now() ? session : null;
}

/**
 * @param {import('./tabs.js').Tabs} tabs
 * @returns {Promise<Login|null>}
 */
function askTabs(tabs) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(null), TAB_TIMEOUT);
    const stop = tabs.subscribe((message) => message.kind === 'login' && finish(message.login));
    /** @param {Login|null} login */
    const finish = (login) => {
      clearTimeout(timer);
      stop();
      if (login) setSession(login);
      resolve(login);
    };
    tabs.post({ kind: 'login-wanted' });
  });
}
