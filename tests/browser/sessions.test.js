/** The sessions: their state with its evidence, and the actions of a person. */

import assert from 'node:assert/strict';

import { openDashboard, startHub, test, until } from './support/index.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const PROJECT = '/home/me/src/hub';
const QUERY = `?project=${encodeURIComponent(PROJECT)}`;

const card = (/** @type {Page} */ page, /** @type {string} */ id) => page.locator(`hub-session[data-id="${id}"]`);
const own = (/** @type {Page} */ page, /** @type {string} */ id) => card(page, id).locator(':scope > .card');

/** @param {Hub} hub @param {string} id @param {object} [info] */
async function register(hub, id, info = {}) {
  await hub.call('PUT', `/sessions/${id}${QUERY}`, { name: id, agent: 'claude', ...info });
}

/** @param {Hub} hub @param {string} from @param {object} what */
const post = (hub, from, what) => hub.post({ project: PROJECT, from, ...what });

/** @param {Page} page @param {string} id */
async function open(page, id) {
  const button = own(page, id).getByRole('button', { expanded: false });
  await button.click();
  return own(page, id);
}

test('each session is a card under its project and parent, with state, evidence and last message', async () => {
  const hub = await startHub();
  await register(hub, '0b1c', { name: 'lead', role: 'primary' });
  await register(hub, 'w1', { parent: 'lead', agent: 'codex' });
  await post(hub, 'w1', { type: 'error', msg: 'Agent w1 failed:\n no space' });
  await hub.post({ from: 'cron', type: 'complete', msg: 'backed up' });
  const page = await openDashboard(hub);
  await card(page, '0b1c').locator('hub-session[data-id="w1"]').waitFor();
  assert.deepEqual(await page.locator('hub-sessions .group h3').allInnerTexts(), ['default', 'hub']);
  assert.equal(await page.locator('hub-sessions .group h3').last().getAttribute('title'), PROJECT);
  const text = (await own(page, 'w1').innerText()).replace(/\s+/g, ' ');
  assert.match(text, /^w1 codex no waiter error notify error, \d+ s ago failed: no space$/);
  assert.match((await own(page, '0b1c').innerText()).replace(/\s+/g, ' '), /^lead primary claude/);
});

test('a notification shows the names of the sender and of the target session', async () => {
  const hub = await startHub();
  await register(hub, '0b1c-77', { name: 'lead' });
  await register(hub, '5e2f-88', { name: 'builder' });
  await post(hub, '5e2f-88', { type: 'complete', msg: 'built', to: 'lead' });
  const page = await openDashboard(hub);
  const row = page.locator('hub-row').filter({ hasText: 'built' });
  assert.equal(await row.locator('.from').innerText(), 'builder');
  await row.getByRole('link').click();
  const details = page.locator('hub-details');
  await details.getByText('Stored for lead').waitFor();
  assert.doesNotMatch(await details.innerText(), /0b1c-77/);
});

