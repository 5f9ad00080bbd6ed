/** Needs: settled on the stage, and gone once settled anywhere. */

import assert from "node:assert/strict";
import { hostname } from "node:os";

import {
  allow,
  axe,
  openAnew,
  openDashboard,
  stage,
  startHub,
  test,
  until,
} from "./support/index.js";
import { killProcess, startAgent } from "./support/world.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const PROJECT = "/home/me/src/hub";

const ago = (/** @type {number} */ minutes) =>
  new Date(Date.now() - minutes * 60_000).toISOString();
const of = (/** @type {Page} */ page, /** @type {number} */ id) =>
  page.locator(`hub-question[data-key="${id}"]`);

/** @param {Hub} hub @param {object} [more] */
async function ask(hub, more = {}) {
  const { id } = await hub.post({
    project: PROJECT,
    from: "login",
    type: "question",
    msg: "Which port?",
    ...more,
  });
  return id;
}

/** @param {Hub} hub @param {number} id */
const stored = (hub, id) => hub.get(`/questions/${id}`);

/**
 * Posts a permission request of Claude Code, and waits for its response.
 *
 * @param {Hub} hub
 * @param {object} input
 * @param {string} [session]
 */
function permission(hub, input, session = "search") {
  const payload = {
    hook_event_name: "PermissionRequest",
    session_id: session,
    cwd: PROJECT,
    tool_name: "Bash",
    tool_input: input,
  };
  const answer = hub.hook("claude", payload, {
    project: PROJECT,
    name: session,
  });
  answer.catch(() => {});
  return answer.then((reply) => reply.hookSpecificOutput.decision);
}

/**
 * The agent goes on.
 *
 * @param {import('./support/hub.js').Hub} hub
 * @param {string} session
 * @param {object} [input] of the call that ran
 */
function worked(hub, session, input) {
  return hub.hook(
    "claude",
    {
      hook_event_name: "PostToolUse",
      session_id: session,
      cwd: PROJECT,
      tool_name: "Bash",
      tool_input: input,
    },
    { project: PROJECT, name: session },
  );
}

test("after an answer that comes too late, the page reports it, keeps the draft and moves the focus to the next item", async () => {
  const hub = await startHub();
  const first = await ask(hub, { ts: ago(2) });
  const next = await ask(hub, { from: "search", ts: ago(1) });
  const page = await openDashboard(hub, {
    options: { permissions: ["clipboard-read", "clipboard-write"] },
  });
  await of(page, first).locator("textarea").fill("the system's own choice");
  await hub.call("POST", `/needs/${first}/answer`, {
    reply: "8080",
    by: "lead",
  });
  await of(page, first).waitFor({ state: "detached" });
  await page
    .getByRole("status")
    .filter({ hasText: "login’s question was answered by lead: 8080" })
    .waitFor();
  const focused = () =>
    page.evaluate(
      () => /** @type {HTMLElement} */ (document.activeElement).dataset.key,
    );
  assert.equal(await focused(), String(next));
  await page.getByRole("button", { name: "Copy what you typed" }).click();
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    "the system's own choice",
  );
});

test("a draft, its place and the focus survive other changes", async () => {
  const hub = await startHub();
  const old = await ask(hub, { ts: ago(3) });
  const mine = await ask(hub, { from: "search", ts: ago(2) });
  const page = await openDashboard(hub);
  const field = (await stage(page, mine)).locator("textarea");
  await field.pressSequentially("half an ans");
  await field.press("ArrowLeft");
  await hub.call("POST", `/questions/${old}/withdraw`, {});
  const row = (/** @type {number} */ id) =>
    page.locator(`hub-queue-list li[data-key="${id}"]`);
  await row(old).waitFor({ state: "detached" });
  const late = await ask(hub, { from: "ui", ts: ago(9) });
  await row(late).waitFor();
  await hub.call("POST", `/questions/${mine}/claim`, { by: "lead" });
  await of(page, mine).getByText("lead has claimed it.").waitFor();
  await page.keyboard.type("W");
  assert.equal(await field.inputValue(), "half an anWs");
});

