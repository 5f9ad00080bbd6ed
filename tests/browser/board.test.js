/** The board: each agent's phase, what it does, and the pane with the actions of a person. */

import assert from "node:assert/strict";

import {
  newContext,
  openDashboard,
  startHub,
  stopClock,
  test,
  until,
} from "./support/index.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const PROJECT = "/home/me/src/hub";
const AGENTS = "/?view=agents";
const QUERY = `?project=${encodeURIComponent(PROJECT)}`;

const row = (/** @type {Page} */ page, /** @type {string} */ id) =>
  page.locator(`.board-row[data-key="${PROJECT}/${id}"]`);

/** @param {Hub} hub @param {string} id @param {object} [info] */
async function register(hub, id, info = {}) {
  await hub.call("PUT", `/sessions/${id}${QUERY}`, {
    name: id,
    agent: "claude",
    ...info,
  });
}

/** @param {Hub} hub @param {string} from @param {object} what */
const post = (hub, from, what) => hub.post({ project: PROJECT, from, ...what });

/** Opens an agent in the pane. @param {Page} page @param {string} id */
async function open(page, id) {
  await row(page, id).click();
  const pane = page.locator(`hub-session[data-id="${id}"]`);
  await pane.waitFor();
  await pane.getByText("About this agent").click();
  return pane;
}

/** The groups of the board with the names in each, in order. @param {Page} page */
const groups = (page) =>
  page.evaluate(() => {
    /** @type {string[]} */
    const found = [];
    for (const line of document.querySelectorAll("hub-board .lines > *")) {
      if (line.localName === "h3")
        found.push(`${line.firstElementChild?.textContent}:`);
      else
        found[found.length - 1] +=
          ` ${line.querySelector(".name")?.textContent}`;
    }
    return found;
  });

/** @param {Page} page @param {string[]} expected */
const shows = (page, expected) =>
  until(
    async () => JSON.stringify(await groups(page)) === JSON.stringify(expected),
    { what: `the board shows ${expected}` },
  );

/** @param {Hub} hub @param {string} id @param {string} event @param {object} [more] */
const hook = (hub, id, event, more = {}) =>
  hub.hook(
    "claude",
    { hook_event_name: event, session_id: id, ...more },
    { project: PROJECT, session: id, name: id },
  );

/** Ends a turn with last words. @param {Hub} hub @param {string} id @param {string} words */
async function stops(hub, id, words) {
  await hook(hub, id, "UserPromptSubmit", { prompt: "go on" });
  await hook(hub, id, "Stop", {
    stop_hook_active: false,
    last_assistant_message: words,
    background_tasks: [],
  });
}

test("each agent is a row in the group of its phase, with its words, its project and its time", async () => {
  const hub = await startHub();
  await register(hub, "0b1c", { name: "lead", role: "primary", cwd: PROJECT });
  await register(hub, "w1", {
    parent: "lead",
    agent: "codex",
    cwd: `${PROJECT}-web`,
  });
  await register(hub, "w2", { parent: "lead" });
  await hook(hub, "0b1c", "UserPromptSubmit", { prompt: "Merge the branches" });
  await hook(hub, "w2", "UserPromptSubmit", { prompt: "Try it" });
  await post(hub, "w1", { type: "question", msg: "Drop the column?" });
  const page = await openDashboard(hub, { path: AGENTS });
  await shows(page, ["Needs you: ↳ w1", "Working: lead ↳ w2"]);
  assert.match(
    (await row(page, "w1").innerText()).replace(/\s+/g, " "),
    /^↳ w1 Drop the column\? hub · web (codex )?\d+ s$/,
  );
  assert.match(await row(page, "0b1c").innerText(), /Merge the branches/);
  assert.match(
    (await row(page, "w1").getAttribute("title")) ?? "",
    /worker of lead/,
  );
});