test('the badge shows whether the session has a waiter, had one, or never had one', async () => {
  const hub = await startHub();
  await register(hub, 'w1');
  await post(hub, 'w1', { type: 'complete', msg: 'done' });
  const page = await openDashboard(hub);
  const badge = own(page, 'w1').locator('.wake');
  await badge.getByText('no waiter').waitFor();
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${hub.token}` };
  fetch(`${hub.url}/wait${QUERY}&inbox=w1&as=w1&timeout=60`, { headers, signal: stop.signal }).catch(() => {});
  await badge.getByText('waiter live').waitFor();
  stop.abort();
  await badge.getByText('waiter stale').waitFor();
});

test('a message wakes the waiter of its session, and the page says so', async () => {
  const hub = await startHub();
  await register(hub, 'w1');
  const page = await openDashboard(hub);
  const waiting = hub.get(`/wait${QUERY}&inbox=w1&as=w1&timeout=60`);
  await own(page, 'w1').getByText('waiter live').waitFor();
  const opened = await open(page, 'w1');
  const field = opened.getByRole('textbox', { name: 'Message to w1' });
  await field.fill('Please stop\nafter this one.');
  await field.press('Control+Enter');
  const [{ from, type, msg }] = (await waiting).notifications;
  assert.deepEqual({ from, type, msg }, { from: 'person', type: 'message', msg: 'Please stop\nafter this one.' });
  await opened.getByText('Sent; it woke one waiter.').waitFor();
  assert.equal(await field.inputValue(), '');
});

test('the page says that a message woke no waiter and is pending', async () => {
  const hub = await startHub();
  await register(hub, 'w1');
  const page = await openDashboard(hub);
  const opened = await open(page, 'w1');
  await opened.getByRole('textbox').fill('hello');
  await opened.getByRole('button', { name: 'Send' }).click();
  await opened.getByText('Sent; no waiter was woken.').waitFor();
  await opened.getByText('1 pending').waitFor();
});

test('listeners are shown with their deadline, and can be cancelled', async () => {
  const hub = await startHub();
  await register(hub, 'w1');
  await post(hub, 'w1', { type: 'progress', msg: 'at it' });
  await hub.call('PUT', `/sessions/w1/listeners/lead${QUERY}&within=600`, undefined);
  await hub.call('PUT', `/sessions/w1/listeners/ci${QUERY}`, undefined);
  const page = await openDashboard(hub);
  const opened = await open(page, 'w1');
  await opened.getByText('2 listeners').waitFor();
  assert.match((await opened.locator('.listeners').innerText()).replace(/\s+/g, ' '), /lead is notified of its next stop, or at the deadline: (9|10) min left/);
  await opened.getByRole('button', { name: 'Cancel the listener of lead' }).click();
  await opened.getByText('1 listener', { exact: true }).waitFor();
  const { listeners } = await hub.get(`/sessions/w1${QUERY}`);
  assert.deepEqual(listeners.map((/** @type {any} */ it) => it.caller), ['ci']);
});

test('a mute is stored by the hub, silences all but questions, and can be removed', async () => {
  const hub = await startHub();
  await register(hub, 'w1');
  await post(hub, 'w1', { type: 'error', msg: 'no space' });
  const page = await openDashboard(hub);
  await page.locator('hub-trouble').waitFor();
  const opened = await open(page, 'w1');
  await opened.getByRole('button', { name: 'for 1 h' }).click();
  await page.getByText('Nobody needs you.').waitFor();
  await opened.getByText('Muted: 59 min left').waitFor();
  const [mute] = (await hub.get('/preferences')).mutes;
  assert.deepEqual({ project: mute.project, session: mute.session }, { project: PROJECT, session: 'w1' });
  const left = Date.parse(mute.until) - Date.now();
  assert.ok(left > 3_540_000 && left <= 3_600_000, `${left} ms`);
  await post(hub, 'w1', { type: 'question', msg: 'Shall I delete something?' });
  await page.locator('hub-question').waitFor();
  await opened.getByRole('button', { name: 'Unmute' }).click();
  await opened.getByRole('button', { name: 'forever' }).waitFor();
  assert.deepEqual((await hub.get('/preferences')).mutes, []);
});

test('progress is a bar with a text, and disappears when the session is done', async () => {
  const hub = await startHub();
  await post(hub, 'w1', { type: 'progress', msg: 'copying', data: { completed: 3, total: 8 } });
  const page = await openDashboard(hub);
  const bar = own(page, 'w1').getByRole('progressbar', { name: 'Progress of w1' });
  await own(page, 'w1').getByText('3 of 8').waitFor();
  assert.equal(await bar.evaluate((it) => /** @type {HTMLProgressElement} */ (it).position), 3 / 8);
  await post(hub, 'w1', { type: 'progress', msg: 'copying', data: { completed: 6, total: 8 } });
  await own(page, 'w1').getByText('6 of 8').waitFor();
  assert.equal(await bar.evaluate((it) => /** @type {HTMLProgressElement} */ (it).position), 6 / 8);
  await post(hub, 'w1', { type: 'complete', msg: 'copied' });
  await bar.waitFor({ state: 'hidden' });
});

test('ended sessions are folded away, and shown on demand', async () => {
  const hub = await startHub();
  for (const id of ['w1', 'w2', 'w3']) await register(hub, id);
  await hub.call('DELETE', `/sessions/w1${QUERY}`, undefined);
  const page = await openDashboard(hub);
  await page.locator('summary', { hasText: '1 ended' }).waitFor();
  await hub.call('DELETE', `/sessions/w2${QUERY}`, undefined);
  await page.locator('summary', { hasText: '2 ended' }).click();
  await card(page, 'w2').waitFor({ state: 'detached' });
  assert.deepEqual(await page.locator('hub-sessions .ended-list .name').allInnerTexts(), ['w2', 'w1']);
});

test('of sixty sessions only the changed one is redrawn, and typed text stays', async () => {
  const hub = await startHub();
  for (let n = 0; n < 60; n++) await register(hub, `w${n}`, n % 6 ? { parent: `w${n - (n % 6)}` } : {});
  const page = await openDashboard(hub);
  await until(async () => (await page.locator('hub-session').count()) === 60, { what: 'sixty cards' });
  const opened = await open(page, 'w31');
  await opened.getByRole('textbox').fill('a draft');
  await page.evaluate(() => {
    const seen = /** @type {Set<string>} */ (new Set());
    Object.assign(window, { seen });
    new MutationObserver((records) => {
      for (const { target } of records) {
        const element = target instanceof Element ? target : target.parentElement;
        // Times change by themselves.
        if (element && !element.closest('time')) seen.add(element.closest('hub-session')?.getAttribute('data-id') ?? element.localName);
      }
    }).observe(/** @type {Node} */ (document.querySelector('hub-sessions')), { childList: true, subtree: true, characterData: true, attributes: true });
  });
  await hub.call('DELETE', `/sessions/w12${QUERY}`, undefined);
  await post(hub, 'w40', { type: 'progress', msg: 'one more step' });
  await own(page, 'w40').getByText('one more step').waitFor();
  await card(page, 'w12').waitFor({ state: 'detached' });
  assert.equal(await opened.getByRole('textbox').inputValue(), 'a draft');
  assert.equal(await opened.getByRole('textbox').evaluate((it) => it === document.activeElement), true);
  const seen = await page.evaluate(() => [.../** @type {any} */ (window).seen]);
  assert.equal(seen.includes('w40'), true);
  assert.equal(seen.includes('w31'), false);
  assert.equal(seen.includes('w5'), false);
});
