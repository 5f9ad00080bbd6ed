/** Signing in: a code that works once, a session that the browser remembers, and a page with instructions. */

import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";

import { useKey } from "./support/attack.js";
import {
  allow,
  atEnd,
  HUB_DOWN,
  idle,
  live,
  newContext,
  openDashboard,
  startHub,
  test,
  until,
} from "./support/index.js";

/** Chromium's console message for a request that the hub refuses. */
const REFUSED = /status of 401/;
const HALF_A_DAY = 12 * 60 * 60 * 1000;

/** @typedef {import('playwright-core').Page} Page */

test("without a session the page says how to sign in, also to a hub on another machine, and shows nothing else", async () => {
  const hub = await startHub();
  await hub.post("a secret of the hub", { from: "worker" });
  const page = await openDashboard(hub, { signIn: false, live: false });
  await page.getByText("another machine").click();
  const text = await signInPage(page);
  assert.match(text, /hubctl dashboard/);
  assert.match(text, /hubctl dashboard --print/);
  assert.match(
    text,
    new RegExp(`ssh -t -L ${hub.port}:127\\.0\\.0\\.1:${hub.port}`),
  );
  assert.match(text, /421/);
  assert.match(text, /allowed_hosts/);
  assert.doesNotMatch(text, /a secret of the hub/);
});

test("a code opens the dashboard, and is removed from the address and the history", async () => {
  const hub = await startHub();
  const { code } = await hub.code();
  const page = await (await newContext()).newPage();
  await page.goto(`${hub.url}/?type=error#code=${code}`);
  await live(page);
  assert.equal(await page.locator("hub-sign-in").count(), 0);
  assert.equal(await page.evaluate(() => location.hash), "");
  assert.equal(await page.evaluate(() => location.search), "?type=error");
  assert.ok(!page.url().includes(code));
});

test("a browser stays signed in after its last tab is closed, and while the hub restarts", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const { expires_at } = (await hub.get("/login/devices")).devices[0];
  await page.reload();
  await live(page);
  await page.close();
  await hub.restart();
  const again = await openDashboard(hub, {
    context: page.context(),
    signIn: false,
  });
  assert.equal(await again.locator("hub-sign-in").count(), 0);
  const { devices } = await hub.get("/login/devices");
  assert.deepEqual(
    devices.map((/** @type {any} */ it) => it.expires_at),
    [expires_at],
    "the session ends when it would have ended",
  );
});

test("a code works once", async () => {
  const hub = await startHub();
  const { code } = await hub.code();
  const [first, second] = [
    await (await newContext()).newPage(),
    await (await newContext()).newPage(),
  ];
  await first.goto(`${hub.url}/#code=${code}`);
  await live(first);
  allow(second, REFUSED);
  await second.goto(`${hub.url}/#code=${code}`);
  const text = await signInPage(second);
  assert.match(text, /used already|works once/i);
  assert.match(text, /hubctl dashboard/);
});

test("an unknown code is refused, and the page says what to do", async () => {
  const hub = await startHub();
  const page = await (await newContext()).newPage();
  allow(page, REFUSED, /status of 4\d\d/);
  for (const [n, code] of [
    "0".repeat(32),
    "",
    "%",
    "%00",
    "<script>window.__xss=1</script>",
    "x".repeat(10_000),
  ].entries()) {
    // A different address each time, so that the browser loads the page again.
    await page.goto(`${hub.url}/?n=${n}#code=${code}`);
    assert.match(
      await signInPage(page),
      /hubctl dashboard/,
      JSON.stringify(code.slice(0, 40)),
    );
    assert.equal(
      await page.evaluate(() => /** @type {any} */ (window).__xss),
      undefined,
    );
  }
});

