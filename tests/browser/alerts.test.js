/** Browser notifications and sounds: of needs only, once, with answers, until they are settled, and not in quiet hours. */

import assert from "node:assert/strict";

import {
  allow,
  HUB_DOWN,
  live,
  newContext,
  openDashboard,
  startHub,
  test,
  until,
  useWholeBrowser,
} from "./support/index.js";
import {
  badges,
  click,
  clickOn,
  focus,
  heard,
  notification,
  record,
  shown,
  tags,
} from "./support/recorded.js";

useWholeBrowser();

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const NOTHING = { quiet: null, mutes: [], notify: [], sound: [] };
const NEEDS = { notify: ["needs_you", "blocked"] };

/**
 * Starts a hub with these preferences, and its dashboard in a browser that shows notifications and records sounds.
 *
 * @param {object} preferences
 * @param {string[]} [args]
 */
async function watched(preferences, args = []) {
  const hub = await startHub({ args });
  await prefer(hub, preferences);
  const context = await newContext();
  await record(context);
  return { hub, context, page: await openDashboard(hub, { context }) };
}

/** @param {Hub} hub @param {object} preferences */
function prefer(hub, preferences) {
  return hub.call("PUT", "/preferences", { ...NOTHING, ...preferences });
}

/** Quiet hours that include now and the next hour, at any time of day. */
function hoursAroundNow() {
  const hour = new Date().getUTCHours();
  const clock = (/** @type {number} */ at) =>
    `${String((at + 24) % 24).padStart(2, "0")}:00`;
  return { from: clock(hour - 1), to: clock(hour + 2), zone: "UTC" };
}

/** Asks the person a question. @param {Hub} hub @param {object} [more] */
function ask(hub, more = {}) {
  return hub.post({ from: "api", type: "question", msg: "Which db?", ...more });
}

/** @param {Hub} hub @param {number} id @param {string} [answer] */
function settle(hub, id, answer = "sqlite") {
  return hub.call("POST", `/needs/${id}/answer`, { reply: answer });
}

/** Waits until the page counts this many needs: then it has seen them. @param {Page} page @param {number} count */
function counts(page, count) {
  return until(
    async () => (await page.title()) === (count ? `(${count}) hub` : "hub"),
    { what: `${count} in the title` },
  );
}

/** Waits until exactly these are shown. @param {Page} page @param {...(number|string)} ids */
function shows(page, ...ids) {
  return until(
    async () =>
      assert.deepEqual(await tags(page), ids.map(String).sort()) ?? true,
    { what: `shown: ${ids}` },
  );
}

/** Whether the hub knows that a page has the focus: the first event of presence. @param {Hub} hub @returns {Promise<boolean>} */
async function knowsFocus(hub) {
  const headers = { authorization: `Bearer ${hub.token}` };
  const { body } = await fetch(
    `http://127.0.0.1:${hub.port}/events?kinds=presence`,
    { headers },
  );
  let text = "";
  // To return ends the stream.
  for await (const part of body ?? []) {
    text += Buffer.from(part).toString();
    const [, focused] = /"focused":(true|false)/.exec(text) ?? [];
    if (focused) return focused === "true";
  }
  throw new Error(`no event of presence: ${text}`);
}

test("the hub knows whether a page has the focus, also once the page is closed", async () => {
  const { hub, page } = await watched(NEEDS);
  await focus(page);
  await until(() => knowsFocus(hub), { what: "focused" });
  await focus(page, false);
  await until(async () => !(await knowsFocus(hub)), {
    what: "without the focus",
  });
  await focus(page);
  await until(() => knowsFocus(hub), { what: "focused again" });
  await page.close();
  await until(async () => !(await knowsFocus(hub)), { what: "closed" });
});

test("before the person asks, no notification is shown, not even an urgent one", async () => {
  const { hub, page } = await watched({});
  await ask(hub, { priority: "urgent" });
  await counts(page, 1);
  assert.deepEqual(await shown(page), []);
  assert.deepEqual(await heard(page), []);
});

test("a need is shown with its session and its text, and other notifications are not", async () => {
  const { hub, page } = await watched(NEEDS);
  await hub.post({ from: "docs", type: "complete", msg: "done" });
  await hub.post({ from: "ci", type: "progress", msg: "half done" });
  const { id } = await ask(hub, { project: "/src/shop" });
  await shows(page, id);
  assert.deepEqual(await shown(page), [
    {
      title: "api asks, shop",
      body: "Which db?",
      tag: String(id),
      actions: ["Open"],
    },
  ]);
});

