/** A real hubd, started and ended by its process id. */

import { spawn } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { atEnd, DEADLINE } from "./test.js";
import { binary, dashboard, found } from "./tools.js";

/** @typedef {{args?: string[]}} HubOptions */
/** @typedef {{host: string, port: number} | {socketPath: string}} Connection */
/** @typedef {{status: number, headers: http.IncomingHttpHeaders, text: string, json: any}} Answer */

/**
 * Running hubs, killed when this process exits for any reason.
 *
 * @type {Set<import('node:child_process').ChildProcess>}
 */
const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/**
 * Starts a hub on a port and in a directory of its own; it is killed, and the directory removed, when the test ends.
 *
 * @param {HubOptions} [options] more arguments
 * @returns {Promise<Hub>}
 */
export async function startHub(options = {}) {
  const hub = new Hub(options);
  atEnd(() => hub.remove());
  await hub.launch();
  return hub;
}

/** A running hub. */
export class Hub {
  /** The port; it stays the same over restarts. */
  port = 0;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #options;
  #states = 0;

  /** @param {HubOptions} options */
  constructor(options) {
    this.#options = options;
    /** A directory that is removed with the hub. */
    this.dir = mkdtempSync(join(tmpdir(), "hub-browser-"));
  }

  /** `http://127.0.0.1:PORT`, the dashboard's origin. */
  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The state directory. */
  get stateDir() {
    return join(this.dir, `state${this.#states || ""}`);
  }

  /** The socket, on which the hub takes these tests for a person. */
  get socket() {
    return { socketPath: join(this.stateDir, "hub.sock") };
  }

  /** The hub's token. */
  get token() {
    return readFileSync(join(this.stateDir, "token"), "utf8").trimEnd();
  }

  /** Everything that the hub has logged, over restarts. */
  get log() {
    return readFileSync(join(this.dir, "stderr"), "utf8");
  }

  /**
   * Publishes a text, an object or an array of objects (one commit).
   *
   * @param {string | object} body
   * @param {Record<string, string | number>} [params] the query: type, from, project …
   * @returns {Promise<{id: number, ids: number[]}>} `ids` also for one
   */
  async post(body, params = {}) {
    const { json } = await this.call("POST", `/notify?${query(params)}`, body);
    return { ...json, ids: json.ids ?? [json.id] };
  }

  /**
   * Returns the body of a GET; throws unless the status is 2xx.
   *
   * @param {string} path with its query
   * @returns {Promise<any>} JSON, or text where it is none
   */
  async get(path) {
    const answer = await this.call("GET", path);
    return answer.json ?? answer.text;
  }

  /**
   * Posts an agent's hook, as `hubctl hook` does.
   *
   * @param {string} agent
   * @param {object} payload
   * @param {Record<string, string | number | boolean>} [params] session, project, name, pane, host, pid …
   */
  async hook(agent, payload, params = {}) {
    return (
      await this.call("POST", `/hooks/${agent}?${query(params)}`, payload)
    ).json;
  }