test("a bad code does not end the session of the tab", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub, { path: "/?view=feed" });
  allow(page, REFUSED);
  await page.evaluate(() => location.assign("#code=0123456789abcdef"));
  await until(() => page.evaluate(() => location.hash === ""), {
    what: "the code is taken out of the address",
  });
  const { id } = await hub.post("still here");
  await page.locator(`hub-feed hub-row[data-id="${id}"]`).waitFor();
});

test("a second tab needs no code", async () => {
  const hub = await startHub();
  const first = await openDashboard(hub);
  /** @type {string[]} */
  const asked = [];
  first
    .context()
    .on("request", (request) => asked.push(new URL(request.url()).pathname));
  const second = await openDashboard(hub, {
    context: first.context(),
    signIn: false,
  });
  assert.ok(!asked.includes("/login"));
  await live(second);
});

test("an open sign-in page gets in when another tab signs in", async () => {
  const hub = await startHub();
  const waiting = await openDashboard(hub, { signIn: false, live: false });
  await signInPage(waiting);
  await openDashboard(hub, { context: waiting.context() });
  await live(waiting);
});

test("another browser gets no session from this one", async () => {
  const hub = await startHub();
  await openDashboard(hub);
  await signInPage(await openDashboard(hub, { signIn: false, live: false }));
});

for (const [
  name,
  change,
  reason,
] of /** @type {[string, (login: Planted) => Planted, RegExp][]} */ ([
  ["that is over", (login) => ({ ...login, ends: -1000 }), /has ended/],
  [
    "that the hub does not know",
    ({ token, ends }) => ({
      token: `0123456789abcdef${token.slice(16)}`,
      ends,
    }),
    /has ended/,
  ],
  [
    "with another key",
    ({ token, ends }) => ({
      token: token.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      ends,
    }),
    /did not prove/,
  ],
  [
    "with a later end than the hub gave",
    ({ token }) => ({
      token: `0123456789abcdef${token.slice(16)}`,
      ends: 99 * HALF_A_DAY,
    }),
    /has ended/,
  ],
  [
    "that is no session",
    ({ ends }) => ({ token: "", ends }),
    /has ended|hubctl dashboard/,
  ],
])) {
  test(`a remembered session ${name} leads to the sign-in page with the reason, and shows nothing`, async () => {
    const hub = await startHub();
    await hub.post("a secret of the hub", { from: "worker" });
    const { code } = await hub.code();
    const { token } = (await hub.ask("POST", "/login", { code })).json;
    const context = await newContext();
    allow(context, REFUSED, /status of 422/);
    await plant(hub, context, change({ token, ends: HALF_A_DAY }));
    const page = await openDashboard(hub, {
      context,
      signIn: false,
      live: false,
    });
    assert.match(await signInPage(page), reason);
    assert.doesNotMatch(await page.content(), /a secret of the hub/);
    // A code repairs it.
    await page.goto(`${hub.url}/?again#code=${(await hub.code()).code}`);
    await live(page);
  });
}

test("a revoked browser is signed out at once, in every tab and for good", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const second = await openDashboard(hub, {
    context: page.context(),
    signIn: false,
  });
  const other = await openDashboard(hub, { path: "/?view=feed" });
  allow(page, REFUSED, /status of 422/);
  const { devices } = await hub.get("/login/devices");
  assert.equal(devices.length, 2);
  assert.match(devices[0].name, /^Chrome \d+ on Linux$/);
  await hub.call("DELETE", `/login/devices/${devices[0].id}`);
  for (const tab of [page, second])
    assert.match(await signInPage(tab), /revoked/);
  const again = await openDashboard(hub, {
    context: page.context(),
    signIn: false,
    live: false,
  });
  assert.match(await signInPage(again), /has ended/);
  const { id } = await hub.post("still here");
  await other.locator(`hub-feed hub-row[data-id="${id}"]`).waitFor();
});