test("an agent that stopped is your turn until the person says that it is done, whatever they read", async () => {
  const hub = await startHub();
  await register(hub, "w1");
  await register(hub, "w2");
  await stops(
    hub,
    "w1",
    `All tests pass. Shall I merge? ${"I changed one more file. ".repeat(40)}That is all.`,
  );
  const page = await openDashboard(hub, { path: AGENTS });
  await row(page, "w1").getByText("All tests pass. Shall I merge?").waitFor();
  const pane = await open(page, "w1");
  await pane.locator("hub-conversation").getByText("That is all.").waitFor();
  const last = (await hub.get(`/sessions/w1${QUERY}`)).last;
  await until(async () => (await hub.get(`/notifications/${last}`)).seen, {
    what: "reading marks it",
  });
  await page.mouse.move(5, 5);
  await post(hub, "w2", { type: "progress", msg: "something else" });
  await row(page, "w2").getByText("something else").waitFor();
  assert.equal(await row(page, "w1").getAttribute("data-phase"), "your_turn");
  await pane.getByRole("button", { name: "Done" }).click();
  await until(
    async () => (await row(page, "w1").getAttribute("data-phase")) === "done",
    { what: "it is done" },
  );
  await stops(hub, "w1", "Merged.");
  await until(
    async () =>
      (await row(page, "w1").getAttribute("data-phase")) === "your_turn",
    { what: "it is your turn again" },
  );
});

test("no row moves while the pointer is on the board", async () => {
  const hub = await startHub();
  for (const id of ["w1", "w2", "w3"]) {
    await register(hub, id);
    await hook(hub, id, "UserPromptSubmit", { prompt: `task of ${id}` });
  }
  const page = await openDashboard(hub, { path: AGENTS });
  await shows(page, ["Working: w1 w2 w3"]);
  const at = async () => (await row(page, "w2").boundingBox())?.y;
  const before = await at();
  // The page's timers stand still, so that a pointer that rests counts as one that is about to click.
  await stopClock(page);
  await row(page, "w2").hover();
  await post(hub, "w3", { type: "question", msg: "Which?" });
  await until(
    async () => {
      await page.clock.runFor(300);
      return (await row(page, "w3").getAttribute("data-phase")) === "needs_you";
    },
    { what: "the row shows its new phase" },
  );
  assert.equal(await at(), before);
  assert.deepEqual(await groups(page), ["Working: w1 w2 w3"]);
  await page.mouse.move(5, 5);
  await page.clock.runFor(300);
  await shows(page, ["Needs you: w3", "Working: w1 w2"]);
});

test("agents are found and sorted", async () => {
  const hub = await startHub();
  for (const id of ["b-1", "a-10", "a-9"]) {
    await register(hub, id);
    await hook(hub, id, "UserPromptSubmit", { prompt: `task of ${id}` });
  }
  const page = await openDashboard(hub, { path: AGENTS });
  await shows(page, ["Working: b-1 a-10 a-9"]);
  await page.getByLabel("Sort the agents").selectOption("name");
  await shows(page, ["Working: a-9 a-10 b-1"]);
  await page.getByLabel("Find an agent").fill("task a-1");
  await shows(page, ["Working: a-10"]);
  await page.getByLabel("Find an agent").fill("nothing");
  await page.getByText("No agent matches “nothing”.").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await shows(page, ["Working: a-9 a-10 b-1"]);
});

test("the pane has an address, and its closing returns the focus to the row", async () => {
  const hub = await startHub();
  await register(hub, "w1");
  await register(hub, "w2");
  const page = await openDashboard(hub, { path: AGENTS });
  await row(page, "w1").focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  const pane = page.locator('hub-session[data-id="w2"]');
  await pane.waitFor();
  assert.equal(new URL(page.url()).searchParams.get("agent"), `${PROJECT}/w2`);
  assert.equal(await pane.locator(":focus").count(), 1);
  await page.keyboard.press("Escape");
  await pane.waitFor({ state: "hidden" });
  assert.equal(
    await row(page, "w2").evaluate((it) => it === document.activeElement),
    true,
  );
  await page.goBack();
  await pane.waitFor();
  const link = await openDashboard(hub, {
    path: `/?agent=${encodeURIComponent(`${PROJECT}/w1`)}`,
  });
  await link.locator('hub-session[data-id="w1"]').waitFor();
});

