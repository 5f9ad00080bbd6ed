/** Text stays text: any text of agents, scripts and people, in any field, anywhere on the page. */

import assert from "node:assert/strict";

import { CORPUS, LONG, POLLUTION, WORST } from "./support/corpus.js";
import {
  allow,
  newContext,
  openAnew,
  openDashboard,
  startHub,
  test,
  until,
} from "./support/index.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

/** The texts cut to the limit of options and keys. */
const SMALL = CORPUS.map((text) => cut(text, 250));

test("notifications are shown verbatim, in the feed and in its details", async () => {
  const hub = await startHub();
  const { ids } = await hub.post(
    CORPUS.map((text, n) => ({
      msg: text,
      title: text.slice(0, 512),
      key: `${n}${cut(text, 250)}`,
      from: `f${n}`,
      type: "message",
      data: {
        [text]: text,
        list: [text, { [text]: [text] }],
        completed: text,
        total: text,
      },
    })),
  );
  const { page, elsewhere } = await open(hub, "/?view=feed");
  for (const [n, id] of ids.entries()) {
    await page
      .locator(`hub-feed hub-row[data-id="${id}"] a.content`)
      .first()
      .click();
    const details = page.locator("hub-details");
    await details.getByText(`#${id}`).first().waitFor();
    const text = CORPUS[n] ?? "";
    if (/^[\x20-\x7e]*$/.test(text))
      assert.ok(
        squeezed(await details.innerText()).includes(squeezed(text)),
        `details of ${text}`,
      );
    if (n % 6 === 0) await sound(page, `the details of ${text}`);
  }
  await sound(page, "the feed");
  assert.deepEqual(elsewhere, []);
});

test("the fields of a session are shown verbatim", async () => {
  const hub = await startHub();
  let taken = 0;
  for (const [n, text] of CORPUS.entries()) {
    // The hub refuses a field that breaks a rule; a stored one is shown.
    const about = {
      name: text.slice(0, 64),
      agent: text,
      host: text,
      cwd: text,
      branch: text,
      repository: text,
      pane: text,
      title: text,
      metadata: { [text]: text },
    };
    taken += await tried(hub, "PUT", `/sessions/s${n}?project=p`, about);
    taken += await tried(
      hub,
      "PUT",
      `/sessions/t${n}?project=${encodeURIComponent(text)}`,
      { ...about, name: `t${n}`, parent: "s0" },
    );
    await tried(hub, "POST", "/notify", {
      from: `s${n}`,
      project: "p",
      type: n % 2 ? "error" : "progress",
      msg: text,
      data: { completed: n, total: CORPUS.length },
    });
  }
  assert.ok(taken > CORPUS.length, `${taken} sessions are taken`);
  const { page, elsewhere } = await open(hub, "/");
  await page.keyboard.type("va");
  await sound(page, "the sessions");
  // Each session is opened in the pane, which shows one at a time.
  const opened = await page.evaluate(async () => {
    const rows = /** @type {HTMLElement[]} */ ([
      ...document.querySelectorAll(".board-row"),
    ]);
    for (const row of rows) {
      row.click();
      await new Promise(requestAnimationFrame);
      if (!document.querySelector("hub-session .body")?.checkVisibility())
        throw new Error(`${row.dataset.key} is not shown`);
    }
    return rows.length;
  });
  assert.ok(opened >= taken, `${opened} sessions are opened`);
  await sound(page, "the last session");
  await page.keyboard.type("vq");
  await sound(page, "what needs the person");
  assert.deepEqual(elsewhere, []);
});