test("a session that failed is a need, until its error is read", async () => {
  const { hub, page } = await watched(NEEDS);
  const session = {
    session_id: "1b1c0a5e-0000-4000-8000-000000000001",
    cwd: "/src/shop",
  };
  const place = { project: "/src/shop", name: "images", session: "images" };
  await hub.hook(
    "claude",
    { hook_event_name: "SessionStart", source: "startup", ...session },
    place,
  );
  await hub.hook(
    "claude",
    {
      hook_event_name: "StopFailure",
      error: "billing_error",
      error_type: "billing_error",
      message: "Your credit balance is too low.",
      ...session,
    },
    place,
  );
  const [one] = await until(
    async () => (await shown(page)).length === 1 && shown(page),
    { what: "shown" },
  );
  assert.match(one?.title ?? "", /^images /);
  const { last } = (await hub.get("/sessions")).sessions[0];
  await hub.call("PUT", `/notifications/${last}/seen`);
  await shows(page);
});

test("an urgent notification that nobody else reads is shown until it is done", async () => {
  const { hub, page } = await watched(NEEDS);
  const { id } = await hub.post({
    from: "ci",
    type: "message",
    priority: "urgent",
    msg: "the disk is full",
  });
  await shows(page, id);
  assert.equal((await shown(page))[0]?.body, "the disk is full");
  await hub.call("POST", `/needs/${id}/done`);
  await shows(page);
});

for (const [
  name,
  options,
  actions,
] of /** @type {[string, string[]|undefined, string[]][]} */ ([
  ["two options offers them", ["postgres", "sqlite"], ["postgres", "sqlite"]],
  ["three options opens the page", ["a", "b", "c"], ["Open"]],
  ["no options opens the page", undefined, ["Open"]],
])) {
  test(`a question with ${name}`, async () => {
    const { hub, page } = await watched(NEEDS);
    const { id } = await ask(hub, { options });
    await shows(page, id);
    assert.deepEqual((await shown(page))[0]?.actions, actions);
  });
}

test("a button of a notification answers the question, and the notification is gone", async () => {
  const { hub, context, page } = await watched(NEEDS);
  const { id } = await ask(hub, { options: ["postgres", "sqlite"] });
  await shows(page, id);
  assert.deepEqual(await click(context, String(id), "sqlite"), []);
  await until(
    async () => (await hub.get(`/questions/${id}`)).state === "answered",
    { what: "answered" },
  );
  assert.equal((await hub.get(`/questions/${id}`)).answer, "sqlite");
  await shows(page);
});

for (const [button, behavior] of /** @type {const} */ ([
  ["Approve", "allow"],
  ["Deny", "deny"],
])) {
  test(`${button} in a notification ${behavior === "allow" ? "allows" : "denies"} what the agent asks for`, async () => {
    const { hub, context, page } = await watched(NEEDS, [
      "--set",
      "approvals=true",
    ]);
    const decision = permission(hub, "make test");
    await until(async () => (await shown(page))[0]?.actions.length === 2, {
      what: "two buttons",
    });
    const [one] = await shown(page);
    assert.match(one?.body ?? "", /Bash: make test/);
    await click(context, one?.tag ?? "", button);
    assert.equal(
      (await decision).hookSpecificOutput.decision.behavior,
      behavior,
    );
    await shows(page);
  });
}

test("a request that does not fit into a notification is not approved there", async () => {
  const { hub, page } = await watched(NEEDS, ["--set", "approvals=true"]);
  permission(hub, `echo ${"x".repeat(300)}; rm -rf ~`).catch(() => {});
  const item = page.locator("hub-question");
  await item.getByRole("button", { name: /^Approve/ }).waitFor();
  await until(async () => (await shown(page)).length === 1, { what: "shown" });
  assert.deepEqual((await shown(page))[0]?.actions, ["Open"]);
});

test("an answer that the hub refuses is reported by a notification", async () => {
  const { hub, context, page } = await watched(NEEDS);
  allow(page, HUB_DOWN);
  const { id } = await ask(hub, { options: ["yes", "no"] });
  await shows(page, id);
  await hub.kill();
  await click(context, String(id), "yes");
  await until(
    async () =>
      (await shown(page)).some(
        ({ title, body }) =>
          title === "Not answered: yes" && /does not answer/.test(body),
      ),
    { what: "reported" },
  );
});