for (const width of [1440, 1024, 390]) {
  test(`a page of ${width} px shows one view at a time, and the pane ${width < 900 ? "over" : "beside"} it`, async () => {
    const hub = await startHub();
    await register(hub, "w1");
    await post(hub, "w1", { type: "question", msg: "Which?" });
    const page = await openDashboard(hub, { width });
    const shown = () =>
      page.evaluate(() =>
        ["hub-queue", "hub-board", "hub-feed", "hub-timeline", "hub-pane"]
          .filter((tag) => document.querySelector(tag)?.checkVisibility())
          .join(" "),
      );
    await page.locator(".queue-row").waitFor();
    assert.equal(await shown(), "hub-queue");
    for (const [keys, tag] of /** @type {const} */ ([
      ["vf", "hub-feed"],
      ["vt", "hub-timeline"],
      ["va", "hub-board"],
    ])) {
      await page.keyboard.type(keys);
      assert.equal(await shown(), tag);
    }
    const pane = await open(page, "w1");
    await pane.getByRole("heading", { name: "w1" }).waitFor();
    assert.equal(
      await shown(),
      width < 900 ? "hub-pane" : "hub-board hub-pane",
    );
    await page.keyboard.press("Escape");
    assert.equal(await shown(), "hub-board");
  });
}

test("names are shown whole before anything else is", async () => {
  const hub = await startHub();
  const name = "rewrite-the-import-of-statements";
  await register(hub, "w1", { name, branch: "a-branch-with-a-long-name" });
  await hook(hub, "w1", "UserPromptSubmit", {
    prompt:
      "a long task, in many words, of which the row shows the beginning only, because it is long",
  });
  await post(hub, "w1", { type: "question", msg: "Which of the three?" });
  const page = await openDashboard(hub, { width: 1024 });
  const isWhole = (/** @type {string} */ selector) =>
    page
      .locator(selector)
      .first()
      .evaluate((it) => it.scrollWidth <= it.clientWidth + 1);
  await page.locator(".queue-row").waitFor();
  assert.equal(await isWhole(".queue-row b"), true);
  await page.keyboard.type("va");
  assert.equal(await isWhole(".board-row .name"), true);
});

test("sixty agents fit on one screen", async () => {
  const hub = await startHub();
  for (let n = 0; n < 60; n++) {
    await register(hub, `w${n}`, n % 6 ? { parent: `w${n - (n % 6)}` } : {});
    if (n % 5 === 1)
      await hook(hub, `w${n}`, "UserPromptSubmit", {
        prompt:
          "a long task, in many words, of which the row shows the beginning",
      });
    if (n % 20 === 2)
      await post(hub, `w${n}`, {
        type: "question",
        msg: "Which of the three?",
        options: ["one", "two", "three"],
      });
  }
  const page = await openDashboard(hub, {
    width: 1440,
    height: 900,
    path: AGENTS,
  });
  await until(async () => (await page.locator(".board-row").count()) === 60, {
    what: "sixty rows",
  });
  const cut = await page.evaluate(
    () =>
      [...document.querySelectorAll(".board-row")].filter((it) => {
        const { top, bottom, height, width } = it.getBoundingClientRect();
        return top < 0 || bottom > innerHeight || height < 20 || width < 200;
      }).length,
  );
  assert.equal(cut, 0);
  assert.equal(await page.locator(".queue-row").count(), 3);
});

test("an empty board says how agents get there, and one agent is not alone with it", async () => {
  const hub = await startHub();
  await hub.call("POST", "/notify?from=person", "hello", {}, hub.socket);
  const page = await openDashboard(hub, { path: AGENTS });
  await page
    .locator("hub-board")
    .getByText("hubctl hooks install claude")
    .waitFor();
  await register(hub, "w1");
  await page
    .locator("hub-board")
    .getByText("Start another agent in any terminal")
    .waitFor();
  await register(hub, "w2");
  await page
    .locator("hub-board")
    .getByText("Start another agent")
    .waitFor({ state: "hidden" });
});

test("a notification shows the names of the sender and of the target session", async () => {
  const hub = await startHub();
  await register(hub, "0b1c-77", { name: "lead" });
  await register(hub, "5e2f-88", { name: "builder" });
  await post(hub, "5e2f-88", { type: "complete", msg: "built", to: "lead" });
  const page = await openDashboard(hub, { path: "/?view=feed" });
  const row = page.locator("hub-row").filter({ hasText: "built" });
  assert.equal(await row.locator(".from").innerText(), "builder");
  await row.getByRole("link").click();
  const details = page.locator("hub-details");
  await details.getByText("Stored for lead").waitFor();
  assert.doesNotMatch(await details.innerText(), /0b1c-77/);
});

