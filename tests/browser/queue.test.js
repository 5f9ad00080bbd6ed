/** The queue and the stage: one need at a time, in the hub's order, by mouse, by keys and on a phone. */

import assert from "node:assert/strict";

import {
  axe,
  follow,
  openDashboard,
  stage,
  startHub,
  stopClock,
  test,
  until,
} from "./support/index.js";
import { ask, dialog, LONG, permission } from "./support/needs.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const PROJECT = "/home/me/src/hub";
const PHONE = {
  width: 390,
  height: 844,
  options: { hasTouch: true, isMobile: true },
};

const ago = (/** @type {number} */ minutes) =>
  new Date(Date.now() - minutes * 60_000).toISOString();
const stored = (/** @type {Hub} */ hub, /** @type {number} */ id) =>
  hub.get(`/questions/${id}`);
const answered = (/** @type {Hub} */ hub, /** @type {number} */ id) =>
  until(async () => (await stored(hub, id)).answer, {
    what: `an answer to ${id}`,
  });
const selected = (/** @type {Page} */ page) =>
  page.evaluate(() =>
    Number(
      /** @type {HTMLElement|undefined} */ (
        [...document.querySelectorAll("hub-stage .cards > *")].find((it) =>
          it.checkVisibility(),
        )
      )?.dataset.key,
    ),
  );
const shows = (/** @type {Page} */ page, /** @type {number} */ id) =>
  until(async () => (await selected(page)) === id, {
    what: `${id} is on the stage`,
  });
const order = (/** @type {Page} */ page) =>
  page.getByRole("list", { name: "Needs" }).locator("b").allInnerTexts();
const sent = (/** @type {Page} */ page) => page.locator(".sent li");
const search = (/** @type {Page} */ page) => new URL(page.url()).search;

/** Presses keys in one task, as fast as no person does. @param {Page} page @param {string[]} keys */
const typeAtOnce = (page, keys) =>
  page.evaluate((all) => {
    for (const key of all)
      (document.activeElement ?? document.body).dispatchEvent(
        new KeyboardEvent("keydown", {
          key,
          shiftKey: /[A-Z]/.test(key),
          bubbles: true,
          cancelable: true,
        }),
      );
  }, keys);

test("the order is the hub’s: what cannot be undone, questions, then turns, each the oldest first", async () => {
  const hub = await startHub();
  await hub.post({
    project: PROJECT,
    from: "failed",
    session: "failed",
    type: "error",
    msg: "no",
    ts: ago(90),
  });
  await ask(hub, { from: "late", ts: ago(1) });
  await ask(hub, { from: "early", ts: ago(30) });
  await permission(hub, "Bash", { command: "make" }, { from: "builder" });
  const page = await openDashboard(hub);
  const { needs } = await hub.get("/needs");
  await until(async () => (await order(page)).length === 4, {
    what: "four rows",
  });
  assert.deepEqual(
    await order(page),
    needs.map((/** @type {any} */ it) => it.name),
  );
  assert.equal(
    await page
      .locator("hub-tabs [data-view=queue]")
      .textContent()
      .then((text) => text?.slice(0, 7)),
    "Queue 4",
  );
});

