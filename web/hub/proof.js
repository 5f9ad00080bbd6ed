/**
 * Verifies that the program at this page's address is the hub that issued the session. The hub may have ended, and
 * another program may have its port now: that program must not receive the session's token.
 *
 * The hub proves with an HMAC over a nonce and the address; the key is derived from the token. A program that forwards the request to the hub, wherever the hub is now, gets a proof for the hub's address only.
 */

import { Problem } from "./problem.js";

/** The problem if another program answers, or a hub with another token. */
export class NotTheHub extends Problem {
  constructor() {
    super({
      status: 401,
      code: "not_the_hub",
      title:
        "The program at this address did not prove that it is the hub you signed in to: another program has the port, or the hub has a new token. The page did not send it the session",
    });
  }
}

/** The problem if the hub no longer knows the session. */
export class SessionOver extends Problem {
  constructor() {
    super({
      status: 401,
      code: "session_over",
      title: "The session has ended",
    });
  }
}

/** The problem at an address at which browsers offer no cryptography. */
class NotSecure extends Problem {
  constructor() {
    super({
      status: 401,
      code: "not_secure",
      title:
        "The page cannot verify the hub at this address: use http://127.0.0.1, http://localhost or https",
    });
  }
}

/**
 * A session's token as a key that proves and verifies, and that cannot be read.
 *
 * @typedef {object} SessionKey
 * @property {string} id the part of the token before the dot, which names the session
 * @property {CryptoKey} key
 */

/**
 * @param {string} token
 * @returns {Promise<SessionKey>}
 */
export async function importKey(token) {
  if (!globalThis.crypto?.subtle) throw new NotSecure();
  const key = await hmacKey(bytes(token));
  return { id: token.slice(0, Math.max(0, token.indexOf("."))), key };
}

/**
 * The HMAC of a text, in hexadecimal digits.
 *
 * @param {SessionKey} session
 * @param {string} text
 */
export async function sign({ key }, text) {
  return hex(await mac(key, text));
}

/**
 * Requests the proof of a session. Throws a Problem if the proof is invalid. Throws any other error if the hub does not
 * answer or cannot answer now; then the session is kept, and the token was not sent.
 *
 * @param {SessionKey} session
 * @param {AbortSignal} signal
 */
export async function prove(session, signal) {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  const query = new URLSearchParams({ nonce, session: session.id });
  const response = await fetch(`/hello?${query}`, {
    credentials: "omit",
    redirect: "error",
    cache: "no-store",
    signal,
  });
  if (response.status >= 500)
    throw new Error(`the hub answered ${response.status}`);
  // A truncated body throws, because it does not show who sent it.
  const { proof, code } = parse(await response.text());
  if (response.status === 422 && code === "invalid") throw new SessionOver();
  if (
    !response.ok ||
    !(await isValid(session, `${nonce}${location.host}`, proof))
  )
    throw new NotTheHub();
}

/**
 * Answers a challenge, as SCRAM does (RFC 5802): a key that is derived from the token, covered by an HMAC whose key is the
 * hash of that key. The hub knows the hash only.
 *
 * @param {SessionKey} session
 * @param {string} challenge
 */
export async function answer({ key }, challenge) {
  const own = await mac(key, `browser\0${location.host}`);
  const cover = await mac(
    await hmacKey(await crypto.subtle.digest("SHA-256", own)),
    `${challenge}\0${location.host}`,
  );
  return hex(own.map((byte, at) => byte ^ cover[at]));
}

/**
 * @param {BufferSource} raw
 * @returns {Promise<CryptoKey>}
 */
async function hmacKey(raw) {
  return crypto.subtle.importKey(
    "raw",
    raw,
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign", "verify"],
  );
}

/**
 * @param {CryptoKey} key
 * @param {string} text
 */
async function mac(key, text) {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(text)));
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/**
 * @param {SessionKey} session
 * @param {string} text
 * @param {unknown} proof
 */
async function isValid({ key }, text, proof) {
  if (typeof proof !== "string" || !/^[0-9a-f]{64}$/.test(proof)) return false;
  const pairs = proof.match(/../g) ?? [];
  const ofHub = await hmacKey(await mac(key, "hub\0"));
  return crypto.subtle.verify(
    "HMAC",
    ofHub,
    Uint8Array.from(pairs, (pair) => parseInt(pair, 16)),
    bytes(text),
  );
}

/** @param {string} text */
function bytes(text) {
  return new TextEncoder().encode(text);
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}