test("a browser that cannot remember the session is signed in until its tab is closed", async () => {
  const hub = await startHub();
  const context = await newContext();
  allow(context, REFUSED);
  const evil = await context.newPage();
  await evil.goto(`${hub.url}/healthz`);
  await evil.evaluate(
    () =>
      new Promise((resolve) => (indexedDB.open("hub", 99).onsuccess = resolve)),
  );
  const page = await openDashboard(hub, { context });
  await page.reload();
  assert.match(await signInPage(page), /hubctl dashboard/);
});

for (const [
  name,
  answer,
] of /** @type {[string, (asked: URL) => object][]} */ ([
  [
    "answers everything",
    () => ({
      proof: "0".repeat(64),
      version: "0",
      notifications: [],
      sessions: [],
    }),
  ],
  ["proves nothing", () => ({})],
])) {
  test(`a program that takes the hub's port and ${name} gets no session, and the page says so`, async () => {
    const hub = await startHub();
    const context = await newContext();
    const given = sessionOf(context);
    const page = await openDashboard(hub, { context });
    const second = await openDashboard(hub, { context, signIn: false });
    allow(page, HUB_DOWN, REFUSED, /Failed to load/);
    const token = await given;
    await idle(context);
    await hub.kill();
    const heard = await squat(hub.port, answer);
    for (const tab of [page, second]) {
      assert.match(await signInPage(tab), /did not prove that it is the hub/);
    }
    const asked = heard.join("\n");
    assert.match(asked, /GET \/hello\?nonce=/);
    assert.doesNotMatch(asked, /authorization/i);
    assert.ok(
      !asked.includes(token.split(".")[1] ?? ""),
      "the session was sent",
    );
    assert.doesNotMatch(asked, /GET \/(notifications|sessions|events|hub)\b/);
  });
}

for (const [
  name,
  refuse,
] of /** @type {[string, (response: http.ServerResponse) => unknown][]} */ ([
  ["fails", (response) => response.writeHead(503).end("{}")],
  [
    "is cut off",
    (response) =>
      response
        .writeHead(200, { "content-length": "99" })
        .write('{"proof"', () => response.destroy()),
  ],
])) {
  test(`an answer that ${name} ends no session: the page goes on when the hub is back`, async () => {
    const hub = await startHub();
    const page = await openDashboard(hub, { path: "/?view=feed" });
    allow(page, HUB_DOWN, /Failed to load/);
    await hub.kill();
    let asked = 0;
    const server = http.createServer(
      (_, response) => ((asked += 1), refuse(response)),
    );
    await new Promise((resolve) =>
      server.listen(hub.port, "127.0.0.1", () => resolve(undefined)),
    );
    await until(() => asked >= 2, { what: "the page asks again" });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await hub.restart();
    const { id } = await hub.post("still here");
    await page.locator(`hub-feed hub-row[data-id="${id}"]`).waitFor();
  });
}

test("a squatter that relays the proof to the hub at another port proves nothing", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  allow(page, HUB_DOWN, REFUSED, /Failed to load/);
  const port = hub.port;
  await idle(page.context());
  await hub.kill();
  // The same hub starts on another port, because its own is taken.
  hub.port = 0;
  const heard = await squat(
    port,
    () => ({}),
    async (asked) => {
      const { host: _, ...headers } = asked.headers;
      return (
        await hub.ask("GET", asked.url ?? "/", undefined, {
          .../** @type {Record<string, string>} */ (headers),
          host: `127.0.0.1:${hub.port}`,
        })
      ).text;
    },
  );
  await hub.launch();
  assert.match(await signInPage(page), /did not prove that it is the hub/);
  assert.doesNotMatch(heard.join("\n"), /authorization/i);
});