for (const [how, type] of /** @type {const} */ ([
  ["at once", typeAtOnce],
  [
    "key by key",
    async (/** @type {Page} */ page, /** @type {string[]} */ keys) =>
      page.keyboard.type(keys.join("")),
  ],
])) {
  test(`ten needs are cleared by ten keys, typed ${how}, each for the need on the stage`, async () => {
    const hub = await startHub();
    const ids = [];
    for (let n = 0; n < 5; n += 1)
      ids.push(
        await permission(
          hub,
          "Bash",
          { command: `make part-${n}` },
          { from: `p${n}` },
        ),
      );
    for (let n = 0; n < 5; n += 1)
      ids.push(
        await ask(hub, {
          from: `q${n}`,
          options: ["one", "two", "three"],
          ts: ago(20 - n),
        }),
      );
    const page = await openDashboard(hub);
    await until(async () => (await order(page)).length === 10, {
      what: "ten rows",
    });
    const keys = ["a", "a", "a", "a", "a", "1", "2", "3", "2", "1"];
    await shows(page, ids[0]);
    await page.evaluate(
      () =>
        new Promise((done) =>
          requestAnimationFrame(() => setTimeout(done, 50)),
        ),
    );
    await type(page, keys);
    await page.locator("hub-stage").getByText("Nobody needs you.").waitFor();
    const answers = [];
    for (const id of ids) answers.push(await answered(hub, id));
    assert.deepEqual(answers, [
      "allow",
      "allow",
      "allow",
      "allow",
      "allow",
      "one",
      "two",
      "three",
      "two",
      "one",
    ]);
  });
}

test("a key that is pressed with the click on a row is for the need of that row", async () => {
  const hub = await startHub();
  const first = await ask(hub, { options: ["one"] });
  const second = await ask(hub, { from: "search", options: ["two"] });
  const page = await openDashboard(hub);
  await shows(page, first);
  await page.locator(".queue-row", { hasText: "search" }).evaluate((row) => {
    /** @type {HTMLElement} */ (row).click();
    document.body.dispatchEvent(
      new KeyboardEvent("keydown", {
        key: "1",
        bubbles: true,
        cancelable: true,
      }),
    );
  });
  await sent(page).filter({ hasText: "two" }).waitFor();
  assert.equal((await stored(hub, first)).state, "open");
  assert.equal(await answered(hub, second), "two");
});

test("what is typed after the key for a reason is the reason, however early it was pressed", async () => {
  const hub = await startHub();
  const ids = [
    await permission(hub, "Bash", { command: "a" }),
    await permission(hub, "Bash", { command: "b" }, { from: "search" }),
  ];
  const page = await openDashboard(hub);
  await shows(page, ids[0]);
  await page.keyboard.press("k");
  await typeAtOnce(page, ["a", "d", "a", " ", "d", "u", "d"]);
  const reason = page.getByRole("textbox", { name: "Reason, search" });
  await until(async () => (await reason.inputValue()) === "a dud", {
    what: "the reason is typed",
  });
  await reason.press("Enter");
  assert.equal(await answered(hub, ids[1] ?? 0), "deny: a dud");
});

test("a key for a need that has just gone elsewhere does not decide the next one", async () => {
  const hub = await startHub();
  const [first, next] = [
    await permission(hub, "Bash", { command: "a" }),
    await permission(hub, "Bash", { command: "b" }, { from: "search" }),
  ];
  const page = await openDashboard(hub);
  await shows(page, first);
  await page.evaluate((id) => {
    const press = () => {
      const card = document.querySelector(`hub-stage [data-key="${id}"]`);
      if (!card?.checkVisibility())
        document.body.dispatchEvent(
          new KeyboardEvent("keydown", {
            key: "a",
            bubbles: true,
            cancelable: true,
          }),
        );
    };
    // It runs in the task that shows the next need, before that is drawn.
    new MutationObserver(press).observe(
      /** @type {Node} */ (document.querySelector("hub-stage .cards")),
      { childList: true },
    );
  }, first);
  await hub.call("POST", `/questions/${first}/withdraw`, {}, {}, hub.socket);
  await shows(page, next);
  assert.equal(await sent(page).count(), 0);
  await until(
    async () => {
      await page.keyboard.press("a");
      return (await sent(page).count()) === 1;
    },
    { what: "a key for the drawn need decides" },
  );
});

