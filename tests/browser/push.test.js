/** Web Push to a phone whose page is closed: from the hub, through a push service, to Chromium's service worker. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import {
  allow,
  newContext,
  openDashboard,
  test,
  until,
} from "./support/index.js";
import { LONG, permission } from "./support/needs.js";
import { paired, PHONE, proxied } from "./support/phone.js";
import { PushService } from "./support/push-service.js";
import { clickOn, notification, record } from "./support/recorded.js";

/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('./support/hub.js').Hub} Hub */

/** A phone that wants to be notified, behind a proxy. @param {object} [pairing] */
async function phone(pairing) {
  const { hub, at } = await proxied();
  const service = await PushService.start();
  const context = await newContext(PHONE);
  await record(context);
  await service.serve(context);
  const page = await paired(hub, pairing, context);
  return { hub, service, context, page, at };
}

/** The person wants to be notified of what asks. @param {Hub} hub */
function wantsNeeds(hub) {
  const nothing = { quiet: null, mutes: [], sound: [] };
  return hub.call("PUT", "/preferences", { ...nothing, notify: ["needs_you"] });
}

/** Takes the focus from a page, which Playwright gives to every page. @param {import('playwright-core').Page} page */
async function leave(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setFocusEmulationEnabled", { enabled: false });
  await (await page.context().newPage()).bringToFront();
  await until(
    () =>
      page
        .context()
        .serviceWorkers()[0]
        ?.evaluate(async () => {
          const { clients } = /** @type {any} */ (self);
          const all = await clients.matchAll({ includeUncontrolled: true });
          return all.every((/** @type {any} */ it) => !it.focused);
        }),
    { what: "the page has no focus" },
  );
}

/** The switch of Web Push in the settings. @param {import('playwright-core').Page} page */
async function settingsSwitch(page) {
  await page.getByRole("button", { name: "Settings" }).tap();
  return page.getByRole("switch", { name: /while the page is closed/ });
}

/** @param {import('playwright-core').Locator} box @param {boolean} on */
async function turn(box, on) {
  await box.tap();
  await until(async () => (await box.isChecked()) === on, { what: "turned" });
  await until(() => box.isEnabled(), { what: "the hub has stored it" });
}

/** Turns Web Push on in the settings. @param {import('playwright-core').Page} page */
async function turnOn(page) {
  const box = await settingsSwitch(page);
  await turn(box, true);
  return box;
}

/**
 * Delivers a message to the service worker, as the browser does when its push service has one.
 *
 * @param {BrowserContext} context
 * @param {string} origin
 * @param {object} message
 */
async function deliver(context, origin, message) {
  // The page of another site: the dashboard is closed.
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  /** @type {string[]} */
  const ids = [];
  session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) =>
    ids.push(
      ...registrations
        .filter(({ scopeURL }) => scopeURL.startsWith(origin))
        .map(({ registrationId }) => registrationId),
    ),
  );
  await session.send("ServiceWorker.enable");
  const registrationId = await until(() => ids[0], { what: "a worker" });
  await session.send("ServiceWorker.deliverPushMessage", {
    origin,
    registrationId,
    data: JSON.stringify(message),
  });
  await page.close();
}

/** The notifications that the worker shows now. @param {BrowserContext} context */
async function shown(context) {
  const [worker] = context.serviceWorkers();
  if (!worker) return [];
  return worker.evaluate(async () => {
    const { registration } = /** @type {any} */ (self);
    const found = await navigator.locks.request("browser notifications", () =>
      registration.getNotifications(),
    );
    return found.map((/** @type {any} */ one) => ({
      title: one.title,
      body: one.body,
      tag: one.tag,
      silent: one.silent,
      actions: one.actions.map((/** @type {any} */ action) => action.title),
    }));
  });
}

/** Closes a page, until the worker no longer counts it. @param {import('playwright-core').Page} page */
async function close(page) {
  const context = page.context();
  await page.close();
  const isGone = async () =>
    context.serviceWorkers()[0]?.evaluate(async () => {
      const { clients } = /** @type {any} */ (self);
      return (
        (await clients.matchAll({ includeUncontrolled: true })).length === 0
      );
    });
  await until(isGone, { what: "the worker has no page" });
}

/**
 * The next message of this kind.
 *
 * @param {PushService} service
 * @param {"need"|"settled"} kind
 */
function next(service, kind) {
  const take = () => {
    const message = service.pushed.shift();
    return message && kind in message.body ? message : undefined;
  };
  return until(take, { what: `a message: ${kind}` });
}

test("a need reaches a phone whose page is closed, opens there, and is gone once it is settled elsewhere", async () => {
  const { hub, service, context, page, at } = await phone();
  await wantsNeeds(hub);
  await turnOn(page);
  await close(page);
  const id = await permission(hub, "Bash", { command: "npm test" });
  const { headers, body } = await next(service, "need");
  assert.equal(headers.topic, String(id));
  assert.equal(headers.urgency, "high");
  assert.ok(Number(headers.ttl) > 0);
  const [need] = (await hub.get("/needs")).needs;
  assert.equal(body.need.brief, need.brief);
  assert.deepEqual(body.need.quick, need.quick);
  assert.deepEqual(
    need.quick.map((/** @type {any} */ it) => it.label),
    ["Approve", "Deny"],
  );
  await deliver(context, at, body);
  await until(async () => (await shown(context)).length > 0, { what: "shown" });
  const [one] = await shown(context);
  assert.equal(one?.tag, String(id));
  assert.equal(one?.silent, false, "no page plays a sound");
  assert.match(one?.title ?? "", /^login wants to run a command/);
  assert.match(one?.body ?? "", /npm test/);
  // No page could send an answer.
  assert.deepEqual(one?.actions, ["Open"]);
  // The click closes it.
  const opened = await clickOn(await notification(context, String(id)));
  assert.deepEqual(opened, [`/?id=${id}`]);
  const again = await context.newPage();
  await again.goto(at + opened[0]);
  await again.locator(`hub-stage [data-key="${id}"]`).waitFor();
  await close(again);
  await deliver(context, at, body);
  await until(async () => (await shown(context)).length > 0, { what: "shown" });
  await hub.call(
    "POST",
    `/needs/${id}/answer`,
    { verdict: "deny" },
    {},
    hub.socket,
  );
  const settled = await next(service, "settled");
  assert.deepEqual(settled.body, { settled: String(id) });
  assert.equal(settled.headers.topic, String(id));
  await deliver(context, at, settled.body);
  await until(async () => (await shown(context)).length === 0, {
    what: "closed",
  });
});