test("the pane shows whether the agent has a waiter, had one, or never had one", async () => {
  const hub = await startHub();
  await register(hub, "w1");
  await post(hub, "w1", { type: "complete", msg: "done" });
  const page = await openDashboard(hub, { path: AGENTS });
  const pane = await open(page, "w1");
  await pane.getByText("no waiter").waitFor();
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${hub.token}` };
  fetch(`${hub.url}/wait${QUERY}&inbox=w1&as=w1&timeout=60`, {
    headers,
    signal: stop.signal,
  }).catch(() => {});
  await pane.getByText("waiter live").waitFor();
  stop.abort();
  await pane.getByText("waiter stale").waitFor();
});

test("a message wakes the waiter of its session, and the page says so", async () => {
  const hub = await startHub();
  await register(hub, "w1");
  const page = await openDashboard(hub, { path: AGENTS });
  const waiting = hub.get(`/wait${QUERY}&inbox=w1&as=w1&timeout=60`);
  const opened = await open(page, "w1");
  await opened.getByText("waiter live").waitFor();
  const field = opened.getByRole("textbox", { name: "Message to w1" });
  await field.fill("Please stop\nafter this one.");
  await field.press("Control+Enter");
  const [{ from, type, msg }] = (await waiting).notifications;
  assert.deepEqual(
    { from, type, msg },
    { from: "person", type: "message", msg: "Please stop\nafter this one." },
  );
  await opened.getByText("Sent; it woke one waiter.").waitFor();
  assert.equal(await field.inputValue(), "");
});

test("the page says why nothing delivers a message, and that it is pending", async () => {
  const hub = await startHub();
  await register(hub, "w1");
  const page = await openDashboard(hub, { path: AGENTS });
  const opened = await open(page, "w1");
  await opened.getByRole("textbox").fill("hello");
  await opened.getByRole("button", { name: "Send" }).click();
  await opened.getByText("Your message was not taken:").waitFor();
  await opened.getByText("1 pending").waitFor();
});

test("listeners are shown with their deadline, and can be cancelled", async () => {
  const hub = await startHub();
  await register(hub, "w1");
  await post(hub, "w1", { type: "progress", msg: "at it" });
  await hub.call(
    "PUT",
    `/sessions/w1/listeners/lead${QUERY}&within=600`,
    undefined,
  );
  await hub.call("PUT", `/sessions/w1/listeners/ci${QUERY}`, undefined);
  const page = await openDashboard(hub, { path: AGENTS });
  const opened = await open(page, "w1");
  await opened.getByRole("heading", { name: "Listeners" }).waitFor();
  assert.match(
    (await opened.locator(".listeners").innerText()).replace(/\s+/g, " "),
    /lead is notified of its next stop, or at the deadline: (9|10) min left/,
  );
  await opened
    .getByRole("button", { name: "Cancel the listener of lead" })
    .click();
  await opened
    .getByRole("button", { name: "Cancel the listener of lead" })
    .waitFor({ state: "detached" });
  const { listeners } = await hub.get(`/sessions/w1${QUERY}`);
  assert.deepEqual(
    listeners.map((/** @type {any} */ it) => it.caller),
    ["ci"],
  );
});

test("a snooze is stored by the hub, silences all but questions, leaves the row, and can be removed", async () => {
  const hub = await startHub();
  await register(hub, "w1");
  await post(hub, "w1", { type: "error", msg: "no space" });
  const page = await openDashboard(hub, { path: AGENTS });
  const counts = (/** @type {string} */ text) =>
    page
      .locator("hub-tabs [data-view=queue] .count")
      .getByText(text, { exact: true })
      .waitFor();
  await counts("1");
  const opened = await open(page, "w1");
  await opened.getByRole("button", { name: "Snooze for 1 h" }).click();
  await page
    .locator("hub-queue-list details .queue-row")
    .waitFor({ state: "attached" });
  await until(async () => (await page.title()) === "hub", {
    what: "it does not count",
  });
  await opened.getByText("Muted: 59 min left").waitFor();
  assert.notEqual(await row(page, "w1").getAttribute("data-muted"), null);
  const [mute] = (await hub.get("/preferences")).mutes;
  assert.deepEqual(
    { project: mute.project, session: mute.session },
    { project: PROJECT, session: "w1" },
  );
  const left = Date.parse(mute.until) - Date.now();
  assert.ok(left > 3_540_000 && left <= 3_600_000, `${left} ms`);
  await post(hub, "w1", { type: "question", msg: "Shall I delete something?" });
  await counts("1");
  await opened.getByRole("button", { name: "Unmute" }).click();
  await opened.getByRole("button", { name: "Snooze until unmuted" }).waitFor();
  assert.deepEqual((await hub.get("/preferences")).mutes, []);
});

test("progress is a bar with a text, and disappears when the session is done", async () => {
  const hub = await startHub();
  await post(hub, "w1", {
    type: "progress",
    msg: "copying",
    data: { completed: 3, total: 8 },
  });
  const page = await openDashboard(hub, { path: AGENTS });
  await row(page, "w1").getByText("3 of 8").waitFor();
  const pane = await open(page, "w1");
  const bar = pane.getByRole("progressbar", { name: "Progress of w1" });
  assert.equal(
    await bar.evaluate(
      (it) => /** @type {HTMLProgressElement} */ (it).position,
    ),
    3 / 8,
  );
  await post(hub, "w1", {
    type: "progress",
    msg: "copying",
    data: { completed: 6, total: 8 },
  });
  await pane.getByText("6 of 8").waitFor();
  assert.equal(
    await bar.evaluate(
      (it) => /** @type {HTMLProgressElement} */ (it).position,
    ),
    6 / 8,
  );
  await post(hub, "w1", { type: "complete", msg: "copied" });
  await bar.waitFor({ state: "hidden" });
});

test("ended agents are counted in one line, and loaded when it is unfolded", async () => {
  const hub = await startHub();
  for (const id of ["w1", "w2", "w3"]) await register(hub, id);
  await hub.call("DELETE", `/sessions/w1${QUERY}`, undefined);
  const context = await newContext({ viewport: { width: 1280, height: 900 } });
  /** @type {string[]} */
  const loaded = [];
  context.on("request", (request) =>
    loaded.push(new URL(request.url()).search),
  );
  const page = await openDashboard(hub, { context, path: AGENTS });
  await page.locator("hub-ended summary", { hasText: "1 ended" }).waitFor();
  assert.equal(
    loaded.some((search) => search.includes("all=true")),
    false,
  );
  assert.equal(await page.locator("hub-ended .name").count(), 0);
  await hub.call("DELETE", `/sessions/w2${QUERY}`, undefined);
  await page.locator("hub-ended summary", { hasText: "2 ended" }).click();
  await row(page, "w2").waitFor({ state: "detached" });
  await until(
    async () =>
      JSON.stringify(await page.locator("hub-ended .name").allInnerTexts()) ===
      '["w2","w1"]',
    { what: "both are listed" },
  );
});

test("of sixty agents only the changed row is redrawn, and typed text stays", async () => {
  const hub = await startHub();
  for (let n = 0; n < 60; n++)
    await register(hub, `w${n}`, n % 6 ? { parent: `w${n - (n % 6)}` } : {});
  const page = await openDashboard(hub, { path: AGENTS });
  await until(async () => (await page.locator(".board-row").count()) === 60, {
    what: "sixty rows",
  });
  const opened = await open(page, "w31");
  await page.mouse.move(5, 5);
  await opened.getByRole("textbox").fill("a draft");
  await page.evaluate(() => {
    const seen = /** @type {Set<string>} */ (new Set());
    Object.assign(window, { seen });
    new MutationObserver((records) => {
      for (const { target } of records) {
        const element =
          target instanceof Element ? target : target.parentElement;
        // Times change by themselves.
        if (element && !element.closest("time"))
          seen.add(
            /** @type {HTMLElement|null} */ (element.closest(".board-row"))
              ?.dataset.key ?? element.localName,
          );
      }
    }).observe(/** @type {Node} */ (document.querySelector("hub-board")), {
      childList: true,
      subtree: true,
      characterData: true,
      attributes: true,
    });
  });
  await hub.call("DELETE", `/sessions/w12${QUERY}`, undefined);
  await post(hub, "w40", { type: "progress", msg: "one more step" });
  await row(page, "w40").getByText("one more step").waitFor();
  await row(page, "w12").waitFor({ state: "detached" });
  assert.equal(await opened.getByRole("textbox").inputValue(), "a draft");
  assert.equal(
    await opened
      .getByRole("textbox")
      .evaluate((it) => it === document.activeElement),
    true,
  );
  const seen = await page.evaluate(() => [.../** @type {any} */ (window).seen]);
  assert.equal(seen.includes(`${PROJECT}/w40`), true);
  assert.equal(seen.includes(`${PROJECT}/w31`), false);
  assert.equal(seen.includes(`${PROJECT}/w5`), false);
});