test("a new need moves neither the selection nor the focus, also one that is more urgent", async () => {
  const hub = await startHub();
  const mine = await ask(hub);
  const page = await openDashboard(hub);
  await shows(page, mine);
  await page.getByRole("textbox", { name: "Answer" }).pressSequentially("half");
  await permission(hub, "Bash", { command: "rm -rf /" }, { from: "other" });
  await until(async () => (await order(page)).join() === "other,login", {
    what: "the new row is the first",
  });
  assert.equal(await selected(page), mine);
  await page.keyboard.type(" done");
  assert.equal(
    await page.getByRole("textbox", { name: "Answer" }).inputValue(),
    "half done",
  );
});

test("an answered need leaves at once for the foot, where it can be undone, and the next is selected", async () => {
  const hub = await startHub();
  const ids = [];
  for (const [n, from] of ["one", "two", "three"].entries())
    ids.push(
      await permission(hub, "Bash", { command: `make ${from}` }, { from }),
    );
  const [one = 0, two = 0, three = 0] = ids;
  const page = await openDashboard(hub);
  await (await stage(page, two)).getByRole("textbox").fill("a dud");
  // Time stands still, so that the answer is not sent before it is taken back.
  await stopClock(page);
  await page.getByRole("button", { name: "Deny, two" }).click();
  await until(
    async () => {
      await page.clock.runFor(20);
      return (await selected(page)) === three;
    },
    { what: `${three} is on the stage` },
  );
  assert.deepEqual(await order(page), ["one", "three"]);
  assert.match(await sent(page).innerText(), /make two[^]*Deny: a dud/);
  await page.getByRole("button", { name: "Undo the answer to two" }).click();
  await page.clock.resume();
  await shows(page, two);
  assert.equal(
    await page.getByRole("textbox", { name: "Reason, two" }).inputValue(),
    "a dud",
    "the draft is still there",
  );
  assert.equal(await sent(page).count(), 0);
  await stage(page, three);
  await page.keyboard.press("a");
  await shows(page, two);
  assert.equal(await answered(hub, three), "allow");
  assert.deepEqual(
    [(await stored(hub, one)).state, (await stored(hub, two)).state],
    ["open", "open"],
  );
});

test("a draft stays while another need is on the stage", async () => {
  const hub = await startHub();
  const ids = [
    await ask(hub, { ts: ago(2) }),
    await ask(hub, { from: "search", ts: ago(1) }),
  ];
  const page = await openDashboard(hub);
  await page
    .getByRole("textbox", { name: "Answer, login" })
    .fill("half an answer");
  await page.locator(".queue-row", { hasText: "search" }).click();
  await shows(page, ids[1] ?? 0);
  await page.locator(".queue-row", { hasText: "login" }).click();
  assert.equal(
    await page.getByRole("textbox", { name: "Answer, login" }).inputValue(),
    "half an answer",
  );
});

test("each view and each need has an address, and Back returns to it", async () => {
  const hub = await startHub();
  const ids = [
    await ask(hub, { ts: ago(2) }),
    await ask(hub, { from: "search", ts: ago(1) }),
  ];
  await hub.call("PUT", `/sessions/w1?project=${encodeURIComponent(PROJECT)}`, {
    name: "w1",
  });
  const page = await openDashboard(hub);
  const view = () => page.locator("hub-app").getAttribute("data-view");
  const isAt = (/** @type {string} */ at) =>
    until(() => search(page) === at, { what: at });
  await isAt(`?need=${ids[0]}`);
  await page.locator(".queue-row", { hasText: "search" }).click();
  await isAt(`?need=${ids[1]}`);
  for (const [tab, name] of [
    ["Agents", "agents"],
    ["Feed", "feed"],
    ["Time", "time"],
  ]) {
    await page.getByRole("navigation").getByRole("link", { name: tab }).click();
    assert.equal(await view(), name);
    assert.equal(
      await page
        .locator("hub-tabs a")
        .first()
        .textContent()
        .then((text) => text?.slice(0, 7)),
      "Queue 2",
      "the number is that of the queue in each view",
    );
    await isAt(`?view=${name}`);
  }
  for (const at of [
    "?view=feed",
    "?view=agents",
    `?need=${ids[1]}`,
    `?need=${ids[0]}`,
  ]) {
    await page.goBack();
    await isAt(at);
  }
  await shows(page, ids[0] ?? 0);
  const other = await openDashboard(hub, { path: `/?need=${ids[1]}` });
  await shows(other, ids[1] ?? 0);
  await follow(other, "?view=agents");
  assert.equal(
    await other.locator("hub-app").getAttribute("data-view"),
    "agents",
  );
  const link = await openDashboard(hub, { path: `/?id=${ids[1]}` });
  await shows(link, ids[1] ?? 0);
});

