/** A page of another port gets nothing, text stays text, and every response has its security headers. */

import assert from "node:assert/strict";
import http from "node:http";

import { attack } from "./support/attack.js";
import {
  allow,
  atEnd,
  complained,
  newContext,
  openDashboard,
  startHub,
  test,
  until,
  useWholeBrowser,
} from "./support/index.js";

/** The Content-Security-Policy of the hub's pages: the hub's own scripts, styles and connections only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The policy of the document that registers the service worker: one constant script, without Trusted Types. */
const WORKER_POLICY =
  "default-src 'none'; script-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

useWholeBrowser();

/** @typedef {import('./support/hub.js').Hub} Hub */

test("the page and each of its files have their security headers and the right type", async () => {
  const hub = await startHub();
  const { script, style } = await assetsOf(hub);
  const types = {
    js: "text/javascript; charset=utf-8",
    css: "text/css; charset=utf-8",
    html: "text/html; charset=utf-8",
    svg: "image/svg+xml",
    png: "image/png",
    webmanifest: "application/manifest+json",
  };
  const others = [
    "index.html",
    "icon.svg",
    "icon-192.png",
    "icon-512.png",
    "manifest.webmanifest",
    "register-worker.html",
    "register-worker.js",
  ].map((name) => `/assets/${name}`);
  for (const path of ["/", "/service-worker.js", ...others, script, style]) {
    const { status, headers } = await hub.ask("GET", path);
    assert.equal(status, 200, path);
    assert.equal(
      headers["content-security-policy"],
      path.includes("register-worker.html") ? WORKER_POLICY : POLICY,
      path,
    );
    assert.equal(
      headers["content-type"],
      types[/** @type {keyof types} */ (path.split(".")[1] ?? "html")],
      path,
    );
    assert.equal(headers["x-content-type-options"], "nosniff", path);
    assert.equal(headers["cross-origin-resource-policy"], "same-origin", path);
    assert.equal(headers["cross-origin-opener-policy"], "same-origin", path);
    assert.equal(headers["referrer-policy"], "no-referrer", path);
    assert.equal(headers["access-control-allow-origin"], undefined, path);
    assert.equal(headers["set-cookie"], undefined, path);
  }
});

test("no file outside the dashboard is served", async () => {
  const hub = await startHub();
  for (const path of [
    "/assets/",
    "/assets/..",
    "/assets/../openapi.yaml",
    "/assets/%2e%2e/Cargo.toml",
    "/assets/..%2fCargo.toml",
    "/assets/%00",
    "/assets/style",
    "/favicon.ico",
    "/index.html",
    "/assets//etc/passwd",
  ]) {
    const { status, text } = await hub.ask("GET", path);
    assert.ok(status >= 400 && status < 500, `${path}: ${status}`);
    assert.doesNotMatch(text, /<html|\[package\]|openapi:/, path);
  }
});

test("the browser enforces the policy: a page of the hub cannot turn text into code", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  allow(page, /./);
  const ways = await page.evaluate(async () => {
    const element = document.createElement("div");
    const script = document.createElement("script");
    /** @type {Record<string, () => unknown>} */
    const tries = {
      innerHTML: () => (element.innerHTML = "<img src=x>"),
      outerHTML: () =>
        (document.body.appendChild(document.createElement("i")).outerHTML =
          "<b>x</b>"),
      insertAdjacentHTML: () =>
        element.insertAdjacentHTML("beforeend", "<b>x</b>"),
      "document.write": () => document.write("<b>x</b>"),
      "script text": () => (script.text = "window.__xss = 1"),
      "script src": () => (script.src = "/assets/icon.svg"),
      srcdoc: () => (document.createElement("iframe").srcdoc = "<b>x</b>"),
      DOMParser: () => new DOMParser().parseFromString("<b>x</b>", "text/html"),
      "a policy": () =>
        /** @type {any} */ (window).trustedTypes.createPolicy("mine", {}),
    };
    const worked = Object.keys(tries).filter((name) => {
      try {
        tries[name]?.();
        return true;
      } catch {
        return false;
      }
    });
    const button = document.body.appendChild(document.createElement("button"));
    button.setAttribute("style", "color: rgb(1, 2, 3)");
    if (getComputedStyle(button).color === "rgb(1, 2, 3)")
      worked.push("style attribute");
    button.remove();
    for (const url of [
      "http://127.0.0.1:9/",
      "https://xss.invalid/",
      "data:text/plain,x",
      "blob:x",
    ]) {
      if (
        await fetch(url, { mode: "no-cors" }).then(
          () => true,
          () => false,
        )
      )
        worked.push(url);
    }
    return worked;
  });
  assert.deepEqual(ways, []);
  // Thus a test with this library fails when a page of the hub breaks its policy.
  assert.ok(
    complained(page).some((said) => /violates.*connect-src 'self'/.test(said)),
  );
});