test("a button answers nothing once its need is settled elsewhere: the click opens the need in the page", async () => {
  const { hub, context, page } = await watched(NEEDS);
  const { id } = await ask(hub, { options: ["postgres", "sqlite"] });
  await shows(page, id);
  const left = await notification(context, String(id));
  await settle(hub, id);
  await shows(page);
  /** @type {string[]} */
  const sent = [];
  page.on("request", (request) => sent.push(new URL(request.url()).pathname));
  await clickOn(left, "postgres");
  await until(() => page.url().includes(String(id)), { what: "it is opened" });
  await shows(page);
  assert.ok(!sent.includes(`/needs/${id}/answer`), sent.join());
});

test("a focused page shows no notification, in this tab or in another", async () => {
  const { hub, context, page } = await watched(NEEDS);
  const second = await openDashboard(hub, { context, signIn: false });
  await focus(second);
  await ask(hub);
  await counts(page, 1);
  await counts(second, 1);
  await focus(second, false);
  const { id } = await ask(hub);
  await shows(page, id);
});

test("two tabs show it once, and when one is closed the other goes on", async () => {
  const { hub, context, page } = await watched(NEEDS);
  const second = await openDashboard(hub, { context, signIn: false });
  const first = await ask(hub);
  await counts(second, 1);
  await shows(second, first.id);
  await page.close();
  await live(second);
  const { id } = await ask(hub);
  await shows(second, first.id, id);
});

test("a reload shows and plays nothing again, and keeps what is shown", async () => {
  const { hub, page } = await watched({ ...NEEDS, sound: ["needs_you"] });
  const first = await ask(hub);
  await shows(page, first.id);
  await page.reload();
  await counts(page, 1);
  assert.deepEqual(await heard(page), []);
  await shows(page, first.id);
  const second = await ask(hub);
  await shows(page, first.id, second.id);
});

test("a need that was settled while no page was open is not shown by the next page", async () => {
  const { hub, context, page } = await watched(NEEDS);
  const { id } = await ask(hub);
  await shows(page, id);
  await page.goto("about:blank");
  await settle(hub, id);
  await page.goto(hub.url);
  await live(page);
  await shows(page);
  assert.ok(context.serviceWorkers().length > 0);
});

test("when the last page is closed, the service worker closes its notifications", async () => {
  const { hub, context, page } = await watched(NEEDS);
  await shows(page, (await ask(hub)).id);
  const [worker] = context.serviceWorkers();
  await page.close();
  await until(
    () =>
      worker?.evaluate(
        async () =>
          (await /** @type {any} */ (self).registration.getNotifications())
            .length === 0,
      ),
    { what: "closed" },
  );
});

test("after an outage only the needs that arose during it are shown", async () => {
  const { hub, page } = await watched(NEEDS);
  allow(page, HUB_DOWN);
  const first = await ask(hub);
  await shows(page, first.id);
  await hub.kill();
  await until(
    () => page.locator("hub-connection[data-state=retrying]").count(),
    { what: "the page notices" },
  );
  await hub.launch();
  const second = await ask(hub);
  await shows(page, first.id, second.id);
});

for (const how of ["answer", "withdraw"]) {
  test(`a notification is closed when its question is settled elsewhere (${how})`, async () => {
    const { hub, page } = await watched(NEEDS);
    const [one, two] = [await ask(hub), await ask(hub)];
    await shows(page, one.id, two.id);
    await (how === "answer"
      ? hub.call("POST", `/needs/${one.id}/answer`, { reply: "sqlite" })
      : hub.call("POST", `/questions/${one.id}/withdraw`, {}));
    await shows(page, two.id);
  });
}

test("a need is shown although the hub did not answer when notifications were set up", async () => {
  const context = await newContext();
  await record(context);
  allow(context, HUB_DOWN);
  await context.route(
    "**/register-worker.html",
    (route) => route.abort("connectionrefused"),
    { times: 1 },
  );
  const hub = await startHub();
  await prefer(hub, NEEDS);
  const page = await openDashboard(hub, { context });
  const { id } = await ask(hub);
  await shows(page, id);
});

