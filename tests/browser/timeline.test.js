/** The timeline, the summary after an absence, and the ways to a session. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { hostname } from "node:os";
import { join } from "node:path";

import {
  allow,
  atEnd,
  axe,
  HUB_DOWN,
  newContext,
  openDashboard,
  startHub,
  test,
  until,
} from "./support/index.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const PROJECT = "/home/me/src/hub";
const MINUTE = 60_000;

/** @param {number} minutes */
const ago = (minutes) => new Date(Date.now() - minutes * MINUTE).toISOString();

/** @param {Hub} hub @param {string} id @param {object} [info] */
async function register(hub, id, info = {}) {
  await hub.call(
    "PUT",
    `/sessions/${id}?project=${encodeURIComponent(PROJECT)}`,
    { name: id, agent: "claude", ...info },
  );
}

/** A session's reports: minutes ago, type and text. @param {Hub} hub @param {string} from @param {[number, string, string][]} reports */
async function report(hub, from, reports) {
  return hub.post(
    reports.map(([minutes, type, msg]) => ({
      project: PROJECT,
      from,
      session: from,
      type,
      msg,
      ts: ago(minutes),
    })),
  );
}

/** Opens the timeline. @param {Hub} hub @param {import('./support/browser.js').Opening} [opening] */
async function openTimeline(hub, opening) {
  const page = await openDashboard(hub, opening);
  await page.keyboard.type("vt");
  return page;
}

const lane = (/** @type {Page} */ page, /** @type {string} */ name) =>
  page
    .locator("timeline-lane")
    .filter({ has: page.getByRole("button", { name, exact: true }) });

/** The width of a phase's bars, as a share of the lane. @param {Page} page @param {string} name @param {string} phase */
async function share(page, name, phase) {
  const path =
    (await lane(page, name)
      .locator(`path[data-phase=${phase}]`)
      .getAttribute("d")) ?? "";
  return (
    [...path.matchAll(/h(\d+)v/g)].reduce(
      (sum, [, width]) => sum + Number(width),
      0,
    ) / 1000
  );
}

/** Drags the slider to a time. @param {Page} page @param {number} minutes ago, of 8 hours */
async function replay(page, minutes) {
  await page.getByRole("slider", { name: /Replay/ }).evaluate(
    (slider, value) => {
      /** @type {HTMLInputElement} */ (slider).value = String(value);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    },
    Math.round(1000 - (minutes / 480) * 1000),
  );
}

test("a lane has a bar for each phase, and the wait for the person is summed up", async () => {
  const hub = await startHub();
  await report(hub, "w1", [
    [240, "progress", "begun"],
    [120, "waiting", "Which one?"],
    [60, "progress", "going on"],
    [5, "progress", "still going on"],
  ]);
  const page = await openTimeline(hub);
  await lane(page, "w1").waitFor();
  assert.ok(Math.abs((await share(page, "w1", "working")) - 3 / 8) < 0.01);
  assert.ok(Math.abs((await share(page, "w1", "your_turn")) - 1 / 8) < 0.01);
  assert.equal(await lane(page, "w1").locator(".waited").innerText(), "1 h");
  await page
    .getByRole("img", { name: "w1: your turn 1 h, working 3 h" })
    .waitFor();
  const midnight = new Date().setHours(0, 0, 0, 0);
  const today = Math.max(
    0,
    Date.now() - 60 * MINUTE - Math.max(midnight, Date.now() - 120 * MINUTE),
  );
  if (today === 60 * MINUTE)
    await page.getByText("Agents waited 1 h for you today.").waitFor();
  const red = await lane(page, "w1")
    .locator("path[data-phase=your_turn]")
    .evaluate((path) => getComputedStyle(path).fill);
  const blue = await lane(page, "w1")
    .locator("path[data-phase=working]")
    .evaluate((path) => getComputedStyle(path).fill);
  assert.notEqual(red, blue);
  await axe(page);
});

test("a question turns the lane red at once, and its answer ends that", async () => {
  const hub = await startHub();
  await report(hub, "w1", [[100, "progress", "begun"]]);
  const page = await openTimeline(hub);
  await lane(page, "w1").waitFor();
  const { id } = await hub.post({
    project: PROJECT,
    from: "w1",
    type: "question",
    msg: "Which db?",
    ts: ago(50),
  });
  await until(
    async () =>
      Math.abs((await share(page, "w1", "needs_you")) - 50 / 480) < 0.01,
    { what: "a red bar" },
  );
  await hub.call("POST", `/needs/${id}/answer`, { reply: "sqlite" });
  const now = async () =>
    (await hub.get(`/timeline/moment?at=${new Date().toISOString()}`))
      .sessions[0].phase;
  await until(async () => (await now()) !== "needs_you", {
    what: "the answer is on the timeline",
  });
});

