/** A push service, which checks the hub's signature (RFC 8292) and decrypts its messages as a browser does (RFC 8291). */

import assert from "node:assert/strict";
import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  hkdfSync,
  randomBytes,
  verify,
} from "node:crypto";
import http from "node:http";

import { atEnd } from "./test.js";

/** @typedef {{headers: http.IncomingHttpHeaders, body: any}} Pushed */

/** A subscription of a browser that the test stands for. */
export class PushService {
  /** The hub's messages, decrypted. @type {Pushed[]} */
  pushed = [];
  /** The key that the page named when it subscribed. */
  applicationKey = "";
  /** While it is not 0, messages are refused, with the request to wait so many seconds. */
  pause = 0;
  /** The number of messages that were refused so. */
  refused = 0;
  #ecdh = createECDH("prime256v1");
  #auth = randomBytes(16);
  #server = http.createServer((request, response) =>
    this.#receive(request, response),
  );
  #url = "";

  /** Starts the service; it ends with the test. */
  static async start() {
    const service = new PushService();
    service.#ecdh.generateKeys();
    await new Promise((resolve) =>
      service.#server.listen(0, "127.0.0.1", () => resolve(undefined)),
    );
    const address = /** @type {import('node:net').AddressInfo} */ (
      service.#server.address()
    );
    service.#url = `http://127.0.0.1:${address.port}`;
    atEnd(() => {
      service.#server.closeAllConnections();
      service.#server.close();
    });
    return service;
  }

  /** The result of `PushSubscription.toJSON`. */
  get subscription() {
    return {
      endpoint: `${this.#url}/send/1`,
      expirationTime: null,
      keys: {
        p256dh: this.#ecdh.getPublicKey("base64url"),
        auth: this.#auth.toString("base64url"),
      },
    };
  }

  /**
   * Gives the pages of a context this subscription: Debian's Chromium has no push service.
   *
   * @param {import('playwright-core').BrowserContext} context
   */
  async serve(context) {
    await context.exposeFunction("subscribed", (/** @type {string} */ key) => {
      this.applicationKey = key;
    });
    context.on("serviceworker", (worker) =>
      worker.evaluate(() => {
        const { prototype } = /** @type {any} */ (self).PushManager;
        prototype.getSubscription = async () => ({});
        // Chromium drops a notification that is shown while the list is read, as in the pages of recorded.js.
        const registrations = /** @type {any} */ (self)
          .ServiceWorkerRegistration.prototype;
        const { showNotification } = registrations;
        registrations.showNotification = function (
          /** @type {any[]} */ ...args
        ) {
          return navigator.locks.request("browser notifications", () =>
            showNotification.apply(this, args),
          );
        };
      }),
    );
    await context.addInitScript((json) => {
      // The browser keeps it while no page is open.
      const KEPT = "the key of the test's subscription";
      const current = () => {
        const key = localStorage.getItem(KEPT);
        if (key === null) return null;
        const text = atob(key.replaceAll("-", "+").replaceAll("_", "/"));
        const { buffer } = Uint8Array.from(text, (it) => it.charCodeAt(0));
        return {
          options: { applicationServerKey: buffer },
          toJSON: () => json,
          unsubscribe: async () => (localStorage.removeItem(KEPT), true),
        };
      };
      Object.assign(PushManager.prototype, {
        getSubscription: async () => current(),
        subscribe: async (/** @type {any} */ options) => {
          if (!options.userVisibleOnly) throw new Error("silent pushes");
          // @ts-expect-error the test's
          await window.subscribed(options.applicationServerKey);
          localStorage.setItem(KEPT, options.applicationServerKey);
          return current();
        },
      });
    }, this.subscription);
  }

  /**
   * @param {http.IncomingMessage} request
   * @param {http.ServerResponse} response
   */
  async #receive(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    if (this.pause > 0) {
      this.refused += 1;
      response.writeHead(503, { "retry-after": this.pause }).end();
      return;
    }
    try {
      this.#checkSignature(request.headers.authorization ?? "");
      assert.equal(request.headers["content-encoding"], "aes128gcm");
      const text = this.#decrypt(Buffer.concat(parts));
      this.pushed.push({ headers: request.headers, body: JSON.parse(text) });
      response.writeHead(201).end();
    } catch (error) {
      console.error("the push service refuses a message:", error);
      response.writeHead(400).end(String(error));
    }
  }

  /** @param {string} authorization */
  #checkSignature(authorization) {
    const [, header = "", claims = "", signature = "", key = ""] =
      /^vapid t=([^.]+)\.([^.]+)\.([^,]+), k=(.+)$/.exec(authorization) ?? [];
    assert.equal(key, this.applicationKey, "the key of the subscription");
    const point = Buffer.from(key, "base64url");
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((it) =>
      it.toString("base64url"),
    );
    const publicKey = createPublicKey({
      key: { kty: "EC", crv: "P-256", x, y },
      format: "jwk",
    });
    const signed = Buffer.from(`${header}.${claims}`);
    const given = Buffer.from(signature, "base64url");
    const options = /** @type {const} */ ({
      key: publicKey,
      dsaEncoding: "ieee-p1363",
    });
    assert.ok(verify("sha256", signed, options, given), "the signature");
    const { aud, exp, sub } = JSON.parse(
      Buffer.from(claims, "base64url").toString(),
    );
    assert.equal(aud, this.#url);
    assert.match(sub, /^https:\/\//);
    const left = exp - Date.now() / 1000;
    assert.ok(left > 0 && left <= 24 * 3600, `valid for ${left} s`);
  }

  /** @param {Buffer} body @returns {string} */
  #decrypt(body) {
    const salt = body.subarray(0, 16);
    const sender = body.subarray(21, 21 + body[20]);
    const sealed = body.subarray(21 + body[20]);
    const derive = (
      /** @type {Buffer} */ key,
      /** @type {Buffer} */ salt,
      /** @type {Buffer} */ info,
      /** @type {number} */ length,
    ) => Buffer.from(hkdfSync("sha256", key, salt, info, length));
    const info = Buffer.concat([
      Buffer.from("WebPush: info\0"),
      this.#ecdh.getPublicKey(),
      sender,
    ]);
    const secret = this.#ecdh.computeSecret(sender);
    const input = derive(secret, this.#auth, info, 32);
    const named = (/** @type {string} */ name) =>
      Buffer.from(`Content-Encoding: ${name}\0`);
    const cipher = createDecipheriv(
      "aes-128-gcm",
      derive(input, salt, named("aes128gcm"), 16),
      derive(input, salt, named("nonce"), 12),
    );
    cipher.setAuthTag(sealed.subarray(-16));
    const record = Buffer.concat([
      cipher.update(sealed.subarray(0, -16)),
      cipher.final(),
    ]);
    assert.equal(record.at(-1), 2, "the mark of the last record");
    return record.subarray(0, -1).toString();
  }
}