test("the keys walk, allow for the session, reply, end, put off and lead to other views", async () => {
  const hub = await startHub();
  const suggestions = [
    {
      type: "addRules",
      rules: [{ toolName: "Bash", ruleContent: "make:*" }],
      behavior: "allow",
    },
  ];
  const allowed = await permission(
    hub,
    "Bash",
    { command: "make" },
    { from: "one", suggestions },
  );
  const asked = await ask(hub, { from: "two", ts: ago(8) });
  for (const from of ["three", "four"])
    await hub.post({
      project: PROJECT,
      from,
      session: from,
      type: "waiting",
      msg: "Which?",
    });
  const page = await openDashboard(hub);
  await shows(page, allowed);
  await page.keyboard.press("j");
  await shows(page, asked);
  await page.keyboard.press("k");
  await shows(page, allowed);
  await page.keyboard.press("Shift+A");
  await shows(page, asked);
  await page.keyboard.press("r");
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await page.keyboard.type("8080");
  await page.keyboard.press("Control+Enter");
  await until(async () => (await order(page)).length === 2, {
    what: "two turns",
  });
  await page.keyboard.type("em");
  await page.locator("hub-stage").getByText("Nobody needs you.").waitFor();
  const turns = async () =>
    (await hub.get("/needs")).needs.filter(
      (/** @type {any} */ it) => it.kind === "turn",
    );
  await until(async () => (await turns()).length === 0, { what: "no turns" });
  await page.keyboard.type("va");
  assert.equal(
    await page.locator("hub-app").getAttribute("data-view"),
    "agents",
  );
  await page.keyboard.type("vq");
  assert.equal(
    await page.locator("hub-app").getAttribute("data-view"),
    "queue",
  );
  assert.deepEqual(
    [await answered(hub, allowed), await answered(hub, asked)],
    ["allow always", "8080"],
  );
});

test("the page keys scroll the stage, wherever the focus is", async () => {
  const hub = await startHub();
  const id = await LONG.plan?.ask(hub);
  const page = await openDashboard(hub);
  await shows(page, id ?? 0);
  const top = () =>
    page.locator("hub-stage .scroll").evaluate((it) => it.scrollTop);
  for (const key of ["PageDown", "Space", "ArrowDown"]) {
    const before = await top();
    // A key during the scrolling of the one before may be dropped by the browser.
    const scrolls = async () => {
      await page.keyboard.press(key);
      return (await top()) > before;
    };
    await until(scrolls, { what: `${key} scrolls` });
  }
});

test("limits and silent sessions are folded, and do not count", async () => {
  const hub = await startHub();
  await hub.post({
    project: PROJECT,
    from: "slow",
    type: "progress",
    msg: "Counting sheep",
    ts: ago(25),
  });
  const page = await openDashboard(hub);
  const fold = page.locator("hub-queue-list details");
  await fold.getByText("Nothing to do yet 1").waitFor();
  assert.equal(await fold.locator(".queue-row").isVisible(), false);
  assert.equal(
    await page.locator("hub-tabs [data-view=queue] .count").textContent(),
    "",
  );
  await fold.locator("summary").click();
  await fold.locator(".queue-row").click();
  await page.locator("hub-stage").getByText("Counting sheep").waitFor();
  await axe(page);
});