test("a program that has the port uses the key of the browser, and gets no session from the hub, now or later", async () => {
  const hub = await startHub();
  const context = await newContext();
  const given = sessionOf(context);
  const page = await openDashboard(hub, { context });
  allow(context, HUB_DOWN, REFUSED, /Failed to load/);
  const token = await given;
  await page.close();
  const port = hub.port;
  await hub.kill();
  await squat(port, () => ({}));
  // The same hub starts on another port, because its own is taken.
  hub.port = 0;
  await hub.launch();
  const addresses = [`127.0.0.1:${port}`, `127.0.0.1:${hub.port}`];
  const { challenge } = (await hub.ask("POST", "/login/challenge")).json;
  const evil = await context.newPage();
  await evil.goto(`http://127.0.0.1:${port}/`);
  const { proofs, exported, stored } = await evil.evaluate(useKey, {
    challenge,
    addresses,
  });
  assert.equal(proofs.length, 2, "the attack itself works");
  assert.deepEqual(exported, [], "the key was read");
  assert.ok(!stored.includes(token.slice(17)), "the token was stored");
  const session = token.slice(0, 16);
  for (const proof of proofs) {
    for (const host of addresses) {
      const fresh =
        proof === proofs[0]
          ? challenge
          : (await hub.ask("POST", "/login/challenge")).json.challenge;
      const answers = await evil.evaluate(useKey, {
        challenge: fresh,
        addresses,
      });
      for (const used of [proof, ...answers.proofs]) {
        const { status, text } = await hub.ask(
          "POST",
          "/login/resume",
          { session, challenge: fresh, proof: used },
          { host },
        );
        assert.ok(
          status === 401 || status === 421,
          `${host}: ${status} ${text}`,
        );
      }
    }
  }
  // The proofs that it has collected are worthless when the hub has its port again.
  const unused = (await hub.ask("POST", "/login/challenge")).json.challenge;
  const collected = await evil.evaluate(useKey, {
    challenge: unused,
    addresses,
  });
  await evil.close();
  await unsquat(port);
  await hub.kill();
  hub.port = port;
  await hub.launch();
  for (const proof of collected.proofs) {
    const { status } = await hub.ask("POST", "/login/resume", {
      session,
      challenge: unused,
      proof,
    });
    assert.equal(status, 401);
  }
  await openDashboard(hub, { context, signIn: false });
});

test("no tab sends its session to another page of its origin", async () => {
  const hub = await startHub();
  const context = await newContext();
  const given = sessionOf(context);
  allow(context, REFUSED);
  const evil = await context.newPage();
  await evil.goto(`${hub.url}/healthz`);
  const heard = await evil.evaluateHandle(() => {
    /** @type {unknown[]} */
    const heard = [];
    const channel = new BroadcastChannel("hub");
    channel.onmessage = ({ data }) => heard.push(data);
    return { channel, heard };
  });
  const page = await openDashboard(hub, { context, path: "/?view=feed" });
  const token = await given;
  await heard.evaluate(({ channel }) => {
    for (const kind of ["login-wanted", "signed-in", "hello"])
      channel.postMessage({ kind });
  });
  const { id } = await hub.post("said");
  await page.locator(`hub-feed hub-row[data-id="${id}"]`).waitFor();
  const messages = await until(
    async () => {
      const text = JSON.stringify(await heard.evaluate(({ heard }) => heard));
      return text.includes("said") && text;
    },
    { what: "the page of the attacker hears the tabs" },
  );
  assert.match(messages, /signed-in/);
  assert.ok(!messages.includes(token.slice(17)), "the token was sent");
});

test("a session ends after 12 hours while the page is open", async () => {
  const hub = await startHub();
  const context = await newContext();
  await context.clock.install();
  const page = await openDashboard(hub, { context });
  allow(page, REFUSED);
  await hub.post("was on the page", { from: "worker" });
  await page.clock.fastForward(HALF_A_DAY + 60_000);
  assert.match(await signInPage(page), /has ended/);
  assert.equal(await page.title(), "hub: signed out");
  assert.match(
    decodeURIComponent(
      (await page.locator("link[rel=icon]").getAttribute("href")) ?? "",
    ),
    />\?<\/text>/,
  );
  assert.doesNotMatch(await page.content(), /was on the page/);
});