test("a click on a place opens the feed at that time", async () => {
  const hub = await startHub();
  const { ids } = await report(hub, "w1", [
    [300, "progress", "the first step"],
    [200, "error", "no space"],
    [100, "progress", "the last step"],
  ]);
  await report(hub, "w2", [[250, "waiting", "of another agent"]]);
  const page = await openTimeline(hub);
  const plot = lane(page, "w1").locator(".plot");
  const { width } = /** @type {{width: number}} */ (await plot.boundingBox());
  await plot.click({ position: { x: width * (1 - 150 / 480), y: 7 } });
  await page.locator("hub-details").getByText("no space").first().waitFor();
  const search = new URL(page.url()).searchParams;
  assert.deepEqual(
    [search.get("session"), search.get("id")],
    ["w1", String(ids[1])],
  );
  assert.equal(
    await page
      .locator("hub-row")
      .filter({ hasText: "of another agent" })
      .count(),
    0,
    "the feed shows this agent",
  );
});

test("the replay shows the phase and the last words of each agent at that time", async () => {
  const hub = await startHub();
  await report(hub, "w1", [
    [300, "progress", "the first step"],
    [200, "waiting", "Shall I go on?"],
    [100, "progress", "the last step"],
  ]);
  await report(hub, "w2", [[90, "progress", "later"]]);
  const page = await openTimeline(hub);
  await lane(page, "w2").waitFor();
  await replay(page, 150);
  await lane(page, "w1")
    .locator(".words")
    .getByText(/^your turn since \d\d:\d\d Shall I go on\?$/)
    .waitFor();
  await lane(page, "w2").getByText("not running").waitFor();
  const cursor = await page.locator("hub-timeline .cursor").boundingBox();
  const plot = await lane(page, "w1").locator(".plot").boundingBox();
  assert.ok(
    cursor &&
      plot &&
      Math.abs(cursor.x - plot.x - plot.width * (1 - 150 / 480)) < 4,
    JSON.stringify([cursor, plot]),
  );
  await axe(page);
  await page.getByRole("button", { name: "Back to now" }).click();
  await page.locator(".words").first().waitFor({ state: "hidden" });
});

test("the timeline is rebuilt from the log after a restart", async () => {
  const hub = await startHub();
  await report(hub, "w1", [
    [240, "progress", "begun"],
    [120, "waiting", "Which one?"],
  ]);
  const before = (await hub.get("/timeline")).lanes;
  assert.deepEqual(
    before[0].segments.map((/** @type {any} */ it) => it.phase),
    ["working", "your_turn"],
  );
  await hub.restart();
  assert.deepEqual(
    (await hub.get("/timeline")).lanes[0].segments,
    before[0].segments,
  );
});

test("a timeline that cannot be refreshed stays and says so", async () => {
  const hub = await startHub();
  await report(hub, "w1", [[60, "progress", "begun"]]);
  const page = await openTimeline(hub);
  await lane(page, "w1").waitFor();
  allow(page, HUB_DOWN);
  await hub.kill();
  await page.getByRole("button", { name: "2 h" }).click();
  await page.getByText(/The timeline is not up to date/).waitFor();
  assert.equal(await lane(page, "w1").count(), 1);
});

test("with 100,000 records and 60 agents the lanes are drawn, replayed and drawn again", async () => {
  const hub = await startHub();
  const names = Array.from({ length: 60 }, (_, n) => `agent-${n}`);
  const kinds = ["progress", "waiting", "progress", "error", "complete"];
  for (let from = 0; from < 100_000; from += 500) {
    const batch = Array.from({ length: 500 }, (_, n) => {
      const at = from + n;
      const name = names[at % 60];
      return {
        project: PROJECT,
        from: name,
        session: name,
        type: kinds[Math.floor(at / 60) % 5],
        msg: `step ${at}`,
        ts: ago(470 - (at * 469) / 100_000),
      };
    });
    await hub.post(batch);
  }
  const page = await openDashboard(hub, { width: 1440 });
  await page.keyboard.type("vt");
  await until(
    async () => (await page.locator("timeline-lane").count()) === 60,
    { what: "60 lanes", deadline: 180_000 },
  );
  for (const minutes of [400, 300, 200, 100]) await replay(page, minutes);
  await page.locator(".words").first().getByText(/step/).waitFor();
  await page.getByRole("button", { name: "24 h" }).click();
  await page.getByRole("button", { name: "2 h" }).click();
  await until(
    async () => (await page.locator("timeline-lane").count()) === 60,
    { what: "60 lanes", deadline: 180_000 },
  );
});