for (const [width, height] of [
  [1440, 900],
  [1024, 768],
  [390, 844],
]) {
  for (const [name, { ask: add, button }] of Object.entries(LONG)) {
    test(`a long ${name} is read in the stage alone, and its actions stay in view, ${width}`, async () => {
      const hub = await startHub();
      const page = await openDashboard(hub, { width, height });
      const id = await add(hub);
      const card = await stage(page, id);
      await card.locator("pre, li, fieldset, label").first().waitFor();
      const bad = await page.evaluate(nested);
      assert.deepEqual(bad, []);
      const isInView = () =>
        card.getByRole("button", { name: button }).evaluate((it) => {
          const box = it.getBoundingClientRect();
          return (
            document
              .elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
              ?.closest("button") === it
          );
        });
      assert.equal(await isInView(), true, "the action is in view");
      await page
        .locator("hub-stage .scroll")
        .evaluate((it) => it.scrollTo(0, 100_000));
      assert.equal(await isInView(), true, "and stays there at the end");
    });
  }
}

/** Runs in the page: elements in the stage that scroll themselves, or are wider than it. */
function nested() {
  const scroll = /** @type {HTMLElement} */ (
    document.querySelector("hub-stage .scroll")
  );
  const found =
    document.documentElement.scrollWidth > innerWidth
      ? ["the page is too wide"]
      : [];
  if (scroll.scrollWidth > scroll.clientWidth)
    found.push("the stage is too wide");
  for (const it of scroll.querySelectorAll("*")) {
    if (
      !it.checkVisibility() ||
      it.closest(".visually-hidden, textarea, select")
    )
      continue;
    const { overflowX, overflowY } = getComputedStyle(it);
    const scrolls =
      /auto|scroll/.test(overflowX + overflowY) &&
      (it.scrollHeight > it.clientHeight + 1 ||
        it.scrollWidth > it.clientWidth + 1);
    if (scrolls) found.push(`scrolls: ${it.localName}.${it.className}`);
    if (
      it.getBoundingClientRect().right >
      scroll.getBoundingClientRect().right + 1
    )
      found.push(`too wide: ${it.localName}.${it.className}`);
  }
  return [...new Set(found)];
}

test("a phone shows the list, one need a screen, and leads back", async () => {
  const hub = await startHub();
  const ids = [];
  for (let n = 0; n < 4; n += 1)
    ids.push(
      await permission(
        hub,
        "Bash",
        { command: `make ${n}` },
        { from: `w${n}` },
      ),
    );
  const page = await openDashboard(hub, PHONE);
  const list = page.locator("hub-queue-list");
  await list.waitFor();
  assert.equal(await page.locator("hub-stage .scroll").isVisible(), false);
  await page.locator(".queue-row", { hasText: "w1" }).tap();
  await page.getByText("2 of 4").waitFor();
  assert.equal(await list.isVisible(), false);
  await axe(page);
  for (const name of [
    "Previous need",
    "Next need",
    "‹ List",
    "Approve, w1",
    "Deny, w1",
  ]) {
    const { width = 0, height = 0 } =
      (await page.getByRole("button", { name }).boundingBox()) ?? {};
    assert.ok(width >= 44 && height >= 44, `${name}: ${width} × ${height}`);
  }
  const tabs = (await page
    .getByRole("navigation", { name: "Views" })
    .boundingBox()) ?? { y: 0, height: 0 };
  assert.equal(
    Math.round(tabs.y + tabs.height),
    844,
    "the tabs are at the bottom",
  );
  await page.getByRole("button", { name: "Next need" }).tap();
  await page.getByText("3 of 4").waitFor();
  await page.getByRole("button", { name: "Approve, w2" }).tap();
  await page.getByText("3 of 3").waitFor();
  assert.equal(await answered(hub, ids[2] ?? 0), "allow");
  await page.goBack();
  await list.waitFor();
  await page.locator(".queue-row", { hasText: "w0" }).tap();
  await page.getByRole("button", { name: "‹ List" }).tap();
  await list.waitFor();
  await axe(page);
});

