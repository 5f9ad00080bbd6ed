/** Calls the hub's HTTP API with the session's token. Before each call, the hub must have proved its identity. */

import { Problem } from "./problem.js";
import { importKey, prove } from "./proof.js";

/** The timeout of a call, in ms. */
const TIMEOUT = 15_000;
/** For how long an answer of the hub shows that the hub has this address, in ms. */
const FRESH = 1000;

/** The hub did not answer. */
class Unreachable extends Problem {
  constructor() {
    super({
      status: 0,
      code: "unreachable",
      title: "the hub does not answer",
      hint: "check it with hubctl status; start it with hubctl up",
    });
  }
}

export class Api {
  /** @type {string|null} */
  token = null;
  /** Called when the hub no longer knows the session, or when another program answers. */
  onSignedOut = (/** @type {Problem} */ _) => {};
  /** The pending request for a proof; simultaneous calls share it. @type {Promise<void>|null} */
  #proving = null;
  /** When the hub last proved its identity or answered after that. */
  #answeredAt = -Infinity;
  /** The token as a key. @type {Promise<import('./proof.js').SessionKey>|null} */
  #key = null;

  /**
   * @param {string} path
   * @returns {Promise<any>}
   */
  get(path) {
    return this.#call("GET", path);
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  post(path, body = {}) {
    return this.#call("POST", path, body);
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  put(path, body) {
    return this.#call("PUT", path, body);
  }

  /**
   * @param {string} path
   * @returns {Promise<any>}
   */
  delete(path) {
    return this.#call("DELETE", path);
  }

  /**
   * Returns a response whose body is read as a stream.
   *
   * @param {string} path
   * @param {Record<string, string>} headers
   * @param {AbortSignal} signal
   * @returns {Promise<Response>}
   */
  async stream(path, headers, signal) {
    const response = await this.#fetch(path, {
      headers: { ...this.#headers(), ...headers },
      signal,
    });
    await this.#check(response);
    return response;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async #call(method, path, body) {
    const headers = this.#headers();
    if (body !== undefined) headers["content-type"] = "application/json";
    const signal = AbortSignal.timeout(TIMEOUT);
    const response = await this.#fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    await this.#check(response);
    if (response.status === 204) return null;
    return this.#received(signal, () => response.json());
  }

  /** @returns {Record<string, string>} */
  #headers() {
    return this.token === null ? {} : { authorization: `Bearer ${this.token}` };
  }

  /**
   * Verifies that the hub has this address now. The browser may open a new connection, so each call is verified, but for those
   * right after another answer.
   */
  async prove() {
    const { token } = this;
    if (token === null || performance.now() - this.#answeredAt < FRESH) return;
    this.#key ??= importKey(token);
    this.#proving ??= this.#key
      .then((key) => prove(key, AbortSignal.timeout(TIMEOUT)))
      .finally(() => (this.#proving = null));
    try {
      await this.reach(() => this.#proving);
      this.#answeredAt = performance.now();
    } catch (error) {
      if (/** @type {Problem} */ (error).status === 401)
        this.onSignedOut(/** @type {Problem} */ (error));
      throw error;
    }
  }

  /** A connection was lost, so the hub may have ended: it proves its identity before the next call. */
  doubt() {
    this.#answeredAt = -Infinity;
  }

  /**
   * Performs a request; throws only Problems.
   *
   * @template T
   * @param {() => Promise<T>|T} request
   */
  async reach(request) {
    try {
      return await request();
    } catch (error) {
      throw error instanceof Problem ? error : new Unreachable();
    }
  }

  /**
   * @param {string} path
   * @param {RequestInit} init
   */
  async #fetch(path, init) {
    await this.prove();
    return this.#received(init.signal, () =>
      fetch(path, { ...init, credentials: "omit", redirect: "error" }),
    );
  }

  /**
   * Receives a part of an answer: its head or its body. Throws only Problems, and the AbortError of a caller that
   * stopped it.
   *
   * @template T
   * @param {AbortSignal|null|undefined} signal
   * @param {() => Promise<T>} part
   */
  async #received(signal, part) {
    try {
      signal?.throwIfAborted();
      const received = await part();
      this.#answeredAt = performance.now();
      return received;
    } catch (error) {
      this.doubt();
      if (signal?.aborted && signal.reason?.name === "AbortError") throw error;
      throw new Unreachable();
    }
  }

  /** @param {Response} response */
  async #check(response) {
    if (response.ok) return;
    const body = await response.json().catch(() => null);
    const title = `the hub answered ${response.status}`;
    const problem = new Problem({
      status: response.status,
      code: "unknown",
      title,
      ...body,
    });
    if (
      response.status === 401 &&
      this.token !== null &&
      problem.code !== "bad_code"
    )
      this.onSignedOut(problem);
    throw problem;
  }
}