test("one click on an option answers", async () => {
  const hub = await startHub();
  const id = await ask(hub, { options: ["8080", "Let the system choose"] });
  const page = await openDashboard(hub);
  await of(page, id)
    .getByRole("button", { name: "Let the system choose" })
    .click();
  await of(page, id).waitFor({ state: "detached" });
  const { state, answer, by } = await stored(hub, id);
  assert.deepEqual(
    { state, answer, by },
    { state: "answered", answer: "Let the system choose", by: "person" },
  );
  assert.equal(
    await page.getByText("’s question was answered").count(),
    0,
    "who answers need not be told",
  );
});

test("Ctrl+Enter sends free text, which may have several lines", async () => {
  const hub = await startHub();
  const id = await ask(hub);
  const page = await openDashboard(hub);
  const field = of(page, id).getByRole("textbox", { name: "Answer" });
  await field.fill("first\nsecond");
  await field.press("Control+Enter");
  await of(page, id).waitFor({ state: "detached" });
  assert.equal((await stored(hub, id)).answer, "first\nsecond");
  await page.getByText("Nobody needs you.").waitFor();
});

test("a permission shows the whole command, and approving it lets the agent continue", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const command = `find . -name '*.orig' -print0 |\n\txargs -0 rm -v # ${"x".repeat(900)} end`;
  const input = { command, description: "Remove leftovers", timeout: 5000 };
  const decision = permission(hub, input);
  const item = page.locator('hub-question[data-kind="permission"]');
  await item.getByRole("button", { name: "Approve" }).waitFor();
  assert.equal(
    await item.getByRole("group", { name: "Bash command" }).textContent(),
    command,
  );
  assert.match(await item.innerText(), /Bash[^]*Remove leftovers[^]*5000/);
  await item.getByRole("button", { name: "Approve" }).click();
  assert.deepEqual(await decision, { behavior: "allow" });
  await worked(hub, "search", input);
  await item.waitFor({ state: "detached" });
});

test("a permission is denied with a reason, which the agent receives", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const decision = permission(hub, { command: "git push --force" });
  const item = page.locator('hub-question[data-kind="permission"]');
  await item.getByRole("textbox", { name: "Reason" }).fill("not on main");
  await item.getByRole("button", { name: "Deny" }).click();
  assert.deepEqual(await decision, {
    behavior: "deny",
    message:
      '[hub] Denied. The reason that was given, as a JSON string: "not on main"',
  });
});

test("a permission that is no longer held loses its buttons", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const stop = new AbortController();
  const payload = {
    hook_event_name: "PermissionRequest",
    session_id: "search",
    cwd: PROJECT,
    tool_name: "Bash",
    tool_input: { command: "make" },
  };
  const headers = {
    authorization: `Bearer ${hub.token}`,
    "content-type": "application/json",
  };
  fetch(`${hub.url}/hooks/claude?name=search`, {
    method: "POST",
    headers,
    body: JSON.stringify(payload),
    signal: stop.signal,
  }).catch(() => {});
  const item = page.locator("hub-question");
  await item.getByRole("button", { name: "Approve, search" }).waitFor();
  stop.abort();
  await item.getByText("It waits in its own terminal").waitFor();
  assert.equal(await item.getByRole("button", { name: "Approve" }).count(), 0);
});

