/**
 * The session that this browser remembers, so that it survives its last tab.
 *
 * The page of another program that gets the hub's port has the same origin and can read any storage. So the token is
 * not stored: IndexedDB has it as a key that proves its possession and that no script can read. The hub, which keeps only
 * hashes, gives the token again to a page that answers a challenge with that key, at the address at which the browser
 * signed in.
 *
 * @typedef {import('../core/types.js').Schemas['BrowserSession']} Login
 *
 * @typedef {object} Device
 * @property {string} id the part of the session's token before the dot
 * @property {string} expires_at
 * @property {CryptoKey} key the session's token
 */

import {
  answer,
  importKey,
  NotTheHub,
  prove,
  sign,
  SessionOver,
} from "./proof.js";

const STORE = "devices";
/** The one record. */
const OWN = "own";
/** The timeout of a proof, in ms. */
const TIMEOUT = 15_000;

/**
 * Remembers a session that began with a code. A browser that cannot store keys forgets it with the tab.
 *
 * @param {Login} login
 */
export async function remember({ token, expires_at }) {
  try {
    const key = await importKey(token);
    await access("readwrite", (store) =>
      store.put({ ...key, expires_at }, OWN),
    );
  } catch (error) {
    console.warn("this browser does not remember the session", error);
  }
}

/**
 * Resumes the session that this browser remembers. The hub proves its identity first. Throws a Problem if it does not,
 * or if the session is over.
 *
 * @param {import('./api.js').Api} api without a token
 * @returns {Promise<Login|null>} null if there is none
 */
export async function resume(api) {
  const device = await recall();
  if (!device) return null;
  if (!(Date.parse(device.expires_at) > Date.now())) throw new SessionOver();
  await api.reach(() => prove(device, AbortSignal.timeout(TIMEOUT)));
  const { challenge } = await api.post("/login/challenge");
  const proof = await answer(device, challenge);
  const login = await api.post("/login/resume", {
    session: device.id,
    challenge,
    proof,
  });
  // Another token would be the session of another program, which could prove that.
  const [ours, theirs] = await Promise.all(
    [device, await importKey(login.token)].map((key) => sign(key, challenge)),
  );
  if (ours !== theirs) throw new NotTheHub();
  return login;
}

/** @returns {Promise<Device|null>} */
async function recall() {
  try {
    const device = await access("readonly", (store) => store.get(OWN));
    return device?.key instanceof CryptoKey ? device : null;
  } catch {
    return null;
  }
}

/**
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} act
 * @returns {Promise<any>} the request's result, once it is stored
 */
async function access(mode, act) {
  const opening = indexedDB.open("hub", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await finished(opening);
  try {
    const transaction = database.transaction(STORE, mode);
    const request = act(transaction.objectStore(STORE));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    return request.result;
  } finally {
    database.close();
  }
}

/**
 * @param {IDBOpenDBRequest} request
 * @returns {Promise<IDBDatabase>}
 */
function finished(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