test("in quiet hours only urgent needs are shown", async () => {
  const { hub, page } = await watched({
    ...NEEDS,
    sound: ["needs_you"],
    quiet: hoursAroundNow(),
  });
  await ask(hub, { priority: "high" });
  await counts(page, 1);
  const urgent = await ask(hub, { priority: "urgent" });
  await shows(page, urgent.id);
  assert.equal((await heard(page)).length, 2, "one rising sound");
});

test("changed quiet hours apply at once", async () => {
  const { hub, page } = await watched({ ...NEEDS, quiet: hoursAroundNow() });
  await ask(hub);
  await counts(page, 1);
  await prefer(hub, NEEDS);
  const { id } = await ask(hub);
  await shows(page, id);
});

test("only urgent needs pass a mute", async () => {
  const { hub, page } = await watched({
    ...NEEDS,
    mutes: [
      { project: "/src/shop" },
      { project: "/src/hub", session: "noisy" },
    ],
  });
  await ask(hub, { project: "/src/shop" });
  await ask(hub, { project: "/src/hub", from: "noisy" });
  const other = await ask(hub, { project: "/src/hub", from: "calm" });
  const urgent = await ask(hub, {
    project: "/src/hub",
    from: "noisy",
    priority: "urgent",
  });
  await shows(page, other.id, urgent.id);
});

test("a burst plays one sound, and its notifications are closed when it is settled", async () => {
  const { hub, page } = await watched({ ...NEEDS, sound: ["needs_you"] });
  const { ids } = await hub.post(
    Array.from({ length: 20 }, (_, n) => ({
      from: "api",
      type: "question",
      msg: `question ${n}`,
    })),
  );
  await counts(page, 20);
  await until(async () => (await tags(page)).length > 0, { what: "shown" });
  assert.equal((await heard(page)).length, 2, "one rising sound");
  await hub.call("POST", "/seen", { up_to: ids.at(-1), seen: true });
  for (const id of ids) await settle(hub, id);
  await shows(page);
});

test("a click leads to the need in the page", async () => {
  const { hub, context, page } = await watched(NEEDS);
  const { id } = await ask(hub, { msg: "Which db, badly?" });
  await shows(page, id);
  assert.deepEqual(await click(context, String(id)), []);
  await until(
    () => new URL(page.url()).searchParams.get("need") === String(id),
    { what: "the page shows it on the stage" },
  );
  await shows(page);
});

test("a click without an open page opens one", async () => {
  const { hub, context, page } = await watched(NEEDS);
  const { id } = await ask(hub, { options: ["yes", "no"] });
  await shows(page, id);
  const left = await notification(context, String(id));
  await page.goto("about:blank");
  assert.deepEqual(await clickOn(left, "yes"), [`/?id=${id}`]);
  assert.equal((await hub.get(`/questions/${id}`)).state, "open");
});

test("title, icon and badge count the items that need the person, and show when there are none", async () => {
  const { hub, page } = await watched({});
  const icon = () =>
    page
      .locator("link[rel=icon]")
      .getAttribute("href")
      .then((href) => decodeURIComponent(href ?? ""));
  await counts(page, 0);
  assert.doesNotMatch(await icon(), /<text/);
  const { ids } = await hub.post([
    { from: "a", type: "question", msg: "One?" },
    { from: "b", type: "question", msg: "Two?" },
  ]);
  await counts(page, 2);
  assert.match(await icon(), />2<\/text>/);
  assert.equal((await badges(page)).at(-1), 2);
  for (const id of ids) await settle(hub, id, "yes");
  await counts(page, 0);
  assert.doesNotMatch(await icon(), /<text/);
  assert.equal((await badges(page)).at(-1), 0);
});

test("when the session ends, title, icon and a notification say so", async () => {
  const { hub, page } = await watched(NEEDS);
  allow(page, HUB_DOWN, /status of 4\d\d/);
  await shows(page, (await ask(hub)).id);
  await hub.call("DELETE", "/login/devices/all");
  await until(async () => (await page.title()) === "hub: signed out", {
    what: "the title says so",
  });
  await shows(page, "signed-out");
  assert.match(
    decodeURIComponent(
      (await page.locator("link[rel=icon]").getAttribute("href")) ?? "",
    ),
    />\?<\/text>/,
  );
  assert.equal((await badges(page)).at(-1), 0);
  await page.goto(`${hub.url}/?again#code=${(await hub.code()).code}`);
  await counts(page, 1);
  await shows(page);
});