test("after an absence the page sums up: decisions, then results, then the rest folded by agent", async () => {
  const hub = await startHub();
  await report(hub, "w1", [[90, "progress", "known before"]]);
  const context = await newContext({ viewport: { width: 1280, height: 900 } });
  await context.clock.install();
  const first = await openDashboard(hub, { context, path: "/?view=feed" });
  await first.locator("hub-row").filter({ hasText: "known before" }).waitFor();
  assert.equal(
    await first.getByRole("button", { name: /While you were away/ }).count(),
    0,
    "nothing is new",
  );
  await first.close();
  await hub.post([
    { project: PROJECT, from: "w1", type: "progress", msg: "step 1" },
    { project: PROJECT, from: "w1", type: "complete", msg: "all green" },
    { project: PROJECT, from: "w2", type: "question", msg: "Which db?" },
    { project: PROJECT, from: "w1", type: "progress", msg: "step 2" },
  ]);
  const page = await openDashboard(hub, { context });
  assert.equal(
    await page.getByRole("button", { name: /While you were away/ }).count(),
    0,
    "a short absence",
  );
  await page.evaluate(() => {
    const last = JSON.parse(localStorage.getItem("hub.last-visible") ?? "null");
    localStorage.setItem(
      "hub.last-visible",
      JSON.stringify({ ...last, id: 1, at: last.at - 47 * 60_000 }),
    );
    Object.defineProperty(document, "hidden", {
      configurable: true,
      get: () => false,
    });
  });
  // A tab that was never compared takes what the last visible one has stored.
  const other = await openDashboard(hub, { context });
  await other
    .getByRole("button", {
      name: /While you were away: 1 decision, 1 result, 1 other/,
    })
    .click();
  const dialog = other.getByRole("dialog", {
    name: /While you were away \(47 min\)/,
  });
  assert.deepEqual(
    await dialog.getByRole("heading", { level: 3 }).allInnerTexts(),
    ["Decisions", "Results", "Everything else, by agent"],
  );
  assert.equal(
    await dialog.getByText("step 2").isVisible(),
    false,
    "the rest is folded",
  );
  await dialog.locator("summary").click();
  assert.equal(await dialog.getByText("step 2").isVisible(), true);
  assert.equal(
    await dialog.getByText("step 1").count(),
    0,
    "a turn is one row",
  );
  await axe(other);
  await dialog.getByRole("link", { name: "Which db?" }).click();
  await other.locator("hub-stage").getByText("Which db?").first().waitFor();
  assert.equal(
    await other.getByRole("button", { name: /While you were away/ }).count(),
    0,
    "it was read",
  );
});

/** A tmux server of the test. @param {Hub} hub */
function startTmux(hub) {
  const socket = join(hub.dir, "tmux");
  const tmux = (/** @type {string[]} */ ...words) =>
    execFileSync("tmux", ["-S", socket, ...words], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: hub.dir, TERM: "xterm" },
    }).trim();
  atEnd(() => tmux("kill-server"));
  return tmux;
}

/**
 * The command of a pane whose process registers sessions as its own, and then lasts as long as the test.
 *
 * @param {Hub} hub
 * @param {Record<string, object>} sessions
 */
function registering(hub, sessions) {
  const words = Object.entries(sessions).map(([id, info]) => {
    const body = JSON.stringify({
      name: id,
      agent: "claude",
      host: hostname(),
      process: { pid: "PID" },
      pane: "PANE",
      ...info,
    });
    const own = `'${body.replace('"PID"', () => "'$$'").replace('"PANE"', () => `"'$TMUX_PANE'"`)}'`;
    return `curl -sf --unix-socket '${hub.socket.socketPath}' -X PUT --json ${own} 'http://hub/sessions/${id}?project=${encodeURIComponent(PROJECT)}'`;
  });
  return [...words, "exec sleep 600"].join("; ");
}

/** Waits until a session has a process. @param {Hub} hub @param {string} id */
const registered = (hub, id) =>
  until(
    async () =>
      (await hub.get("/sessions")).sessions.some(
        (/** @type {any} */ one) => one.id === id && one.process,
      ),
    { what: `${id} has a process` },
  );

