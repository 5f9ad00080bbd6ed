/** Accessibility: the keyboard alone suffices, and reduced motion is respected; screens.test.js applies axe-core's rules. */

import assert from "node:assert/strict";

import {
  feedIds,
  openDashboard,
  startHub,
  test,
  until,
} from "./support/index.js";
import { world, WORLD_ARGS } from "./support/world.js";

/** @typedef {import('playwright-core').Page} Page */

/** The focused element as a screen reader names it. @param {Page} page */
function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    return `${element?.localName}: ${element?.getAttribute("aria-label") ?? element?.textContent?.trim().slice(0, 60) ?? ""}`;
  });
}

/**
 * Presses Tab until an element that matches has the focus.
 *
 * @param {Page} page
 * @param {string} selector
 * @param {string} [text] in it
 */
async function tabTo(page, selector, text = "") {
  /** @type {string[]} */
  const passed = [];
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press("Tab");
    const there = await page.evaluate(
      ([wanted, words]) =>
        Boolean(
          document.activeElement?.matches(wanted) &&
          document.activeElement.textContent?.includes(words),
        ),
      /** @type {[string, string]} */ ([selector, text]),
    );
    if (there) return;
    passed.push(await focused(page));
  }
  assert.fail(`Tab never reaches ${selector} ${text}: ${passed.join(", ")}`);
}

/** @param {Page} page */
function activeMatches(page, /** @type {string} */ selector) {
  return until(
    () =>
      page.evaluate(
        (wanted) => Boolean(document.activeElement?.closest(wanted)),
        selector,
      ),
    { what: `the focus is in ${selector}` },
  );
}

test("a question is found and answered by keyboard alone", async () => {
  const hub = await startHub();
  const { id } = await hub.post({
    from: "api",
    type: "question",
    msg: "Which db?",
    options: ["postgres", "sqlite"],
  });
  const page = await openDashboard(hub);
  await page.locator("hub-question").waitFor();
  await page.keyboard.type("vq");
  await tabTo(page, "hub-question button", "sqlite");
  await page.keyboard.press("Enter");
  await until(
    async () => (await hub.get(`/questions/${id}`)).state === "answered",
    { what: "answered" },
  );
  assert.equal((await hub.get(`/questions/${id}`)).answer, "sqlite");
  await page.locator("hub-question").waitFor({ state: "detached" });
  assert.notEqual(
    await focused(page),
    "body: ",
    "the focus is not lost with what was answered",
  );
});

test("the search is reached by its key and left by Escape", async () => {
  const hub = await startHub();
  await hub.post([
    { from: "a", msg: "apples" },
    { from: "b", msg: "pears" },
  ]);
  const page = await openDashboard(hub);
  await until(async () => (await feedIds(page)).length === 2, {
    what: "two rows",
  });
  await page.keyboard.press("/");
  await page.keyboard.type("pears");
  await until(async () => (await feedIds(page)).length === 1, {
    what: "one row",
  });
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Help" }).waitFor();
});

test("settings are changed by keyboard alone, and the focus returns", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await page.locator("hub-app[data-ready]").waitFor();
  await tabTo(page, "header button", "Settings");
  await page.keyboard.press("Enter");
  await tabTo(page, "input[data-state=blocked][data-way=sound]");
  await page.keyboard.press("Space");
  await until(
    async () => (await hub.get("/preferences")).sound.join() === "blocked",
    { what: "kept" },
  );
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal(await focused(page), "button: Settings");
});

test("in a field or a dialog, keys only type", async () => {
  const hub = await startHub();
  // An empty page has no field.
  await hub.post("hello", { from: "worker" });
  const page = await openDashboard(hub);
  await page.locator("hub-app[data-ready]").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("?,1e");
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(
    await page.locator("hub-filters input[type=search]").inputValue(),
    "?,1e",
  );
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.keyboard.press(",");
  assert.equal(await page.getByRole("dialog").count(), 1);
  assert.equal(await page.getByRole("dialog", { name: "Help" }).count(), 1);
});

test("the help lists every key", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Help" });
  for (const key of [
    "?",
    "/",
    "v",
    "g",
    "a",
    "d",
    "1",
    "j",
    "k",
    "Enter",
    "Esc",
    "e",
    "m",
    "s",
    "u",
    "r",
    ",",
  ]) {
    assert.ok((await dialog.locator("kbd").allInnerTexts()).includes(key), key);
  }
  assert.equal(
    await dialog.locator("a[href]").count(),
    0,
    "it leads nowhere else",
  );
});

test("the first Tab offers a link that skips to the main view", async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await page.locator("hub-app[data-ready]").waitFor();
  await page.keyboard.press("Tab");
  assert.match(await focused(page), /Skip to/);
  await page.keyboard.press("Enter");
  await activeMatches(page, "main");
});

test("with reduced motion nothing is animated", async () => {
  const hub = await startHub({ args: WORLD_ARGS });
  await world(hub, 60);
  const page = await openDashboard(hub, { reducedMotion: "reduce" });
  await page.locator("hub-question").first().waitFor();
  await hub.post({ from: "ci", type: "question", msg: "And now?" });
  await page.getByText("And now?").first().waitFor();
  await page.keyboard.press(",");
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")].flatMap((element) =>
      ["", "::before", "::after", "::backdrop"].flatMap((pseudo) => {
        const { animationName, transitionDuration, scrollBehavior } =
          getComputedStyle(element, pseudo || null);
        const moves =
          animationName !== "none" ||
          transitionDuration.split(",").some((time) => parseFloat(time) > 0) ||
          scrollBehavior === "smooth";
        return moves
          ? [`${element.localName}.${element.className}${pseudo}`]
          : [];
      }),
    ),
  );
  assert.deepEqual(moving, []);
  assert.deepEqual(
    await page.evaluate(() => document.getAnimations().length),
    0,
  );
});