/** Asks for a permission as Claude Code's hook does; resolves to the hook's output. @param {Hub} hub @param {string} command */
function permission(hub, command) {
  const payload = {
    hook_event_name: "PermissionRequest",
    session_id: "search",
    cwd: "/src/shop",
    tool_name: "Bash",
    tool_input: { command },
  };
  return hub.hook("claude", payload, { name: "search", project: "/src/shop" });
}

test("settings are stored by the hub, and apply in another browser", async () => {
  const { hub, page } = await watched({});
  await page.keyboard.press(",");
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog
    .getByRole("checkbox", { name: "Blocked: browser notification" })
    .check();
  await dialog.getByRole("checkbox", { name: "Needs you: sound" }).check();
  await dialog.getByRole("checkbox", { name: /unless it is urgent/ }).check();
  await dialog.getByLabel("From").fill("21:30");
  await dialog.getByLabel("Time zone").fill("Asia/Tokyo");
  await dialog.getByLabel("Time zone").press("Tab");
  await until(
    async () => (await hub.get("/preferences")).quiet?.zone === "Asia/Tokyo",
    { what: "kept" },
  );
  assert.deepEqual(await hub.get("/preferences"), {
    quiet: { from: "21:30", to: "07:00", zone: "Asia/Tokyo" },
    mutes: [],
    notify: ["blocked"],
    sound: ["needs_you"],
  });
  await dialog.getByText("Saved", { exact: true }).waitFor();
  const other = await openDashboard(hub);
  await other.keyboard.press(",");
  assert.equal(
    await other
      .getByRole("checkbox", { name: "Blocked: browser notification" })
      .isChecked(),
    true,
  );
  assert.equal(
    await other.getByRole("checkbox", { name: "Blocked: sound" }).isChecked(),
    false,
  );
  assert.equal(await other.getByLabel("From").inputValue(), "21:30");
});

test("changes in quick succession are all stored", async () => {
  const { hub, page } = await watched({});
  await page.keyboard.press(",");
  await page.getByRole("checkbox", { name: "Needs you: sound" }).waitFor();
  // Faster than the hub can respond.
  await page.evaluate(() => {
    for (const state of ["needs_you", "blocked", "your_turn"]) {
      /** @type {HTMLElement|null} */ (
        document.querySelector(`input[data-way=sound][data-state=${state}]`)
      )?.click();
    }
  });
  await until(
    async () =>
      (await hub.get("/preferences")).sound.sort().join() ===
      "blocked,needs_you,your_turn",
    { what: "all three" },
  );
});

test("an invalid time zone is not saved, and the page says why", async () => {
  const { hub, page } = await watched({});
  await page.keyboard.press(",");
  await page.getByRole("checkbox", { name: /unless it is urgent/ }).check();
  await until(async () => (await hub.get("/preferences")).quiet, {
    what: "quiet hours",
  });
  const before = await hub.get("/preferences");
  await page.getByLabel("Time zone").fill("Europe/Atlantis");
  await page.getByLabel("Time zone").press("Enter");
  await page
    .getByRole("alert")
    .filter({ hasText: "unknown time zone “Europe/Atlantis”" })
    .waitFor();
  assert.deepEqual(await hub.get("/preferences"), before);
});

test("quiet hours with equal start and end are refused, and the page says how to have none", async () => {
  const { hub, page } = await watched({ quiet: hoursAroundNow() });
  const before = await hub.get("/preferences");
  await page.keyboard.press(",");
  await page.getByLabel("From").fill(before.quiet.to);
  await page.getByLabel("From").press("Tab");
  await page
    .getByRole("alert")
    .filter({ hasText: "From and To are the same" })
    .waitFor();
  assert.deepEqual(await hub.get("/preferences"), before);
  await page.getByRole("checkbox", { name: /unless it is urgent/ }).uncheck();
  await until(async () => (await hub.get("/preferences")).quiet === null, {
    what: "none",
  });
});

test("a setting that the hub refused is not shown as set, and the page says what to do", async () => {
  const { hub, page } = await watched({});
  allow(page, HUB_DOWN);
  await page.keyboard.press(",");
  await hub.kill();
  const box = page.getByRole("checkbox", { name: "Blocked: sound" });
  await box.click();
  await page
    .getByRole("alert")
    .filter({ hasText: "Not saved: the hub does not answer" })
    .filter({ hasText: "hubctl up" })
    .waitFor();
  assert.equal(await box.isChecked(), false);
});

