/**
 * Getting in: a single-use code from `hubctl dashboard` in the URL's fragment, a session that this tab has, or that another
 * tab has. The token is in sessionStorage only: it ends with the tab, and no other port of this machine sees it.
 *
 * @typedef {{token: string, expires_at: string}} Login
 */

const KEY = 'hub.session';
/** How long another tab has to answer, in ms. */
const NEIGHBOUR = 250;

/**
 * The session to go on with, or null if there is none.
 *
 * @param {import('./api.js').Api} api
 * @param {import('./tabs.js').Tabs} tabs
 * @returns {Promise<Login|null>}
 */
export async function login(api, tabs) {
  const code = takeCode();
  if (code) {
    const made = await api.post('/login', { code });
    keep(made);
    tabs.tell({ kind: 'login', login: made });
    return made;
  }
  return kept() ?? neighbours(tabs);
}

/** Whether the URL holds a code. */
export function hasCode() {
  return location.hash.startsWith('#code=');
}

/** Takes the code out of the URL, so that it is neither shown nor in the history. */
function takeCode() {
  if (!hasCode()) return null;
  const code = location.hash.slice('#code='.length);
  history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

/** @param {Login} login */
export function keep(login) {
  sessionStorage.setItem(KEY, JSON.stringify(login));
}

export function forget() {
  sessionStorage.removeItem(KEY);
}

/**
 * The session of this tab, if it has one that is not over.
 *
 * @returns {Login|null}
 */
export function kept() {
  try {
    const login = JSON.parse(sessionStorage.getItem(KEY) ?? 'null');
    return login && Date.parse(login.expires_at) > Date.now() ? login : null;
  } catch {
    return null;
  }
}

/**
 * @param {import('./tabs.js').Tabs} tabs
 * @returns {Promise<Login|null>}
 */
function neighbours(tabs) {
  return new Promise((resolve) => {
    const late = setTimeout(() => done(null), NEIGHBOUR);
    const stop = tabs.hear((message) => message.kind === 'login' && done(message.login));
    /** @param {Login|null} login */
    const done = (login) => {
      clearTimeout(late);
      stop();
      if (login) keep(login);
      resolve(login);
    };
    tabs.tell({ kind: 'login-wanted' });
  });
}
