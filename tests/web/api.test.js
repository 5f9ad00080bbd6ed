import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, beforeEach, test } from "node:test";

import { Api } from "../../web/hub/api.js";
import { Problem } from "../../web/hub/problem.js";

const { fetch } = globalThis;
const { timeout } = AbortSignal;
/** @type {import("node:http").Server} */
let server;

beforeEach(async () => {
  server = createServer((request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write('{"cut":', () => response.destroy());
  });
  await new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(0)),
  );
  const { port } = /** @type {import("node:net").AddressInfo} */ (
    server.address()
  );
  globalThis.fetch = (path, init) =>
    fetch(new URL(String(path), `http://127.0.0.1:${port}`), init);
});

afterEach(() => {
  globalThis.fetch = fetch;
  AbortSignal.timeout = timeout;
  server.close();
});

/** @param {unknown} error */
const isUnreachable = (error) =>
  error instanceof Problem && error.code === "unreachable";

test("an answer that is cut in its body is a problem that the page shows", async () => {
  await assert.rejects(new Api().get("/needs"), isUnreachable);
});

test("a call whose time is over before it is sent is a problem that the page shows", async () => {
  AbortSignal.timeout = () =>
    AbortSignal.abort(new DOMException("signal timed out", "TimeoutError"));
  await assert.rejects(new Api().get("/needs"), isUnreachable);
});

test("a stream that its reader stops ends with the reader's AbortError", async () => {
  const stopped = new Api().stream("/events", {}, AbortSignal.abort());
  await assert.rejects(stopped, { name: "AbortError" });
});