test("the values of a form whose time is over stay in view, and can be copied also when the form is gone", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub, {
    options: { permissions: ["clipboard-read", "clipboard-write"] },
  });
  const stop = new AbortController();
  const properties = {
    host: { type: "string", title: "Host" },
    note: { type: "string" },
    tls: { type: "boolean" },
    db: { type: "string", enum: ["a", "b"], enumNames: ["Postgres", "SQLite"] },
  };
  const payload = {
    hook_event_name: "Elicitation",
    session_id: "search",
    cwd: PROJECT,
    mcp_server_name: "db",
    message: "Which?",
    mode: "form",
    requested_schema: { type: "object", properties },
  };
  const headers = {
    authorization: `Bearer ${hub.token}`,
    "content-type": "application/json",
  };
  fetch(`${hub.url}/hooks/claude?name=search&project=${PROJECT}`, {
    method: "POST",
    headers,
    body: JSON.stringify(payload),
    signal: stop.signal,
  }).catch(() => {});
  const card = page.locator("hub-question");
  await card.getByLabel("Host").fill("mill");
  await card.getByLabel("tls").check();
  await card.getByLabel("db").selectOption("b");
  stop.abort();
  await card
    .getByText(
      "The time for an answer here is over, and what you typed was not sent.",
    )
    .waitFor();
  assert.equal(await card.getByLabel("Host").isVisible(), false);
  const filled = "Host: mill\ntls: yes\ndb: SQLite";
  await card.getByText(filled).waitFor();
  await axe(page);
  const copied = async (
    /** @type {import('playwright-core').Locator} */ within,
  ) => {
    await page.evaluate(() => navigator.clipboard.writeText(""));
    await within.getByRole("button", { name: "Copy what you typed" }).click();
    return until(() => page.evaluate(() => navigator.clipboard.readText()), {
      what: "a copied text",
    });
  };
  assert.equal(await copied(card), filled);
  await worked(hub, "search");
  await card.waitFor({ state: "detached" });
  assert.equal(await copied(page.locator("hub-settled")), filled);
});

test("the note that a need was settled elsewhere closes by itself", async () => {
  const hub = await startHub();
  const id = await ask(hub, { options: ["80", "8080"] });
  const page = await openDashboard(hub);
  await page.clock.install();
  await of(page, id).getByRole("button", { name: "8080" }).focus();
  await hub.call("DELETE", `/notifications/${id}`);
  const note = page.locator("hub-settled p:not(.visually-hidden)");
  await note.waitFor();
  await page.clock.fastForward(10_000);
  await note.waitFor({ state: "detached" });
});

test("an invisible character in a command is shown", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  permission(hub, { command: "rm \u202etxt.a\u200b" }).catch(() => {});
  const shown = page.locator("hub-question .request pre");
  await shown.waitFor();
  assert.equal(await shown.textContent(), "rm U+202Etxt.aU+200B");
  assert.equal(await shown.locator("mark").count(), 2);
});

test("a click aimed at a need that has just gone elsewhere does not hit the next one", async () => {
  const hub = await startHub();
  const first = await ask(hub, { ts: ago(3), options: ["yes"] });
  const next = await ask(hub, { ts: ago(2), options: ["yes"], from: "search" });
  const page = await openDashboard(hub);
  await of(page, first).waitFor();
  await page.evaluate((id) => {
    const press = () => {
      const button = document.querySelector(
        `hub-question[data-key="${id}"] .options button`,
      );
      if (button?.checkVisibility())
        button.dispatchEvent(
          new MouseEvent("click", { bubbles: true, detail: 1 }),
        );
    };
    new MutationObserver(press).observe(
      /** @type {Node} */ (document.querySelector("hub-stage")),
      { childList: true, subtree: true },
    );
  }, next);
  await hub.call("POST", `/questions/${first}/withdraw`, {}, {}, hub.socket);
  await of(page, next).waitFor();
  assert.equal(await page.locator(".sent li").count(), 0);
  // A moment later a click counts again.
  await until(async () => {
    await of(page, next)
      .getByRole("button", { name: "yes" })
      .click({ timeout: 500 })
      .catch(() => {});
    return (await stored(hub, next)).state === "answered";
  });
});

test("the second click of a double click does not answer the next need", async () => {
  const hub = await startHub();
  await ask(hub, { ts: ago(3), options: ["yes"] });
  const next = await ask(hub, { ts: ago(2), options: ["yes"], from: "search" });
  const page = await openDashboard(hub);
  await page.getByRole("button", { name: "yes" }).dblclick({ delay: 30 });
  await of(page, next).waitFor();
  assert.equal(await page.locator(".sent li").count(), 1);
});