test("a hub with another token leads to the sign-in page in every tab", async () => {
  const hub = await startHub();
  const first = await openDashboard(hub);
  const second = await openDashboard(hub, {
    context: first.context(),
    signIn: false,
  });
  allow(first, REFUSED, /ERR_|Failed to load/);
  await hub.kill();
  await hub.restart({ fresh: "all" });
  await signInPage(first);
  await signInPage(second);
});

test("the token is in memory only", async () => {
  const hub = await startHub();
  const context = await newContext();
  /** @type {string[]} */
  const seen = [];
  context.on("console", (message) => seen.push(`console: ${message.text()}`));
  const token = sessionOf(context);
  context.on("request", (request) =>
    seen.push(
      `url: ${request.url()}`,
      `referrer: ${request.headers().referer ?? ""}`,
      `body: ${request.postData() ?? ""}`,
    ),
  );
  const page = await openDashboard(hub, { context });
  const second = await openDashboard(hub, { context, signIn: false });
  await hub.post("said", { from: "worker" });
  const session = await token;
  assert.match(session, /^[0-9a-f]{16}\.[0-9a-f]{64}$/);
  for (const tab of [page, second]) {
    seen.push(
      tab.url(),
      await tab.content(),
      await tab.evaluate(everythingElse),
    );
  }
  seen.push(JSON.stringify(await context.cookies()));
  for (const secret of [session, session.split(".")[1] ?? "", hub.token]) {
    const where = seen
      .filter((text) => text.includes(secret))
      .map((text) => text.slice(0, 200));
    assert.deepEqual(where, []);
  }
  assert.deepEqual(await context.cookies(), []);
  assert.equal(
    await page.evaluate(() => localStorage.length),
    await page.evaluate(
      () =>
        Object.keys(localStorage).filter((key) => key.startsWith("hub."))
          .length,
    ),
  );
});

test("the page works under localhost as under 127.0.0.1", async () => {
  const hub = await startHub();
  const { code } = await hub.code();
  const page = await (await newContext()).newPage();
  await page.goto(`http://localhost:${hub.port}/#code=${code}`);
  await live(page);
});

test("a port that is forwarded under another number is refused with what to do", async () => {
  const hub = await startHub();
  const port = await forward(hub.port);
  const page = await (await newContext()).newPage();
  allow(page, /status of 421/);
  const response = await page.goto(`http://127.0.0.1:${port}/`);
  assert.equal(response?.status(), 421);
  const text = await page.evaluate(() => document.body.innerText);
  assert.match(
    text,
    new RegExp(`ssh -t -L ${hub.port}:127\\.0\\.0\\.1:${hub.port} HOST`),
  );
  assert.match(text, /allowed_hosts/);
});

/** The text of the sign-in page, once it is shown alone. @param {Page} page */
async function signInPage(page) {
  await page.locator("hub-sign-in").waitFor();
  await until(async () => (await page.locator("hub-app").count()) === 0, {
    what: "nothing but the sign-in page is shown",
  });
  return page.locator("hub-sign-in").innerText();
}

/** Every other storage that a page can use. */
async function everythingElse() {
  const databases = await indexedDB.databases();
  const caches = await window.caches.keys();
  /** @type {unknown[]} */
  const records = [];
  for (const { name = "", version } of databases) {
    const database = await new Promise(
      (/** @type {(it: IDBDatabase) => void} */ resolve) => {
        const opening = indexedDB.open(name, version);
        opening.onsuccess = () => resolve(opening.result);
      },
    );
    for (const store of database.objectStoreNames) {
      const all = database.transaction(store).objectStore(store).getAll();
      await new Promise((resolve) => (all.onsuccess = resolve));
      for (const record of all.result) {
        records.push(record);
        for (const format of /** @type {const} */ (["raw", "jwk"])) {
          const found = await crypto.subtle
            .exportKey(format, record.key)
            .catch(() => null);
          if (found)
            records.push(
              found instanceof ArrayBuffer
                ? new TextDecoder().decode(found)
                : found,
            );
        }
      }
    }
    database.close();
  }
  return JSON.stringify([
    { ...localStorage },
    { ...sessionStorage },
    document.cookie,
    history.state,
    window.name,
    location.href,
    databases,
    caches,
    records,
  ]);
}

