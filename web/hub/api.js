/** Calls the hub's HTTP API with the session's token. */

/** No call takes longer, in ms. */
const PATIENCE = 15_000;

/** What the hub refused, and what to do about it (RFC 9457). */
export class Problem extends Error {
  /** @param {{status: number, code: string, title: string, detail?: string, hint?: string}} body */
  constructor(body) {
    super(body.detail || body.title);
    this.status = body.status;
    this.code = body.code;
    this.title = body.title;
    this.hint = body.hint ?? '';
    /** @type {Record<string, any>} */
    this.body = body;
  }
}

/** The hub did not answer. */
export class Unreachable extends Problem {
  constructor() {
    super({ status: 0, code: 'unreachable', title: 'the hub does not answer', hint: 'see whether it runs: hubctl status; start it: hubctl up' });
  }
}

export class Api {
  /** @type {string|null} */
  token = null;
  /** Called when the hub does not know the session any more. */
  onSignedOut = () => {};

  /**
   * @param {string} path
   * @returns {Promise<any>}
   */
  get(path) {
    return this.#call('GET', path);
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  post(path, body = {}) {
    return this.#call('POST', path, body);
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  put(path, body) {
    return this.#call('PUT', path, body);
  }

  /**
   * @param {string} path
   * @returns {Promise<any>}
   */
  delete(path) {
    return this.#call('DELETE', path);
  }

  /**
   * A response whose body is read as it comes.
   *
   * @param {string} path
   * @param {Record<string, string>} headers
   * @param {AbortSignal} signal
   * @returns {Promise<Response>}
   */
  async stream(path, headers, signal) {
    const response = await this.#fetch(path, { headers: { ...this.#headers(), ...headers }, signal });
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
    if (body !== undefined) headers['content-type'] = 'application/json';
    const response = await this.#fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE),
    });
    await this.#check(response);
    if (response.status === 204) return null;
    return response.json();
  }

  /** @returns {Record<string, string>} */
  #headers() {
    return this.token === null ? {} : { authorization: `Bearer ${this.token}` };
  }

  /**
   * @param {string} path
   * @param {RequestInit} init
   */
  async #fetch(path, init) {
    try {
      return await fetch(path, { ...init, credentials: 'omit', redirect: 'error' });
    } catch (error) {
      if (init.signal?.aborted && init.signal.reason?.name === 'AbortError') throw error;
      throw new Unreachable();
    }
  }

  /** @param {Response} response */
  async #check(response) {
    if (response.ok) return;
    const body = await response.json().catch(() => null);
    const title = `the hub answered ${response.status}`;
    const problem = new Problem({ status: response.status, code: 'unknown', title, ...body });
    if (response.status === 401 && this.token !== null && problem.code !== 'bad_code') this.onSignedOut();
    throw problem;
  }
}