test("withdrawing needs two presses, and cancelling it none", async () => {
  const hub = await startHub();
  const id = await ask(hub);
  const page = await openDashboard(hub);
  const withdraw = of(page, id).locator("header button", {
    hasText: "ithdraw",
  });
  await withdraw.click();
  await of(page, id).locator("textarea").focus();
  assert.equal(await withdraw.innerText(), "Withdraw");
  await withdraw.click();
  await of(page, id).getByRole("button", { name: "Really withdraw" }).click();
  await of(page, id).waitFor({ state: "detached" });
  assert.equal((await stored(hub, id)).state, "withdrawn");
});

test("a question that the hub cannot answer shows commands to copy and no buttons", async () => {
  const hub = await startHub();
  const input = {
    questions: [
      {
        question: "Which database?",
        options: [{ label: "postgres" }, { label: "sqlite" }],
      },
    ],
  };
  const payload = {
    hook_event_name: "PreToolUse",
    session_id: "plan",
    cwd: "/home/me/it's here",
    tool_name: "AskUserQuestion",
    tool_input: input,
  };
  await hub.hook("claude", payload, {
    project: PROJECT,
    name: "plan",
    host: "mill",
    pane: "%7",
  });
  const page = await openDashboard(hub);
  const item = page.locator("hub-question");
  await item
    .locator(".text")
    .getByText("Which database?", { exact: true })
    .waitFor();
  const lines = await item.locator("code").allInnerTexts();
  assert.deepEqual(lines, ["ssh mill", String.raw`cd '/home/me/it'\''s here'`]);
  assert.match(
    (await item.locator("dl").innerText()).replace(/\s+/g, " "),
    /host mill directory \/home\/me\/it's here pane %7/,
  );
  assert.deepEqual(
    await item.getByRole("listitem").allInnerTexts(),
    ["postgres", "sqlite"],
    "what it offers can be read",
  );
  assert.equal(await item.getByRole("textbox").count(), 0);
  assert.deepEqual(
    (await item.getByRole("button").allInnerTexts()).filter(
      (text) => text !== "Copy",
    ),
    ["Withdraw"],
  );
});

test("a refusal of the hub is shown in place with what to do, and the draft stays", async () => {
  const hub = await startHub();
  const id = await ask(hub);
  const page = await openDashboard(hub);
  allow(page, /413/);
  const long = "x".repeat(70_000);
  await of(page, id).locator("textarea").fill(long);
  await of(page, id).getByRole("button", { name: "Answer" }).click();
  const alert = of(page, id).getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.innerText(), /70\d\d\d[^]*64 KiB/);
  assert.equal(await of(page, id).locator("textarea").inputValue(), long);
});

test("the later of two concurrent answers is refused, and the page names the first", async () => {
  const hub = await startHub();
  const id = await ask(hub);
  const page = await openDashboard(hub);
  allow(page, /409/);
  await page.route(`**/needs/${id}/answer`, async (route) => {
    await hub.call("POST", `/needs/${id}/answer`, {
      reply: "9090",
      by: "lead",
    });
    await route.continue();
  });
  await of(page, id).locator("textarea").fill("8080");
  await of(page, id).getByRole("button", { name: "Answer" }).click();
  await page
    .getByRole("status")
    .filter({ hasText: "login’s question was answered by lead: 9090" })
    .waitFor();
  assert.equal((await stored(hub, id)).answer, "9090");
});

