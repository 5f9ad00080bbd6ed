/**
 * Screenshots of the dashboard in target/screens, for people to review. On each, axe-core finds no violation, no text is
 * cut off and no view is too wide.
 */

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import {
  allow,
  axe,
  follow,
  openDashboard,
  startHub,
  TARGET,
  test,
  until,
} from "./support/index.js";
import { dialog, LONG, permission } from "./support/needs.js";
import { agents, world, WORLD_ARGS } from "./support/world.js";

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const SCREENS = join(TARGET, "screens");
mkdirSync(SCREENS, { recursive: true });

const SIZES = /** @type {const} */ ([
  [1440, 900],
  [1024, 768],
  [390, 844],
]);
const LOOKS = SIZES.flatMap(([width, height]) =>
  /** @type {const} */ (["light", "dark"]).map((colorScheme) => ({
    width,
    height,
    colorScheme,
  })),
);
const NIGHT = { from: "22:00", to: "07:00", zone: "Europe/Berlin" };
/** The keys of the views. */
const VIEWS = { queue: "vq", agents: "va", feed: "vf", time: "vt" };

for (const look of LOOKS) {
  const name = `${look.width}-${look.colorScheme}`;

  test(`a busy hub fits, ${name}`, async () => {
    const hub = await startHub({ args: WORLD_ARGS });
    await world(hub);
    await hub.call("PUT", "/preferences", {
      quiet: NIGHT,
      mutes: [{ project: "/home/me/src/old", session: "noisy" }],
      notify: ["needs_you"],
      sound: [],
    });
    const page = await openDashboard(hub, look);
    await until(async () => (await page.locator(".queue-row").count()) >= 5, {
      what: "the needs are listed",
    });
    for (const [view, keys] of Object.entries(VIEWS)) {
      await page.keyboard.type(keys);
      if (view === "time")
        await page.locator("timeline-lane").first().waitFor();
      await picture(page, `busy-${view}-${name}`);
    }
    await details(hub, page, name);
    await card(page, name);
    for (const [dialog, key] of [
      ["settings", ","],
      ["help", "?"],
    ]) {
      await page.keyboard.press(key ?? "");
      await page.locator("dialog[open]").waitFor();
      await picture(page, `${dialog}-${name}`, "dialog[open]");
      await page.keyboard.press("Escape");
    }
  });

  test(`answers on their way fit, ${name}`, async () => {
    const hub = await startHub();
    await agents(hub, 1);
    for (const from of ["login", "a-name-that-is-long-enough"])
      await permission(hub, "Bash", { command: "npm run build" }, { from });
    const page = await openDashboard(hub, look);
    if (look.width < 900) await page.locator(".queue-row").first().click();
    for (let n = 1; n <= 2; n += 1) {
      await page
        .locator("hub-stage")
        .getByRole("button", { name: /^Approve/ })
        .press("a");
      await until(async () => (await page.locator(".sent li").count()) === n, {
        what: `${n} answers on their way`,
      });
    }
    await picture(page, `sent-${name}`);
  });

  test(`short needs fit, ${name}`, async () => {
    const hub = await startHub();
    await agents(hub, 8);
    await short(hub);
    const page = await openDashboard(hub, look);
    await page.locator(".queue-row").nth(5).waitFor();
    for (const from of ["offered", "planned", "search"]) {
      if (look.width < 900) await follow(page, "?");
      await page.locator(".queue-row", { hasText: from }).first().click();
      await page.locator("hub-stage h3", { hasText: from }).waitFor();
      await picture(page, `short-${from}-${name}`);
    }
    await page.keyboard.type(VIEWS.agents);
    await picture(page, `short-agents-${name}`);
  });

  for (const [kind, { ask: add }] of Object.entries(LONG)) {
    test(`a long ${kind} fits, ${name}`, async () => {
      const hub = await startHub();
      const page = await openDashboard(hub, look);
      await add(hub);
      if (look.width < 900) await page.locator(".queue-row").click();
      await page
        .locator("hub-stage")
        .getByRole("button", { name: "Answer, login" })
        .or(
          page
            .locator("hub-stage")
            .getByRole("button", { name: "Approve, login" }),
        )
        .waitFor();
      await picture(page, `long-${kind}-${name}`);
      await page
        .locator("hub-stage .scroll")
        .evaluate((it) => it.scrollTo(0, 100_000));
      await picture(page, `long-${kind}-end-${name}`);
    });
  }

  for (const count of [1, 8, 60]) {
    test(`${count} agents fit, ${name}`, async () => {
      const hub = await startHub();
      await agents(hub, count);
      const page = await openDashboard(hub, look);
      await until(
        async () => (await page.locator(".board-row").count()) === count,
        { what: "the agents are shown" },
      );
      await picture(page, `queue-${count}-${name}`);
      await page.keyboard.type(VIEWS.agents);
      await picture(page, `agents-${count}-${name}`);
      await page.locator(".board-row").first().click();
      await page.locator("hub-conversation").waitFor();
      await picture(page, `agent-of-${count}-${name}`);
    });
  }

  test(`an empty hub and the sign-in page fit, ${name}`, async () => {
    const hub = await startHub();
    const page = await openDashboard(hub, look);
    await page.locator("hub-app[data-ready]").waitFor();
    await picture(page, `empty-${name}`);
    const stranger = await openDashboard(hub, {
      ...look,
      signIn: false,
      live: false,
    });
    await stranger.locator("hub-sign-in").waitFor();
    await picture(stranger, `sign-in-${name}`);
    await stranger.locator("summary").click();
    await picture(stranger, `sign-in-elsewhere-${name}`);
    allow(stranger, /status of 401/);
    await stranger.goto(
      `${hub.url}/?again#code=00000000000000000000000000000000`,
    );
    await stranger.getByRole("alert").waitFor();
    await picture(stranger, `sign-in-refused-${name}`);
  });
}