test("a mute is listed, and one click removes it", async () => {
  const { hub, page } = await watched({
    mutes: [
      { project: "/src/shop" },
      { project: "/src/hub", session: "noisy" },
    ],
  });
  await page.keyboard.press(",");
  await page.getByRole("button", { name: "Unmute noisy in /src/hub" }).click();
  await until(async () => (await hub.get("/preferences")).mutes.length === 1, {
    what: "removed",
  });
  assert.deepEqual((await hub.get("/preferences")).mutes, [
    { project: "/src/shop" },
  ]);
  await page
    .getByRole("button", { name: "Unmute noisy in /src/hub" })
    .waitFor({ state: "detached" });
  await until(
    () =>
      page.evaluate(
        () =>
          document.activeElement?.getAttribute("aria-label") ===
          "Unmute all of /src/shop",
      ),
    { what: "the focus goes on" },
  );
});

/** Makes the browser ask for permission, as it does first, and grant it. */
function askFirst() {
  let permission = "default";
  Object.assign(window, { asked: 0 });
  Object.defineProperty(Notification, "permission", { get: () => permission });
  Notification.requestPermission = async () => {
    // @ts-expect-error counted here
    window.asked += 1;
    permission = "granted";
    return /** @type {'granted'} */ (permission);
  };
}

test("one switch on the page turns notifications on, and only a click on it asks the browser for permission", async () => {
  const hub = await startHub();
  const context = await newContext();
  await record(context);
  await context.addInitScript(askFirst);
  const page = await openDashboard(hub, { context });
  const turnOn = page.getByRole("switch", {
    name: "Notify me when an agent needs me",
  });
  await turnOn.waitFor();
  // @ts-expect-error counted above
  assert.equal(await page.evaluate(() => window.asked), 0);
  await turnOn.click();
  await turnOn.waitFor({ state: "hidden" });
  // @ts-expect-error counted above
  assert.equal(await page.evaluate(() => window.asked), 1);
  assert.deepEqual((await hub.get("/preferences")).notify, [
    "needs_you",
    "blocked",
  ]);
  await shows(page, (await ask(hub)).id);
  await page.keyboard.press(",");
  await page
    .getByRole("checkbox", { name: "Needs you: browser notification" })
    .uncheck();
  await until(
    async () => (await hub.get("/preferences")).notify.join() === "blocked",
    { what: "stored" },
  );
});

test("a person who declines the switch does not see it again", async () => {
  const { hub, page } = await watched({});
  await page.getByRole("button", { name: "Not now" }).click();
  await page.locator("hub-notify").waitFor({ state: "hidden" });
  const again = await openDashboard(hub, {
    context: page.context(),
    signIn: false,
  });
  assert.equal(await again.locator("hub-notify").isVisible(), false);
});

test("in another browser of a person who wants notifications, the settings ask for permission", async () => {
  const hub = await startHub();
  await prefer(hub, { notify: ["blocked"] });
  const context = await newContext();
  await context.addInitScript(askFirst);
  const page = await openDashboard(hub, { context });
  await page.keyboard.press(",");
  await page
    .getByText("This browser has not allowed notifications yet.")
    .waitFor();
  await page.getByRole("button", { name: "Allow notifications" }).click();
  await page
    .getByText("This browser has not allowed notifications yet.")
    .waitFor({ state: "detached" });
});

test("when the browser refuses notifications, the settings say what to do", async () => {
  const hub = await startHub();
  const context = await newContext();
  await context.addInitScript(() =>
    Object.defineProperty(Notification, "permission", { value: "denied" }),
  );
  const page = await openDashboard(hub, { context });
  await page.keyboard.press(",");
  await page
    .getByText(/icon left of the address, allow notifications/)
    .waitFor();
});

test("the sound can be tried", async () => {
  const { page } = await watched({});
  await page.keyboard.press(",");
  await page.getByRole("button", { name: "Test the sound" }).click();
  await until(async () => (await heard(page)).length === 2, {
    what: "two rising tones",
  });
  const [low = 0, high = 0] = await heard(page);
  assert.ok(high > low);
});