test("the first switch on a phone turns Web Push on; it offers answers while a page can send them, and none for a part", async () => {
  const { hub, service, context, page, at } = await phone();
  await page
    .getByRole("switch", { name: "Notify me when an agent needs me" })
    .tap();
  await page.getByText("This browser notifies you now").waitFor();
  await leave(page);
  const id = await permission(hub, "Bash", { command: "npm test" });
  await deliver(context, at, (await next(service, "need")).body);
  const actions = async (/** @type {number} */ tag) =>
    (await shown(context)).find((it) => it.tag === String(tag))?.actions;
  await until(async () => (await actions(id)) !== undefined, { what: "shown" });
  assert.deepEqual(await actions(id), ["Approve", "Deny"]);
  const long = await /** @type {typeof LONG[string]} */ (LONG.command).ask(hub);
  const { body } = await next(service, "need");
  assert.equal(body.need.quick, undefined);
  await deliver(context, at, body);
  await until(async () => (await actions(long)) !== undefined, {
    what: "shown",
  });
  assert.deepEqual(await actions(long), ["Open"]);
});

test("a phone that only reads is told that nothing notifies it yet, gets no answers, and Web Push can be turned off", async () => {
  const { hub, service, page } = await phone({ access: "reads" });
  await page.getByRole("switch", { name: /^Notify me/ }).tap();
  await page.getByText("Nothing notifies you yet").waitFor();
  await wantsNeeds(hub);
  await permission(hub, "Bash", { command: "npm test" });
  const { body } = await next(service, "need");
  assert.equal(body.need.quick, undefined);
  const box = await settingsSwitch(page);
  await until(() => box.isChecked(), { what: "it is on" });
  await turn(box, false);
  const { devices } = await hub.get("/login/devices");
  assert.equal(devices.length, 1);
});

test("a device that subscribes anew does not wait for the pause that its earlier push service asked for", async () => {
  const { hub, service, page } = await phone();
  await wantsNeeds(hub);
  const box = await turnOn(page);
  service.pause = 3600;
  const id = await permission(hub, "Bash", { command: "npm test" });
  await until(() => service.refused > 0, { what: "an attempt" });
  service.pause = 0;
  await turn(box, false);
  await turn(box, true);
  assert.equal((await next(service, "need")).headers.topic, String(id));
});

test("a hub whose key was damaged makes another, and the page of a device subscribes anew", async () => {
  const { hub, service, context, page, at } = await phone();
  await wantsNeeds(hub);
  await turnOn(page);
  const { applicationKey } = service;
  await page.close();
  await hub.stop();
  writeFileSync(join(hub.stateDir, "vapid.key"), "damaged");
  await hub.launch();
  assert.match(hub.log, /holds no key.*vapid\.key/);
  const again = await openDashboard(hub, { context, at, signIn: false });
  await until(() => service.applicationKey !== applicationKey, {
    what: "the new key",
  });
  let asked = 0;
  again.on("request", (request) => {
    const isOfPush = new URL(request.url()).pathname === "/login/push";
    if (isOfPush && request.method() === "GET") asked += 1;
  });
  const box = await settingsSwitch(again);
  await until(() => box.isChecked(), { what: "it is on" });
  assert.equal(asked, 1);
  const id = await permission(hub, "Bash", { command: "npm test" });
  assert.equal((await next(service, "need")).headers.topic, String(id));
});

test("a phone whose session ends is told how to pair it again", async () => {
  const { hub, context, page } = await phone();
  await wantsNeeds(hub);
  allow(page, /status of 4\d\d/);
  await hub.call("DELETE", "/login/devices/all");
  const words = async () => (await shown(context)).map(({ body }) => body);
  await until(async () => /run hubctl phone\./.test((await words()).join()), {
    what: "the command",
  });
});

test("a page gives no answer whose words another program has pushed", async () => {
  const { hub, service, context, page, at } = await phone();
  await wantsNeeds(hub);
  await turnOn(page);
  await page.keyboard.press("Escape");
  await leave(page);
  const id = await permission(hub, "Bash", { command: "git push --force" });
  const { body } = await next(service, "need");
  const forged = { ...body.need, brief: "Shall I go on?", title: "asks" };
  await deliver(context, at, { need: forged });
  const shows = async (/** @type {string} */ words) =>
    (await shown(context)).some((it) => it.body === words);
  await until(() => shows(forged.brief), { what: "the forged one is shown" });
  await clickOn(await notification(context, String(id)), "Approve");
  await page.locator(`hub-stage [data-key="${id}"]`).waitFor();
  assert.equal((await hub.get(`/questions/${id}`)).state, "open");
  // The hub's own answer.
  await deliver(context, at, body);
  await until(() => shows(body.need.brief), { what: "the hub's is shown" });
  await clickOn(await notification(context, String(id)), "Approve");
  const state = async () => (await hub.get(`/questions/${id}`)).state;
  await until(async () => (await state()) === "answered", { what: "answered" });
});