test("an error stays until it is done, whatever is read, and that can be undone", async () => {
  const hub = await startHub();
  const { id } = await hub.post({
    project: PROJECT,
    from: "build",
    type: "error",
    msg: "rate_limit: no space left",
  });
  const page = await openDashboard(hub);
  const item = page.locator('hub-need[data-kind="error"]');
  await item.getByText("no space left").waitFor();
  assert.equal(
    await item.locator(":scope > .text").innerText(),
    "rate_limit: no space left",
    "the words as they were sent",
  );
  await hub.call("POST", "/seen", { up_to: id, seen: true });
  assert.equal((await hub.get("/needs")).needs.length, 1);
  await item.getByRole("button", { name: "Done" }).click();
  await page.getByText("Nobody needs you.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await item.waitFor();
});

test("an error disappears when its session works again", async () => {
  const hub = await startHub();
  await hub.post({
    project: PROJECT,
    from: "build",
    type: "error",
    msg: "no space left",
  });
  const page = await openDashboard(hub);
  await page.locator("hub-need").waitFor();
  await hub.post({
    project: PROJECT,
    from: "build",
    type: "progress",
    msg: "again",
  });
  await page.getByText("Nobody needs you. 1 working.").waitFor();
});

test("an old error is shown although the feed does not reach it", async () => {
  const hub = await startHub();
  await hub.post({
    project: PROJECT,
    from: "build",
    type: "error",
    msg: "no space left",
  });
  await hub.post(
    Array.from({ length: 300 }, (_, n) => ({
      from: "cron",
      type: "message",
      msg: `tick ${n}`,
    })),
  );
  const page = await openDashboard(hub);
  await page.locator("hub-need").getByText("no space left").waitFor();
  await page.locator("hub-need").getByRole("button", { name: "Done" }).click();
  await page.getByText("Nobody needs you.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator("hub-need").getByText("no space left").waitFor();
});

test("a silent session is shown with its last message, and a message reaches it", async () => {
  const hub = await startHub();
  await hub.post({
    project: PROJECT,
    from: "slow",
    type: "progress",
    msg: "Counting sheep",
    ts: ago(25),
  });
  const page = await openDashboard(hub);
  await page.locator("hub-queue-list summary").click();
  await page.locator("hub-queue-list details .queue-row").click();
  const item = page.locator('hub-need[data-kind="silent"]');
  await item.getByText("Counting sheep").waitFor();
  assert.match(await item.locator("header time").innerText(), /^2[56] min$/);
  const field = item.getByRole("textbox");
  const size = async () => {
    const { width, height } = /** @type {any} */ (await field.boundingBox());
    return [width, height];
  };
  const before = await size();
  await field.fill("Still there?");
  await item.getByRole("button", { name: "Send" }).click();
  await item.getByText("Sent; no waiter was woken.").waitFor();
  assert.deepEqual(await size(), before, "the field keeps its size");
  assert.equal(
    (await hub.get("/notifications?limit=1")).notifications[0].to,
    "slow",
  );
});

test("a session that died at work is shown until it is done, and among the ended", async () => {
  const hub = await startHub();
  const payload = {
    hook_event_name: "UserPromptSubmit",
    session_id: "mortal",
    cwd: PROJECT,
    prompt: "go",
  };
  await startAgent(hub, payload, {
    project: PROJECT,
    name: "mortal",
    host: hostname(),
  });
  const page = await openDashboard(hub);
  const row = page.locator(".board-row", { hasText: "mortal" });
  await row.waitFor({ state: "attached" });
  killProcess();
  const item = page.locator('hub-need[data-kind="died"]');
  await item.getByText("died unfinished").waitFor();
  assert.equal(await item.getByRole("textbox").count(), 0);
  await row
    .and(page.locator('[data-phase="blocked"]'))
    .waitFor({ state: "attached" });
  await item.getByRole("button", { name: "Done" }).click();
  await page
    .locator("summary", { hasText: "1 ended" })
    .waitFor({ state: "attached" });
  await page.getByText("Nobody needs you. No agent is running.").waitFor();
  await openAnew(hub, page);
  await page
    .locator("summary", { hasText: "1 ended" })
    .waitFor({ state: "attached" });
  await page.getByText("Nobody needs you. No agent is running.").waitFor();
});
