/**
 * Signing in: with a single-use code from `hubctl dashboard` in the URL's fragment, or with the session that this
 * browser remembers. Only the memory of the tabs has the session's token.
 */

import { remember, resume } from "./device.js";

/** @import { Login } from './device.js' */

/**
 * The session to use, or null if there is none.
 *
 * @param {import('./api.js').Api} api
 * @param {import('./tabs.js').Tabs} tabs
 * @returns {Promise<Login|null>}
 */
export async function signIn(api, tabs) {
  const code = takeCode();
  if (code === null) return resume(api);
  const login = await api.post("/login", { code });
  await remember(login);
  tabs.post({ kind: "signed-in" });
  return login;
}

/** Whether the URL contains a code. */
export function hasCode() {
  return location.hash.startsWith("#code=");
}

/** Removes the code from the URL, so that it is neither visible nor in the history. */
function takeCode() {
  if (!hasCode()) return null;
  const code = location.hash.slice("#code=".length);
  history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}