test("a need that another person answers is announced, and its draft is offered", async () => {
  const hub = await startHub();
  const id = await dialog(hub, {
    tool_name: "ExitPlanMode",
    tool_input: { plan: "Do it." },
  });
  const page = await openDashboard(hub);
  await page.getByRole("textbox", { name: "Reason, login" }).fill("too big");
  await hub.call(
    "POST",
    `/needs/${id}/answer`,
    { verdict: "allow" },
    {},
    hub.socket,
  );
  await page
    .getByRole("status")
    .filter({ hasText: "was answered elsewhere: approve" })
    .waitFor();
  await page.getByRole("button", { name: "Copy what you typed" }).waitFor();
});

test("an answer that lost against that of the terminal is shown as one nowhere", async () => {
  const hub = await startHub();
  const call = { tool_name: "ExitPlanMode", tool_input: { plan: "Do it." } };
  const id = await dialog(hub, call);
  const page = await openDashboard(hub);
  const feed = await openDashboard(hub, { path: "/?view=feed" });
  await page.getByRole("textbox", { name: "Reason, login" }).fill("too big");
  await hub.call(
    "POST",
    `/needs/${id}/answer`,
    { verdict: "deny", reason: "too late" },
    {},
    hub.socket,
  );
  await until(
    async () => (await stored(hub, id)).delivery === "delivered" || undefined,
    { what: "the agent was given the answer" },
  );
  await feed.getByText("✓ you: reject: too late").waitFor();
  await hub.hook(
    "claude",
    {
      hook_event_name: "PostToolUse",
      session_id: "login",
      cwd: PROJECT,
      ...call,
    },
    { project: PROJECT, name: "login" },
  );
  await page
    .getByRole("status")
    .filter({ hasText: "login continued: its plan is settled." })
    .waitFor();
  assert.equal(await page.getByText("was answered elsewhere").count(), 0);
  await feed.getByText("✗ you: reject: too late").waitFor();
  await feed.reload();
  await feed.getByText("✗ you: reject: too late").waitFor();
});

test("several permissions are approved together only after each was on the screen to its end", async () => {
  const hub = await startHub();
  const ids = [];
  for (let n = 0; n < 3; n += 1)
    ids.push(
      await permission(
        hub,
        "Bash",
        { command: `make part-${n}` },
        { from: `p${n}` },
      ),
    );
  const long = await LONG.command.ask(hub);
  const plain = await ask(hub, { from: "asks", options: ["yes"] });
  const page = await openDashboard(hub);
  await shows(page, ids[0]);
  await page.keyboard.type("xx");
  await shows(page, ids[2]);
  const approve = page
    .getByRole("group", { name: "Marked permissions" })
    .getByRole("button", { name: "Approve 2" });
  await approve.waitFor();
  await page.keyboard.type("jx");
  await page.getByText("Scroll to its end first").waitFor();
  await axe(page);
  // The event of the scroll comes before the next frame.
  await page.locator("hub-stage .scroll").evaluate(
    (it) =>
      new Promise((done) => {
        it.scrollTo(0, it.scrollHeight);
        requestAnimationFrame(() => requestAnimationFrame(done));
      }),
  );
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Approve 3" }).waitFor();
  await shows(page, plain);
  await page.keyboard.type("x");
  assert.equal(
    await page.getByRole("button", { name: "Approve 3" }).isVisible(),
    true,
    "a question is not approved",
  );
  await page.keyboard.press("Shift+X");
  await until(async () => (await sent(page).count()) === 3, {
    what: "three answers are on their way",
  });
  for (const id of [ids[0], ids[1], long])
    assert.equal(await answered(hub, id), "allow");
  assert.equal((await stored(hub, ids[2])).state, "open");
});