test("a page of another port reads nothing from the hub, and stores nothing in it", async () => {
  const hub = await startHub();
  const { id } = await hub.post("a secret of the hub", { from: "worker" });
  const dashboard = await openDashboard(hub);
  const before = await state(hub);
  for (const host of ["127.0.0.1", "localhost"]) {
    const page = await dashboard.context().newPage();
    allow(page, /./);
    await page.goto(`http://${host}:${await elsewhere()}/`);
    const got = await page.evaluate(attack, {
      hub: hub.url,
      id,
      token: hub.token,
      ...(await assetsOf(hub)),
    });
    assert.deepEqual(got, []);
    for (const frame of page.frames().slice(1)) {
      assert.doesNotMatch(
        await frame.content().catch(() => ""),
        /hub-sign-in|hub-app|a secret/,
        frame.url(),
      );
    }
    assert.deepEqual(await page.context().cookies(), []);
  }
  assert.deepEqual(await state(hub), before);
  assert.equal(await hub.streams(), 1, "only the dashboard listens");
  assert.equal(await dashboard.locator("hub-app").count(), 1);
});

test("the same attempts succeed without protection: in a page of the hub, without a policy", async () => {
  const hub = await startHub();
  const { id } = await hub.post("a secret of the hub", { from: "worker" });
  const dashboard = await openDashboard(hub);
  const page = await dashboard.context().newPage();
  allow(page, /./);
  await page.goto(`${hub.url}/healthz`);
  const got = (
    await page.evaluate(attack, {
      hub: hub.url,
      id,
      token: hub.token,
      ...(await assetsOf(hub)),
    })
  ).join("\n");
  for (const way of [
    /read with the token \/notifications: 200/,
    /json with the token \/notify: 201/,
    /read \/: 200/,
    /XMLHttpRequest/,
    /<img> /,
    /<script> /,
    /<link> /,
    /import/,
    /iframe/,
  ])
    assert.match(got, way);
  assert.ok((await hub.ids()).length > 1);
});

test("a page of another port that opens the dashboard can neither read nor navigate it", async () => {
  const hub = await startHub();
  const dashboard = await openDashboard(hub);
  const page = await dashboard.context().newPage();
  allow(page, /./);
  await page.goto(`http://127.0.0.1:${await elsewhere()}/`);
  const opened = page.context().waitForEvent("page");
  await page.evaluate((url) => {
    /** @type {any} */ (window).w = window.open(`${url}/`);
  }, hub.url);
  const tab = await opened;
  await tab.locator("hub-app").waitFor();
  assert.equal(await tab.evaluate(() => window.opener), null);
  const seen = await page.evaluate(() => {
    const { w } = /** @type {any} */ (window);
    const of = (/** @type {() => unknown} */ look) => {
      try {
        return look();
      } catch {
        return undefined;
      }
    };
    w.postMessage(
      {
        kind: "login",
        login: { token: "mine", expires_at: "2099-01-01T00:00:00.000Z" },
      },
      "*",
    );
    return [
      of(() => w.document.title),
      of(() => w.sessionStorage.length),
      of(() => w.location.href),
    ];
  });
  assert.deepEqual(seen, [undefined, undefined, undefined]);
  assert.equal(
    await page.evaluate(() => /** @type {any} */ (window).w.closed),
    true,
    "the two are in groups of their own",
  );
});