test("questions and answers are shown verbatim", async () => {
  const hub = await startHub();
  await hub.post(
    SMALL.map((text, n) => ({
      from: `q${n}`,
      type: "question",
      msg: text,
      title: text,
      options: [text, `${cut(text, 200)}?`],
      data: { [text]: text },
    })),
  );
  await hub.post(
    SMALL.map((text, n) => ({
      from: `a${n}`,
      type: "approval",
      msg: text,
      data: { tool_name: text, tool_input: { command: text, [text]: text } },
    })),
  );
  for (const [n, text] of WORST.entries()) {
    const hook = {
      hook_event_name: "PermissionRequest",
      session_id: `h${n}`,
      cwd: `/src/${text}`,
      tool_name: text,
      tool_input: { command: text, description: text, [text]: text },
    };
    hub
      .hook("claude", hook, {
        project: "p",
        session: `h${n}`,
        name: `h${n}`,
        pane: text,
        host: text,
      })
      .catch(() => {});
  }
  await until(
    async () =>
      (await hub.get("/questions")).questions.length ===
      2 * SMALL.length + WORST.length,
    { what: "all is asked" },
  );
  const { page, elsewhere } = await open(hub, "/");
  const rows = page.locator("hub-queue-list .queue-row");
  await until(
    async () => (await rows.count()) === 2 * SMALL.length + WORST.length,
    { what: "all is listed" },
  );
  await sound(page, "the list");
  // Each need is on the stage once, and its card stays in the page.
  for (let n = await rows.count(); n > 0; n -= 1)
    await page.keyboard.press("j");
  await until(
    async () =>
      (await page.locator("hub-stage hub-question").count()) ===
      2 * SMALL.length + WORST.length,
    { what: "all was shown" },
  );
  await sound(page, "the questions");
  for (const [n, { id }] of (await hub.get("/questions")).questions
    .slice(0, SMALL.length)
    .entries()) {
    await hub.call("POST", `/needs/${id}/answer`, { reply: CORPUS[n] });
  }
  await until(
    async () => (await rows.count()) === SMALL.length + WORST.length,
    { what: "what is answered goes" },
  );
  await sound(page, "what was answered elsewhere");
  assert.deepEqual(elsewhere, []);
});

test("text in the address stays text, in any encoding", async () => {
  const hub = await startHub();
  await hub.post("said", { from: "worker" });
  const { page, elsewhere } = await open(hub, "/");
  for (const text of WORST) {
    const search = [
      "q",
      "text",
      "type",
      "project",
      "session",
      "from",
      "priority",
      "id",
      text,
    ].map((name) => [name, text]);
    await page.evaluate(
      (to) => {
        history.pushState(null, "", to);
        dispatchEvent(new PopStateEvent("popstate"));
      },
      `?${new URLSearchParams(search)}`,
    );
    await sound(page, `the address with ${text}`);
  }
  const [worst] = WORST;
  await openAnew(
    hub,
    page,
    `?${new URLSearchParams([
      ["project", worst ?? ""],
      ["q", worst ?? ""],
      ["id", worst ?? ""],
    ])}`,
  );
  await page.locator("hub-app").waitFor();
  await sound(page, "the page, opened with such an address");
  assert.deepEqual(elsewhere, []);
});

