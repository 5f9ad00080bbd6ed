/** The page of an agent: its conversation, and what it needs now at its foot. */

import assert from "node:assert/strict";

import { openDashboard, startHub, test, until } from "./support/index.js";
import { dialog, permission } from "./support/needs.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const PROJECT = "/home/me/src/hub";

/** Reports a hook event of the session `login`. @param {Hub} hub @param {string} event @param {object} [more] */
const hook = (hub, event, more = {}) =>
  hub.hook(
    "claude",
    { hook_event_name: event, session_id: "login", cwd: PROJECT, ...more },
    { project: PROJECT, name: "login" },
  );

/** Answers as the person does in a terminal. @param {Hub} hub @param {number} id @param {object} answer */
const answer = (hub, id, answer) =>
  hub.call("POST", `/needs/${id}/answer`, answer, {}, hub.socket);

/** The page of the session. @param {Hub} hub @param {object} [look] */
async function opened(hub, look = {}) {
  const page = await openDashboard(hub, {
    path: `/?view=agents&agent=${encodeURIComponent(`${PROJECT}/login`)}`,
    ...look,
  });
  const pane = page.locator('hub-session[data-id="login"]');
  await pane.waitFor();
  return { page, pane, entries: pane.locator("hub-conversation .entry") };
}

/** A session with a prompt, a denied command, an answered question and a stop. @param {Hub} hub */
async function story(hub) {
  await hook(hub, "UserPromptSubmit", { prompt: "Fix the login" });
  await answer(hub, await permission(hub, "Bash", { command: "git push" }), {
    verdict: "deny",
    reason: "not yet",
  });
  const question = {
    question: "UTC or local?",
    options: [{ label: "UTC" }, { label: "local" }],
  };
  await answer(
    hub,
    await dialog(hub, {
      tool_name: "AskUserQuestion",
      tool_input: { questions: [question] },
    }),
    { choices: [{ labels: ["UTC"] }] },
  );
  await hook(hub, "Stop", {
    last_assistant_message: "Fixed:\n\n- the **clock**\n- the test",
  });
}

test("an agent’s page is its conversation, oldest first, with the answers", async () => {
  const hub = await startHub();
  await story(hub);
  const { pane, entries } = await opened(hub);
  await pane.locator("hub-conversation strong", { hasText: "clock" }).waitFor();
  const lines = (await entries.allInnerTexts()).map((it) =>
    it.replace(/\s+/g, " ").replace(/\d+ \w+ ago/, "ago"),
  );
  assert.deepEqual(lines, [
    "You wrote ago Fix the login",
    "login wants to run a command ago Bash: git push ✕ denied by you: not yet",
    "login asks ago UTC or local? ✓ answered by you: UTC",
    "login has stopped ago Fixed: the clock the test",
  ]);
});

test("the agent’s need is at the foot, and a key answers it", async () => {
  const hub = await startHub();
  await hook(hub, "UserPromptSubmit", { prompt: "Fix the login" });
  const { page, pane, entries } = await opened(hub);
  await pane.getByRole("textbox", { name: "Message to login" }).waitFor();
  const id = await permission(hub, "Bash", { command: "make all" });
  await pane.locator("hub-question").getByText("make all").waitFor();
  assert.equal(await entries.filter({ hasText: "make all" }).count(), 0);
  await page.keyboard.press("a");
  await until(
    async () => (await hub.get(`/questions/${id}`)).answer === "allow",
    { what: "it is allowed" },
  );
  await entries.filter({ hasText: "✓ allowed by you" }).waitFor();
  await pane.locator("hub-question").waitFor({ state: "detached" });
});

test("a click that was aimed at the message answers no question that has just appeared there", async () => {
  const hub = await startHub();
  await hook(hub, "UserPromptSubmit", { prompt: "Fix the login" });
  const { page, pane } = await opened(hub);
  await pane.getByRole("textbox", { name: "Message to login" }).waitFor();
  const clicked = page.evaluate(
    () =>
      new Promise((done) => {
        new MutationObserver(() => {
          const button = /** @type {HTMLElement|undefined} */ (
            [...document.querySelectorAll("hub-session button")].find(
              (it) =>
                it.textContent?.includes("Approve") && it.checkVisibility(),
            )
          );
          if (button)
            done(
              button.dispatchEvent(
                new MouseEvent("click", {
                  detail: 1,
                  bubbles: true,
                  cancelable: true,
                }),
              ),
            );
        }).observe(document.body, {
          childList: true,
          subtree: true,
          attributes: true,
        });
      }),
  );
  const id = await permission(hub, "Bash", { command: "make all" });
  assert.equal(await clicked, false);
  assert.equal(await pane.getByText("will be sent").count(), 0);
  assert.equal((await hub.get(`/questions/${id}`)).state, "open");
});

test("new words appear at the end, and older ones when the person looks for them", async () => {
  const hub = await startHub();
  for (let n = 0; n < 70; n += 1)
    await hook(hub, "UserPromptSubmit", { prompt: `prompt ${n}` });
  const { pane, entries } = await opened(hub);
  await entries.getByText("prompt 69", { exact: true }).waitFor();
  assert.equal(await entries.getByText("prompt 1", { exact: true }).count(), 0);
  await hook(hub, "Stop", { last_assistant_message: "the last word" });
  await entries.getByText("the last word").waitFor();
  const isAtEnd = () =>
    pane
      .locator("hub-conversation")
      .evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight < 2);
  await until(isAtEnd, { what: "the last word is in view" });
  await pane.locator("hub-conversation").evaluate((it) => it.scrollTo(0, 0));
  await entries
    .getByText("prompt 1", { exact: true })
    .waitFor({ state: "attached" });
  assert.equal(await entries.count(), 71);
  await pane
    .getByRole("button", { name: "Show earlier" })
    .waitFor({ state: "hidden" });
});

test("new words do not take a person back who has just scrolled up", async () => {
  const hub = await startHub();
  for (let n = 0; n < 30; n += 1)
    await hook(hub, "UserPromptSubmit", { prompt: `prompt ${n}` });
  const { pane, entries } = await opened(hub);
  await entries.getByText("prompt 29", { exact: true }).waitFor();
  // The words come before the event of the scroll does.
  await pane.locator("hub-conversation").evaluate((it) => {
    addEventListener("scroll", (event) => event.stopPropagation(), true);
    it.scrollTo(0, 0);
  });
  await hook(hub, "Stop", { last_assistant_message: "the last word" });
  await entries.getByText("the last word").waitFor();
  assert.equal(
    await pane.locator("hub-conversation").evaluate((it) => it.scrollTop),
    0,
  );
});

test("a hub that keeps no words says so", async () => {
  const hub = await startHub({ args: ["--set", "keep_words=false"] });
  await hook(hub, "UserPromptSubmit", { prompt: "Fix the login" });
  const { pane, entries } = await opened(hub);
  await pane.getByText("Prompts and last messages are not kept").waitFor();
  assert.match(await entries.innerText(), /^You wrote \S+ \S+ ago$/);
});

test("the snooze beside a notification is not beside an agent that is opened after it", async () => {
  const hub = await startHub();
  const { id } = await hub.post({
    project: PROJECT,
    from: "login",
    session: "login",
    type: "waiting",
    msg: "Which?",
  });
  const page = await openDashboard(hub, { path: `/?view=feed&id=${id}` });
  const snooze = page.getByRole("button", { name: "until unmuted" });
  await snooze.waitFor();
  await page.keyboard.type("va");
  await page.locator(".board-row").click();
  await page.locator("hub-session hub-conversation").waitFor();
  assert.equal(await snooze.count(), 0);
});