/** Opens the pane of a session. @param {Hub} hub @param {string} id */
const openSession = (hub, id) =>
  openDashboard(hub, {
    path: `/?agent=${encodeURIComponent(`${PROJECT}/${id}`)}`,
  });

test("the button selects the pane of the session that runs in tmux", async () => {
  const hub = await startHub();
  const tmux = startTmux(hub);
  const command = registering(hub, {
    w2: { pane: "%99" },
    w1: { cwd: "/src/w1" },
  });
  const pane = tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    "-s",
    "work",
    "-x",
    "80",
    "-y",
    "24",
    "-P",
    "-F",
    "#{pane_id}",
    command,
  );
  tmux("new-window", "-t", "work", "sleep 600");
  const active = () =>
    tmux("display-message", "-p", "-t", "work", "#{pane_id}");
  assert.notEqual(active(), pane, "another window is active");
  await registered(hub, "w1");
  const page = await openSession(hub, "w1");
  await page.getByRole("button", { name: /Go to its pane.*w1/ }).click();
  await page.getByText("No terminal is attached.").waitFor();
  assert.equal(active(), pane);
  assert.match(
    await page.locator("hub-go code").innerText(),
    /^tmux -S '.*\/tmux' attach -t '%\d+'$/,
  );
  // Another terminal shows another session of this server: it is switched.
  tmux("new-session", "-d", "-s", "other", "sleep 600");
  const terminal = spawn(
    "script",
    ["-qfec", `tmux -S ${join(hub.dir, "tmux")} attach -t other`, "/dev/null"],
    {
      stdio: ["pipe", "ignore", "ignore"],
      env: { PATH: process.env.PATH, HOME: hub.dir, TERM: "xterm" },
    },
  );
  atEnd(() => terminal.kill("SIGKILL"));
  await until(() => tmux("list-clients", "-F", "#{session_name}") === "other", {
    what: "a client",
  });
  await page.getByRole("button", { name: /Go to its pane.*w1/ }).click();
  await page.getByText("Your terminal shows its pane.").waitFor();
  assert.equal(
    tmux("list-clients", "-F", "#{session_name} #{pane_id}"),
    `work ${pane}`,
  );
  const link = page.getByRole("link", { name: /Open in editor.*w1/ });
  assert.equal(await link.getAttribute("href"), "vscode://file/src/w1:1");
  await hub.call("PUT", "/preferences", {
    ...(await hub.get("/preferences")),
    editor: "zed://file{path}",
  });
  await until(
    async () => (await link.getAttribute("href")) === "zed://file/src/w1",
    { what: "the editor of the preferences" },
  );
});

test("a pane that runs another program now is not selected, and the page says why", async () => {
  const hub = await startHub();
  const tmux = startTmux(hub);
  tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    "-s",
    "work",
    registering(hub, { w1: { pane: "%1" } }),
  );
  const other = tmux(
    "new-window",
    "-d",
    "-t",
    "work",
    "-P",
    "-F",
    "#{pane_id}",
    "sleep 600",
  );
  const before = tmux("display-message", "-p", "-t", "work", "#{pane_id}");
  assert.equal(other, "%1");
  await registered(hub, "w1");
  const page = await openSession(hub, "w1");
  allow(page, /status of 409/);
  await page.getByRole("button", { name: /Go to its pane.*w1/ }).click();
  await page
    .locator("hub-toast")
    .getByText(/pane %\d+ runs another program now/)
    .waitFor();
  assert.equal(
    tmux("display-message", "-p", "-t", "work", "#{pane_id}"),
    before,
  );
  const refused = await hub.ask(
    "POST",
    `/sessions/w1/go?project=${encodeURIComponent(PROJECT)}`,
    {},
    { authorization: `Bearer ${hub.token}` },
  );
  assert.deepEqual(
    [refused.status, refused.json.code],
    [403, "needs_person"],
    "the token alone does not prove a person",
  );
});

test("the editor of the settings is checked and stored", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await page.keyboard.press(",");
  const field = page.getByRole("textbox", { name: "Editor" });
  await field.fill('javascript:alert("{path}")');
  await field.press("Tab");
  await page.getByText(/Begin with the address of an editor/).waitFor();
  await field.fill("cursor://file{path}:{line}");
  await field.press("Tab");
  await until(
    async () =>
      (await hub.get("/preferences")).editor === "cursor://file{path}:{line}",
    { what: "stored" },
  );
  const refused = await hub.ask(
    "PUT",
    "/preferences",
    { editor: "javascript:{path}" },
    { authorization: `Bearer ${hub.token}` },
  );
  assert.equal(refused.status, 422);
});