test("dialogs and the timeline show the same texts as text", async () => {
  const hub = await startHub();
  const mutes = [];
  for (const text of WORST) {
    await tried(hub, "PUT", `/sessions/m?project=${encodeURIComponent(text)}`, {
      name: "m",
      agent: text,
    });
    if (
      await tried(hub, "POST", "/notify", {
        msg: text,
        project: text,
        from: "worker",
        session: "worker",
        type: "waiting",
      })
    )
      mutes.push({ project: text });
  }
  assert.ok(mutes.length > 10);
  await hub.call("PUT", "/preferences", {
    quiet: null,
    mutes,
    notify: ["blocked"],
    sound: [],
  });
  const { page, elsewhere } = await open(hub, "/");
  for (const key of [",", "?"]) {
    // A key that is pressed before the page listens does nothing.
    const opened = async () => {
      if ((await page.locator("dialog[open]").count()) > 0) return true;
      await page.keyboard.press(key);
      return false;
    };
    await until(opened, { what: `the dialog of ${key}`, every: 100 });
    await sound(page, `the dialog of ${key}`);
    await page.keyboard.press("Escape");
    await until(
      async () => (await page.locator("dialog[open]").count()) === 0,
      { what: "the dialog is closed" },
    );
  }
  // A key that is pressed while the dialog closes does nothing.
  const lanes = async () => {
    await page.keyboard.type("vt");
    return (await page.locator("timeline-lane").count()) > 0;
  };
  await until(lanes, { what: "the timeline is shown", every: 100 });
  await page.getByRole("slider").evaluate((slider) => {
    /** @type {HTMLInputElement} */ (slider).value = "999";
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.locator("timeline-lane .words").first().waitFor();
  await sound(page, "the timeline");
  assert.deepEqual(elsewhere, []);
});

test("keys of every object in data pollute nothing, and are shown", async () => {
  const hub = await startHub();
  const body = (/** @type {object} */ more) =>
    JSON.stringify({ msg: "polluting", type: "progress", ...more }).replace(
      '"DATA"',
      POLLUTION,
    );
  await hub.post(
    body({ from: "constructor", project: "__proto__", data: "DATA" }),
  );
  const { id } = await hub.post(
    body({ from: "toString", project: "constructor", data: "DATA" }),
  );
  await hub.post(
    body({
      from: "hasOwnProperty",
      project: "hasOwnProperty",
      type: "question",
      options: ["__proto__", "constructor"],
      data: "DATA",
    }),
  );
  await hub.call(
    "PUT",
    "/sessions/valueOf?project=__proto__",
    `{"name":"valueOf","metadata":${POLLUTION}}`,
  );
  const { page, elsewhere } = await open(hub, `/?id=${id}`);
  await page.locator("hub-details").getByText("polluted").first().waitFor();
  await sound(page, "the details");
  assert.deepEqual(
    await page.evaluate(() => [
      /** @type {any} */ ({}).polluted,
      /** @type {any} */ ([]).polluted,
      typeof {}.toString,
      typeof Object.prototype.hasOwnProperty,
    ]),
    [undefined, undefined, "function", "function"],
  );
  const sessions = page.locator("hub-board");
  for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"])
    await sessions
      .getByText(name, { exact: true })
      .first()
      .waitFor({ state: "attached" });
  for (const name of ["__proto__", "constructor", "hasOwnProperty"])
    assert.match(await page.locator("hub-feed").innerText(), new RegExp(name));
  assert.deepEqual(elsewhere, []);
});

test("a text of the maximum length keeps the layout of the page", async () => {
  const hub = await startHub();
  const { id } = await hub.post({
    msg: LONG,
    title: LONG.slice(0, 512),
    from: "f".repeat(64),
    project: `/${"p".repeat(1000)}`,
    key: "k".repeat(256),
  });
  await hub.post({
    msg: LONG.slice(0, 50_000),
    from: "q".repeat(64),
    type: "question",
    options: Array.from({ length: 32 }, (_, n) => `${n}${"o".repeat(250)}`),
  });
  await tried(
    hub,
    "PUT",
    `/sessions/${"s".repeat(64)}?project=/${"p".repeat(1000)}`,
    {
      name: "n".repeat(64),
      agent: "a".repeat(500),
      cwd: `/${"c".repeat(900)}`,
      host: "h".repeat(250),
      title: "t".repeat(500),
      pane: "%1",
    },
  );
  for (const width of [1280, 390]) {
    const { page, elsewhere } = await open(hub, `/?id=${id}`, width);
    await page
      .locator("hub-details")
      .getByText(`#${id}`)
      .first()
      .waitFor({ state: "attached" });
    await sound(page, `${width} px`);
    for (const key of ["q", "a", "f", "t"]) {
      await page.keyboard.type(`v${key}`);
      const over = await page.evaluate(
        () =>
          document.documentElement.scrollWidth -
          document.documentElement.clientWidth,
      );
      assert.ok(over <= 0, `view ${key} at ${width} px is ${over} px too wide`);
    }
    assert.deepEqual(elsewhere, []);
  }
});

/**
 * Opens the dashboard, and records its requests to other hosts.
 *
 * @param {Hub} hub
 * @param {string} path
 * @param {number} [width]
 */
async function open(hub, path, width = 1280) {
  const context = await newContext({ viewport: { width, height: 6000 } });
  // A search that the hub refuses is not a fault of the page.
  allow(context, /status of 4(00|04|22)/);
  /** @type {string[]} */
  const elsewhere = [];
  context.on("request", (request) => {
    const url = request.url();
    if (
      !url.startsWith(`${hub.url}/`) &&
      !url.startsWith("data:image/svg+xml,")
    )
      elsewhere.push(url);
  });
  const page = await openDashboard(hub, { context, path });
  return { page, elsewhere };
}

/**
 * Asserts that no payload ran, and that the page has no element which text cannot make.
 *
 * @param {Page} page
 * @param {string} where
 */
async function sound(page, where) {
  // After two frames the last text is drawn, and its payload would have run.
  await page.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(resolve)),
      ),
  );
  assert.deepEqual(await page.evaluate(audit), [], where);
}