/**
 * The session's token that a page of this context receives.
 *
 * @param {import('playwright-core').BrowserContext} context
 * @returns {Promise<string>}
 */
function sessionOf(context) {
  return new Promise((resolve) =>
    context.on(
      "response",
      async (response) =>
        new URL(response.url()).pathname === "/login" &&
        resolve((await response.json()).token),
    ),
  );
}

/**
 * Starts another program on the hub's former port; returns the requests it received.
 *
 * @param {number} port
 * @param {(asked: URL) => object} answer
 * @param {(asked: http.IncomingMessage) => Promise<string>} [pass] what to answer instead
 */
async function squat(port, answer, pass) {
  /** @type {string[]} */
  const heard = [];
  const server = http.createServer(async (request, response) => {
    heard.push(
      `${request.method} ${request.url} ${JSON.stringify(request.headers)}`,
    );
    const url = new URL(request.url ?? "/", "http://squatter");
    if (url.pathname === "/")
      return response
        .writeHead(200, { "content-type": "text/html" })
        .end("<!doctype html><title>x</title>");
    const text = pass
      ? await pass(request).catch(() => "{}")
      : JSON.stringify(answer(url));
    return response
      .writeHead(200, { "content-type": "application/json" })
      .end(text);
  });
  await new Promise((resolve, reject) =>
    server
      .once("error", reject)
      .listen(port, "127.0.0.1", () => resolve(undefined)),
  );
  squatters.set(port, server);
  atEnd(() => unsquat(port));
  return heard;
}

/** Ends the program that has a port. @param {number} port */
async function unsquat(port) {
  const server = squatters.get(port);
  squatters.delete(port);
  if (!server) return;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** The programs that have a hub's port. @type {Map<number, http.Server>} */
const squatters = new Map();

/** @typedef {{token: string, ends: number}} Planted the token whose key to store, and when it ends, in ms from now */

/**
 * Stores a session in a browser, as the page does.
 *
 * @param {import('./support/hub.js').Hub} hub
 * @param {import('playwright-core').BrowserContext} context
 * @param {Planted} login
 */
async function plant(hub, context, { token, ends }) {
  const page = await context.newPage();
  await page.goto(`${hub.url}/healthz`);
  await page.evaluate(
    async ({ token, expires_at }) => {
      const bytes = new TextEncoder().encode(token || "?");
      const key = await crypto.subtle.importKey(
        "raw",
        bytes,
        { name: "HMAC", hash: "SHA-256" },
        false,
        ["sign", "verify"],
      );
      const opening = indexedDB.open("hub", 1);
      opening.onupgradeneeded = () =>
        opening.result.createObjectStore("devices");
      await new Promise((resolve) => (opening.onsuccess = resolve));
      const put = opening.result
        .transaction("devices", "readwrite")
        .objectStore("devices")
        .put({ id: token.split(".")[0], expires_at, key }, "own");
      await new Promise((resolve) => (put.onsuccess = resolve));
      opening.result.close();
    },
    { token, expires_at: new Date(Date.now() + ends).toISOString() },
  );
  await page.close();
}

/** Starts a proxy from another port to this one, as `ssh -L` does. @param {number} port */
async function forward(port) {
  const server = net.createServer((from) => {
    const to = net.connect(port, "127.0.0.1");
    from.pipe(to).pipe(from);
    from.on("error", () => to.destroy());
    to.on("error", () => from.destroy());
  });
  await new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(undefined)),
  );
  atEnd(() => server.close());
  return /** @type {net.AddressInfo} */ (server.address()).port;
}
