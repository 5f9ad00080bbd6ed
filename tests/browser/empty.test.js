/** The first steps with a new hub: each is ticked off as it happens, and the commands work as printed. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Hub } from "./support/hub.js";
import {
  allow,
  atEnd,
  HUB_DOWN,
  newContext,
  openAnew,
  openDashboard,
  startHub,
  test,
  until,
} from "./support/index.js";

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} name */
function command(page, name) {
  return page
    .locator("hub-empty details > div")
    .filter({ hasText: name })
    .locator(".copyable code")
    .textContent()
    .then(String);
}

/** @param {string} line @param {string} [path] */
function shell(line, path = "") {
  return execFileSync("sh", ["-c", line], {
    env: { PATH: `${path}:${process.env.PATH}`, HOME: "/nonexistent" },
    encoding: "utf8",
  });
}

/** @param {Page} page @param {string} name @param {boolean} [isDone] */
const step = (page, name, isDone = true) =>
  page.locator(
    `hub-empty li[data-step=${name}]${isDone ? "[data-done]" : ":not([data-done])"}`,
  );

test("each step is ticked off as it happens, and the last one ends the list for good", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await step(page, "hub").waitFor();
  for (const open of ["hooks", "session", "question"])
    await step(page, open, false).waitFor();
  await hub.hook(
    "claude",
    {
      hook_event_name: "SessionStart",
      source: "startup",
      session_id: "s1",
      cwd: "/src/shop",
    },
    { project: "/src/shop", name: "checkout" },
  );
  await step(page, "hooks").getByText("Claude Code", { exact: true }).waitFor();
  await step(page, "session").getByText("checkout").waitFor();
  await page.reload();
  await step(page, "session").getByText("checkout").waitFor();
  await page.getByRole("button", { name: "Send me a test question" }).click();
  await page.locator("hub-stage").getByText("This is a test.").waitFor();
  await until(() => page.locator("hub-empty").isHidden(), {
    what: "what needs the person comes first",
  });
  await page
    .locator("hub-stage")
    .getByRole("button", { name: /^This one/ })
    .click();
  await page.getByRole("button", { name: "Send now, test" }).click();
  await until(
    async () =>
      (await hub.get("/questions?state=all")).questions[0].answer ===
      "This one",
    { what: "the answer is stored" },
  );
  await page.locator("hub-stage").getByText("Nobody needs you.").waitFor();
  await until(() => page.locator("hub-empty").isHidden(), {
    what: "the list has ended",
  });
  await openAnew(hub, page);
  await page.locator("hub-stage").getByText("Nobody needs you.").waitFor();
  assert.ok(await page.locator("hub-empty").isHidden());
});

test("the person closes the list for good, and another log begins another one", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await page
    .locator("hub-empty")
    .getByRole("button", { name: "Close" })
    .click();
  await page.locator("hub-stage").getByText("Nobody needs you.").waitFor();
  await openAnew(hub, page);
  await page.locator("hub-stage").getByText("Nobody needs you.").waitFor();
  assert.ok(await page.locator("hub-empty").isHidden());
  allow(page, HUB_DOWN);
  await hub.restart({ fresh: "log" });
  await step(page, "hub").waitFor();
});

test("the first curl works as printed, and the feed shows it without the list", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub, { path: "/?view=feed" });
  const line = await command(page, "Publish a notification");
  shell(line);
  await page.locator("hub-feed").getByText("backup done").first().waitFor();
  await until(() => page.locator("hub-empty").isHidden(), {
    what: "the list is hidden",
  });
});

test("the cron line works under cron, also from a directory with odd characters", async () => {
  const hub = new Hub({});
  const { dir } = hub;
  atEnd(() => rmSync(dir, { recursive: true }));
  hub.dir = join(dir, "o'neil 100% $HOME");
  mkdirSync(hub.dir);
  atEnd(() => hub.remove());
  await hub.launch();
  const page = await openDashboard(hub);
  const line = await command(page, "Get notified about a job");
  const job = line.replace(/^0 3 \* \* \* /, "");
  assert.notEqual(job, line);
  assert.doesNotMatch(
    job,
    /(?<!\\)%/,
    "cron ends the command at a bare per cent sign",
  );
  const backup = join(hub.dir, "backup");
  writeFileSync(backup, "#!/bin/sh\nexit 3\n");
  chmodSync(backup, 0o755);
  shell(job.replaceAll("\\%", "%"), hub.dir);
  const {
    notifications: [said],
  } = await hub.get("/notifications?limit=1");
  assert.deepEqual([said.from, said.msg], ["cron", "backup ended with 3"]);
});

test("one click copies a command", async () => {
  const hub = await startHub();
  const context = await newContext({
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await openDashboard(hub, { context });
  await page.getByRole("button", { name: "Copy the hooks command" }).click();
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    "hubctl hooks install claude",
  );
});

test("a hub with notifications shows no introduction, not even while loading", async () => {
  const hub = await startHub();
  await hub.post("hello");
  const context = await newContext();
  await context.addInitScript(() => {
    new MutationObserver(() => {
      if (document.querySelector("hub-empty .introduction"))
        Object.assign(window, { taught: true });
    }).observe(document, { subtree: true, childList: true });
  });
  const page = await openDashboard(hub, { context, path: "/?view=feed" });
  await page.locator("hub-feed").getByText("hello").first().waitFor();
  // @ts-expect-error set above
  assert.equal(await page.evaluate(() => window.taught), undefined);
});
