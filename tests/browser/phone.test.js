/** A phone: paired through a real proxy with TLS that runs as another user, and limited to what it was paired for. */

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import {
  allow,
  axe,
  follow,
  live,
  newContext,
  openDashboard,
  stage,
  TARGET,
  test,
  until,
} from "./support/index.js";
import { LONG, permission } from "./support/needs.js";
import { link, paired, PHONE, proxied } from "./support/phone.js";
import { IS_ROOT } from "./support/tools.js";

/** @typedef {import('playwright-core').Page} Page */

/** A picture in target/screens, for people to review. @param {Page} page @param {string} name */
async function picture(page, name) {
  const screens = join(TARGET, "screens");
  mkdirSync(screens, { recursive: true });
  await page.screenshot({ path: join(screens, `phone-${name}.png`) });
}

/** The words of the sign-in page. @param {Page} page */
async function signInPage(page) {
  await page.locator("hub-sign-in").waitFor();
  return page.locator("hub-sign-in").innerText();
}

test("behind the proxy, a code for a browser signs in nobody, and the page says how to pair", async () => {
  const { hub, at } = await proxied();
  const context = await newContext(PHONE);
  const page = await openDashboard(hub, {
    context,
    at,
    signIn: false,
    live: false,
  });
  assert.match(await signInPage(page), /hubctl phone --host phone\.test:\d+/);
  await picture(page, "sign-in");
  if (!IS_ROOT) return;
  allow(page, /status of 403/);
  await page.goto(`${at}/?again#code=${(await hub.code()).code}`);
  assert.match(await signInPage(page), /another user's program.*hubctl phone/s);
  assert.deepEqual((await hub.get("/login/devices")).devices, []);
});

test("a paired phone stays signed in, and is revoked as any other device", async () => {
  const { hub, at } = await proxied();
  const page = await paired(hub, { name: "Anna's phone" });
  await page.close();
  await hub.restart();
  const again = await openDashboard(hub, {
    context: page.context(),
    at,
    signIn: false,
  });
  const [{ id, name, access }] = (await hub.get("/login/devices")).devices;
  assert.deepEqual([name, access], ["Anna's phone", "answers"]);
  allow(again, /status of 401/, /status of 422/);
  await hub.call("DELETE", `/login/devices/${id}`);
  assert.match(await signInPage(again), /has ended/);
});

test("a link pairs one phone", async () => {
  const { hub } = await proxied();
  const { url } = await link(hub);
  const [first, second] = [
    await (await newContext(PHONE)).newPage(),
    await (await newContext(PHONE)).newPage(),
  ];
  await first.goto(url);
  await live(first);
  allow(second, /status of 401/);
  await second.goto(url);
  assert.match(await signInPage(second), /used already/);
});

test("a phone approves a command only once its last line was on the screen", async () => {
  const { hub } = await proxied();
  const page = await paired(hub);
  const id = await /** @type {typeof LONG[string]} */ (LONG.command).ask(hub);
  const card = await stage(page, id);
  const approve = card.getByRole("button", { name: "Approve, login" });
  await approve.waitFor();
  const command = card.locator(".what");
  assert.match(await command.innerText(), /part-1 &&[^]*part-40 &&\s*true/);
  // The stage does not scroll by itself, so the end of the command is reached with the card.
  const hidden = await card.evaluate((top) =>
    [...top.querySelectorAll(".what, .what *")]
      .filter((part) => part.scrollHeight > part.clientHeight + 1)
      .filter((part) => !/visible|^$/.test(getComputedStyle(part).overflowY))
      .map((part) => part.className),
  );
  assert.deepEqual(hidden, []);
  await axe(page);
  await picture(page, "answers");
  await approve.tap();
  await page.getByText("Scroll to its end first").waitFor();
  assert.equal((await hub.get(`/questions/${id}`)).state, "open");
  await page
    .locator("hub-stage .scroll")
    .evaluate((scroll) => scroll.scrollTo(0, scroll.scrollHeight));
  await approve.tap();
  // The answer is sent when it can no longer be undone.
  await until(
    async () => (await hub.get(`/questions/${id}`)).state === "answered",
    { what: "answered" },
  );
  const { answer } = await hub.get(`/questions/${id}`);
  assert.equal(answer, "allow");
});

test("a phone that only reads shows no button that acts, and says why", async () => {
  const { hub } = await proxied();
  const page = await paired(hub, { access: "reads" });
  const id = await permission(hub, "Bash", { command: "make" });
  const { id: asked } = await hub.post({
    from: "api",
    type: "question",
    msg: "Which db?",
    options: ["postgres", "sqlite"],
  });
  for (const one of [id, asked]) {
    const card = await stage(page, one);
    await card.getByText("This device only reads").waitFor();
    const names = await card.getByRole("button").allInnerTexts();
    for (const name of names)
      assert.doesNotMatch(
        name,
        /approve|deny|answer|withdraw|mark|pane|sqlite/i,
      );
    await page.keyboard.press("a");
  }
  await axe(page);
  await picture(page, "reads");
  await follow(page, "?view=feed");
  assert.equal(await page.getByText("Mark all read").isVisible(), false);
  const { questions } = await hub.get("/questions");
  const states = questions.map((/** @type {any} */ it) => it.state);
  assert.deepEqual(states, ["open", "open"]);
});