/** Returns elements that only markup can have made, and text that can reorder its surroundings. */
function audit() {
  /** @type {string[]} */
  const found = [];
  const own = location.origin;
  if (/** @type {any} */ (window).__xss !== undefined) found.push("it ran");
  if (document.querySelectorAll("script").length !== 1)
    found.push("another script");
  if (document.baseURI !== location.href)
    found.push(`base ${document.baseURI}`);
  for (const element of document.querySelectorAll("body, body *")) {
    if (
      /^(script|iframe|object|embed|base|meta|link|style|img|video|audio|template|math|frame|foreignObject|animate)$/i.test(
        element.localName,
      )
    )
      found.push(`<${element.localName}>`);
    if (element.shadowRoot)
      found.push(`a shadow root in <${element.localName}>`);
    for (const { name, value } of element.attributes) {
      if (
        /[\u202a-\u202e\u2066-\u2069]/.test(value) &&
        !/^(value|data-|href)/.test(name)
      )
        found.push(`a direction mark in ${name} of <${element.localName}>`);
      if (/^on/i.test(name)) found.push(`${name}="${value}"`);
      if (
        /^(href|src|action|formaction|xlink:href|data|srcdoc|poster|background)$/i.test(
          name,
        )
      ) {
        const url = new URL(value, document.baseURI);
        const isOwn = url.origin === own && /^(\/|\?|#)/.test(value);
        // A link of a text leads to the web, in another tab that learns nothing of this page.
        const isLink =
          name === "href" &&
          element.localName === "a" &&
          /^https?:$/.test(url.protocol) &&
          element.getAttribute("rel") === "noopener noreferrer" &&
          element.getAttribute("target") === "_blank";
        if (!isOwn && !isLink) found.push(`${name}="${value}"`);
      }
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = /** @type {Text} */ (texts.currentNode);
    const parent = /** @type {Element} */ (text.parentElement);
    if (
      /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(text.data) &&
      parent.localName !== "textarea"
    )
      found.push(
        `a direction mark in <${parent.localName} class="${parent.className}">`,
      );
  }
  return [...new Set(found)];
}

/**
 * Returns whether the hub accepts the request.
 *
 * @param {Hub} hub
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 */
async function tried(hub, method, path, body) {
  const { status, text } = await hub.ask(method, path, body, {
    authorization: `Bearer ${hub.token}`,
  });
  if (status < 300) return 1;
  assert.ok(
    status === 422 || status === 409,
    `${method} ${path}: ${status} ${text}`,
  );
  return 0;
}

/** Cuts a text to at most so many bytes. @param {string} text @param {number} bytes */
function cut(text, bytes) {
  const letters = [...text];
  while (Buffer.byteLength(letters.join("")) > bytes) letters.pop();
  return letters.join("");
}

/** @param {string} text */
function squeezed(text) {
  return text.replace(/\s+/g, "");
}