test("a service worker that another program left in the browser is removed once the hub is back", async () => {
  const hub = await startHub();
  await hub.kill();
  const evil = http.createServer((request, response) => {
    const isScript = request.url === "/evil.js";
    response
      .writeHead(200, {
        "content-type": isScript ? "text/javascript" : "text/html",
      })
      .end(
        isScript
          ? `addEventListener('fetch', (event) => event.request.mode === 'navigate' && event.respondWith(new Response('<title>evil</title>', { headers: { 'content-type': 'text/html' } })));
           addEventListener('activate', (event) => event.waitUntil(clients.claim()));`
          : "<!doctype html><title>x</title>",
      );
  });
  await new Promise((resolve) =>
    evil.listen(hub.port, "127.0.0.1", () => resolve(undefined)),
  );
  const context = await newContext();
  allow(context, /./);
  const first = await context.newPage();
  await first.goto(hub.url);
  await first.evaluate(async () => {
    await navigator.serviceWorker.register("/evil.js");
    await navigator.serviceWorker.ready;
  });
  await first.reload();
  assert.equal(await first.title(), "evil", "the attack itself works");
  await first.close();
  evil.closeAllConnections();
  await new Promise((resolve) => evil.close(resolve));
  await hub.launch();
  const page = await context.newPage();
  // The browser looks for a new version of the worker a moment after a page was loaded, and puts that off while pages are.
  await until(
    async () => {
      await page.goto(hub.url);
      return (await page.title()) !== "evil";
    },
    { what: "the page of the hub", every: 4000 },
  );
  await page.locator("hub-sign-in").waitFor();
});

test("the page runs no service worker but its own, and that one answers no request", async () => {
  const hub = await startHub();
  const context = await newContext();
  await context.grantPermissions(["notifications"]);
  await hub.call("PUT", "/preferences", { notify: ["needs_you"] });
  const page = await openDashboard(hub, { context });
  allow(page, /TrustedScriptURL/);
  const scripts = await until(
    () =>
      page.evaluate(async () =>
        (await navigator.serviceWorker.getRegistrations())
          .map(({ active }) => active?.scriptURL)
          .filter(Boolean)
          .join(),
      ),
    { what: "registered" },
  );
  assert.equal(scripts, `${hub.url}/service-worker.js`);
  const refused = await page.evaluate(() =>
    navigator.serviceWorker
      .register("/service-worker.js")
      .then(() => "", String),
  );
  assert.match(refused, /TrustedScriptURL/);
  // A worker that answered would show an old page, or one while the hub is down.
  await hub.kill();
  allow(page, /ERR_/);
  await assert.rejects(page.reload(), /ERR_CONNECTION_REFUSED/);
  assert.deepEqual(
    await context.serviceWorkers()[0]?.evaluate(() => caches.keys()),
    [],
  );
});

/** The paths of the page's script and of its first style sheet. @param {Hub} hub */
async function assetsOf(hub) {
  const page = await hub.get("/");
  const [, style = ""] =
    /<link rel="stylesheet" href="([^"]+)">/.exec(page) ?? [];
  const [, script = ""] =
    /<script type="module" src="([^"]+)">/.exec(page) ?? [];
  return { script, style };
}

/** The hub's contents that a page could read or change. @param {Hub} hub */
async function state(hub) {
  const [notifications, sessions, questions, inboxes] = await Promise.all(
    [
      "/notifications",
      "/sessions?all=true",
      "/questions?state=all",
      "/inboxes",
    ].map((path) => hub.get(path)),
  );
  return { notifications, sessions, questions, inboxes };
}

/** Starts a server on another port, whose pages have no restrictions. @returns {Promise<number>} its port */
async function elsewhere() {
  const server = http.createServer((_, response) => {
    response
      .writeHead(200, { "content-type": "text/html" })
      .end("<!doctype html><title>another</title><body>");
  });
  await new Promise((resolve) => server.listen(0, () => resolve(undefined)));
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}