/** A permission that offers more, a short plan, and a session that has just started. @param {Hub} hub */
async function short(hub) {
  const [project, session_id] = ["/home/me/src/hub", "offered"];
  const asked = {
    hook_event_name: "permission.asked",
    session_id,
    cwd: project,
    answerable: true,
    properties: {
      permission: "bash",
      always: ["npm run *"],
      metadata: { command: "npm run build", description: "Builds it" },
    },
  };
  hub
    .hook("opencode", asked, { project, name: session_id, pane: "%1" })
    .catch(() => {});
  await dialog(
    hub,
    {
      tool_name: "ExitPlanMode",
      tool_input: {
        plan: "# Plan: move the tests\n\n1. Move them.\n2. Run them.",
        planFilePath: "/home/me/.claude/plans/p.md",
      },
    },
    { from: "planned" },
  );
  await hub.hook(
    "claude",
    { hook_event_name: "SessionStart", session_id: "fresh", cwd: project },
    { project, name: "fresh" },
  );
}

/**
 * Opens the details of a notification with data, options and a delivery.
 *
 * @param {Hub} hub
 * @param {Page} page
 * @param {string} name
 */
async function details(hub, page, name) {
  const { notifications } = await hub.get(
    "/notifications?from=ci&types=error&limit=1",
  );
  await page.keyboard.type(VIEWS.feed);
  await page.evaluate((id) => {
    history.pushState(null, "", `?view=feed&types=error,progress&id=${id}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }, notifications[0].id);
  await page.locator("hub-details").getByText("power_cut").first().waitFor();
  await picture(page, `details-${name}`);
  await page.keyboard.press("Escape");
}

/** Opens a session in the pane. @param {Page} page @param {string} name */
async function card(page, name) {
  await page.keyboard.type(VIEWS.agents);
  // A click just after the rows moved may be meant for another row, so it does nothing.
  const opened = async () => {
    if (await page.locator("hub-conversation").isVisible()) return true;
    await page.locator(".board-row", { hasText: "dashboard" }).first().click();
    return false;
  };
  await until(opened, { what: "the session is shown", every: 500 });
  await picture(page, `session-${name}`);
  await page.keyboard.press("Escape");
}

/** @param {Page} page @param {string} name @param {string} [within] */
async function picture(page, name, within = "body") {
  await page.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(resolve)),
      ),
  );
  await page.screenshot({
    path: join(SCREENS, `${name}.png`),
    animations: "disabled",
  });
  assert.deepEqual(await page.evaluate(misfits, within), [], name);
  await axe(page);
}

/**
 * Runs in the page: elements wider than the page, and texts that are cut off without an ellipsis.
 *
 * @param {string} within
 */
function misfits(within) {
  /** @type {string[]} */
  const found = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth)
    found.push(`the page is ${scrollWidth - clientWidth} px too wide`);
  const dialog = document
    .querySelector("dialog[open]")
    ?.getBoundingClientRect();
  if (
    dialog &&
    (dialog.left < 0 ||
      dialog.top < 0 ||
      dialog.right > innerWidth ||
      dialog.bottom > innerHeight)
  )
    found.push("the dialog does not fit");
  const name = (/** @type {Element} */ element) => {
    const [tag, by] = [
      element.localName,
      element.closest("[data-id], hub-app > *, section")?.localName,
    ];
    return `<${tag} class="${element.className}"> in <${by}>: ${element.textContent?.trim().slice(0, 60)}`;
  };
  for (const element of document.querySelectorAll(`${within} *`)) {
    if (
      !(element instanceof HTMLElement) ||
      !element.checkVisibility({
        visibilityProperty: true,
        opacityProperty: true,
      })
    )
      continue;
    const style = getComputedStyle(element);
    if (element.closest(".visually-hidden, .skip, option, datalist")) continue;
    const box = element.getBoundingClientRect();
    const scrolls = /** @type {HTMLElement[]} */ ([]);
    for (let at = element.parentElement; at; at = at.parentElement)
      if (/auto|scroll/.test(getComputedStyle(at).overflowX)) scrolls.push(at);
    if (
      box.width > 0 &&
      scrolls.length === 0 &&
      (box.right > clientWidth + 1 || box.left < -1)
    )
      found.push(`outside: ${name(element)}`);
    const cuts =
      /hidden|clip/.test(style.overflowX) &&
      element.scrollWidth > element.clientWidth + 1;
    const says =
      style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
    if (cuts && !says && element.textContent?.trim())
      found.push(`cut off: ${name(element)}`);
    const low =
      /hidden|clip/.test(style.overflowY) &&
      element.scrollHeight > element.clientHeight + 3;
    if (
      low &&
      style.webkitLineClamp === "none" &&
      element.childElementCount === 0 &&
      element.textContent?.trim()
    )
      found.push(`cut off below: ${name(element)}`);
    // A control whose text does not fit.
    if (
      element.localName === "button" &&
      element.scrollWidth > element.clientWidth + 1 &&
      style.overflowX === "visible"
    )
      found.push(`too narrow: ${name(element)}`);
  }
  return [...new Set(found)].slice(0, 12);
}