  /**
   * Sends a request with the hub's token; throws unless the status is 2xx.
   *
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body] text as it is, anything else as JSON
   * @param {Record<string, string>} [headers]
   * @param {Connection} [to]
   */
  async call(method, path, body, headers = {}, to = undefined) {
    const answer = await this.ask(
      method,
      path,
      body,
      { authorization: `Bearer ${this.token}`, ...headers },
      to,
    );
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  /**
   * Sends a request without a token; returns a response of any status.
   *
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   * @param {Connection} [to]
   * @returns {Promise<Answer>}
   */
  ask(
    method,
    path,
    body,
    headers = {},
    to = { host: "127.0.0.1", port: this.port },
  ) {
    const text =
      body === undefined
        ? undefined
        : typeof body === "string"
          ? body
          : JSON.stringify(body);
    const length =
      text === undefined
        ? {}
        : { "content-length": String(Buffer.byteLength(text)) };
    return new Promise((resolve, reject) => {
      // One connection per request, because a kept one would fail after a restart.
      const options = {
        ...to,
        method,
        path,
        agent: false,
        headers: { ...length, ...headers },
      };
      const request = http.request(options, (response) => {
        /** @type {Buffer[]} */
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(parts).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: parsed(response, text),
          });
        });
      });
      request.on("error", reject);
      request.end(text);
    });
  }

  /**
   * Gets a new sign-in code, as `hubctl dashboard` does: on the socket, because only there the hub sees a person.
   *
   * @returns {Promise<{code: string, url: string, expires_at: string}>}
   */
  async code() {
    return (await this.call("POST", "/login/code", {}, {}, this.socket)).json;
  }

  /** All ids of the log, oldest first. @returns {Promise<number[]>} */
  async ids() {
    /** @type {number[]} */
    const ids = [];
    for (let after = 0; ;) {
      const page = await this.get(`/notifications?limit=500&after=${after}`);
      ids.push(
        ...page.notifications.map((/** @type {{id: number}} */ one) => one.id),
      );
      if (page.next === undefined) return ids;
      after = page.next;
    }
  }

  /** The number of open event streams. */
  async streams() {
    const line = /^\S*streams(?:\{\})? (\d+)$/m.exec(
      await this.get("/metrics"),
    );
    if (!line) throw new Error("/metrics does not tell the open streams");
    return Number(line[1]);
  }

  /** Kills the hub (SIGKILL), and waits until its process has exited. */
  kill() {
    return this.#end("SIGKILL");
  }

  /** Stops the hub (SIGTERM), and waits until its process has exited. */
  stop() {
    return this.#end("SIGTERM");
  }

  /**
   * Starts it again, on the same port and state directory, ending it first if it runs.
   *
   * @param {{fresh?: 'log' | 'all'}} [options] with another `log`, so another epoch; or without anything of before, so
   *   another token too
   */
  async restart({ fresh } = {}) {
    if (this.#child) await this.stop();
    const before = this.stateDir;
    if (fresh) {
      this.#states += 1;
      mkdirSync(this.stateDir, { mode: 0o700 });
    }
    if (fresh === "log")
      for (const file of ["token", "devices.json"])
        copyFileSync(join(before, file), join(this.stateDir, file));
    await this.launch();
  }

  /** Starts the hub, and waits until it is ready. */
  async launch() {
    if (this.#child) throw new Error("the hub runs already");
    const { args = [] } = this.#options;
    const own = [
      "--listen",
      `127.0.0.1:${this.port}`,
      "--state-dir",
      this.stateDir,
    ];
    const words = [binary("hubd"), ...own, ...args];
    // No hub may outlive a test process that is killed.
    const setpriv = found("setpriv");
    if (setpriv) words.unshift(setpriv, "--pdeathsig", "KILL");
    const log = openSync(join(this.dir, "stderr"), "a");
    const child = spawn(words[0] ?? "", words.slice(1), {
      stdio: ["ignore", "pipe", log],
      // The environment of the person who runs the tests must not change their result.
      env: { PATH: process.env.PATH, HOME: this.dir, ...dashboard() },
    });
    this.#child = child;
    running.add(child);
    child.once("exit", () => running.delete(child));
    closeSync(log);
    this.port = await this.#ready(child);
  }

  /** Ends the hub and removes its directory. */
  async remove() {
    if (this.#child) await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /**
   * Waits for the line that reports the hub as ready; returns its port.
   *
   * @param {import('node:child_process').ChildProcess} child
   * @returns {Promise<number>}
   */
  #ready(child) {
    return new Promise((resolve, reject) => {
      const ended = (
        /** @type {number | null} */ code,
        /** @type {string | null} */ signal,
      ) => {
        clearTimeout(late);
        reject(new Error(`hubd ended with ${code ?? signal}: ${this.log}`));
      };
      const late = setTimeout(
        () => reject(new Error("hubd neither got ready nor ended")),
        DEADLINE,
      );
      child.once("error", reject);
      child.once("close", ended);
      if (!child.stdout) return;
      createInterface({ input: child.stdout }).on("line", (line) => {
        const port = /^hubd listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(
          line,
        )?.[1];
        if (!port) return;
        clearTimeout(late);
        child.off("close", ended);
        resolve(Number(port));
      });
    });
  }

  /** @param {NodeJS.Signals} signal */
  async #end(signal) {
    const child = this.#alive();
    this.#child = undefined;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }

  #alive() {
    if (!this.#child) throw new Error("the hub does not run");
    return this.#child;
  }
}

/** @param {Record<string, string | number | boolean>} params */
function query(params) {
  return new URLSearchParams(
    Object.entries(params).map(([name, value]) => [name, String(value)]),
  ).toString();
}

/**
 * @param {http.IncomingMessage} response
 * @param {string} text
 */
function parsed(response, text) {
  return /\bjson\b/.test(response.headers["content-type"] ?? "")
    ? JSON.parse(text)
    : undefined;
}
