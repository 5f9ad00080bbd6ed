/** The charts show the hub's statistics: with the right numbers, also as text, and live. */

import assert from 'node:assert/strict';

import { allow, HUB_DOWN, newContext, openDashboard, startHub, test, until } from './support/index.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} title */
function picture(page, title) {
  return page.locator('hub-stats figure').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
}

test('each notification appears in the bars by its type soon after it is published', async () => {
  const hub = await startHub();
  await hub.post([{ from: 'a', type: 'error', msg: '1' }, { from: 'a', type: 'progress', msg: '2' }, { from: 'a', type: 'progress', msg: '3' }]);
  const page = await openDashboard(hub);
  const rate = picture(page, 'Notifications a minute');
  const totals = async () => (await rate.locator('.totals li').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim()).join();
  await until(async () => (await totals()) === 'error 1,progress 2', { what: 'three counted' });
  await hub.post({ from: 'a', type: 'question', msg: 'Which db?' });
  await until(async () => (await totals()) === 'question 1,error 1,progress 2', { what: 'four counted' });
  const heights = await rate.locator('.bar').evaluateAll((bars) => bars.map((bar) => [bar.getAttribute('data-kind'), bar.getBoundingClientRect().height]));
  const all = (/** @type {string} */ kind) => heights.filter(([name]) => name === kind).reduce((sum, [, height]) => sum + Number(height) + 1, 0);
  assert.ok(Math.abs(all('progress') - 2 * all('error')) < 2, JSON.stringify(heights));
});

test('a sentence and a table describe the bars', async () => {
  const hub = await startHub();
  const { ids } = await hub.post([{ from: 'a', type: 'error', msg: '1' }, { from: 'a', type: 'complete', msg: '2' }]);
  assert.equal(ids.length, 2);
  const page = await openDashboard(hub);
  const rate = picture(page, 'Notifications a minute');
  await rate.getByRole('img', { name: /^2 notifications in \d+ minutes: 1 error, 1 complete\. The busiest minute was \d\d:\d\d, with \d\.$/ }).waitFor();
  const cells = await rate.getByRole('table', { name: 'Notifications a minute' }).locator('tbody tr').allInnerTexts();
  assert.ok(cells.length === 1 || cells.length === 2, 'a row for each minute in which something was said');
  assert.match(cells.join(), /1 error/);
});

test('the minute under the pointer is described', async () => {
  const hub = await startHub();
  await hub.post([{ from: 'a', type: 'error', msg: '1' }, { from: 'a', type: 'progress', msg: '2' }]);
  const page = await openDashboard(hub);
  const rate = picture(page, 'Notifications a minute');
  await rate.locator('.bar').first().hover();
  await until(async () => /^\d\d:\d\d · .*1 error/.test(await rate.locator('.readout').innerText()), { what: 'the minute' });
  await page.mouse.move(5, 5);
  await until(async () => /in the last hour/.test(await rate.locator('.readout').innerText()), { what: 'the hour' });
});

test('the longest wait ticks, links to its question, and ends with the answer', async () => {
  const hub = await startHub();
  const ts = new Date(Date.now() - 125_000).toISOString();
  const { id } = await hub.post({ from: 'api', type: 'question', msg: 'Which db?', ts });
  const later = await hub.post({ from: 'docs', type: 'question', msg: 'Which title?' });
  const page = await openDashboard(hub);
  const wait = picture(page, 'Longest wait');
  const big = wait.getByRole('timer');
  await until(async () => /^2 min/.test(await big.innerText()), { what: 'two minutes' });
  // From here on the hub sends no statistics: the page ticks by itself.
  await page.route('**/stats?*', () => {});
  const first = await big.innerText();
  await until(async () => (await big.innerText()) !== first, { what: 'a tick' });
  await wait.getByRole('link', { name: 'Which db?' }).click();
  assert.equal(new URL(page.url()).searchParams.get('id'), String(id));
  await page.locator('hub-details').getByText('Which db?').first().waitFor();
  await hub.call('POST', `/questions/${id}/answer`, { answer: 'sqlite' });
  await wait.getByRole('link', { name: 'Which title?' }).waitFor();
  await hub.call('POST', `/questions/${later.id}/answer`, { answer: 'Hub' });
  await wait.getByText('No open questions.').waitFor();
});

test('response times are shown by agent', async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const answers = picture(page, 'Time to answer');
  await answers.getByText('No answers yet.').waitFor();
  const { id } = await hub.post({ from: 'api', type: 'question', msg: 'Which db?' });
  await hub.call('POST', `/questions/${id}/answer`, { answer: 'sqlite' });
  const row = answers.getByRole('row').nth(1);
  await row.waitFor();
  const { answers: [told] } = await hub.get('/stats?minutes=60');
  assert.equal(told.count, 1);
  const [agent, , median, p90, count] = await row.locator('th, td').allInnerTexts();
  assert.equal(agent?.trim(), told.agent);
  assert.deepEqual([median, p90].map((text) => /^\d+(\.\d)? (ms|s)$/.test(text ?? '')), [true, true]);
  assert.equal(count, '1');
});

test('a wake is a dot with its latency as text', async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  const wakes = picture(page, 'Wake latency');
  await wakes.getByText('No wakes since the hub started.').waitFor();
  const woken = hub.get('/wait?inbox=primary&timeout=30');
  await until(async () => (await hub.get('/inboxes')).inboxes.some((/** @type {any} */ inbox) => inbox.waiter), { what: 'a waiter' });
  await hub.post({ from: 'api', msg: 'done' });
  const { lease } = await woken;
  await hub.call('POST', '/inboxes/primary/ack', { lease });
  await wakes.getByRole('img', { name: /^1 wake: half took up to \d+(\.\d)? m?s, nine in ten up to/ }).waitFor();
  assert.equal(await wakes.locator('circle').count(), 1);
});

test('a hub without notifications shows empty charts that say so', async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  await page.getByText('No open questions.').waitFor();
  await page.getByText('No notifications in the last hour.').waitFor();
  await page.getByText('No answers yet.').waitFor();
  await page.getByText('No wakes since the hub started.').waitFor();
});

test('a page whose charts are hidden requests no statistics', async () => {
  const hub = await startHub();
  const context = await newContext({ viewport: { width: 390, height: 844 } });
  await context.clock.install();
  const page = await openDashboard(hub, { context });
  let asked = 0;
  page.on('request', (request) => (asked += Number(request.url().includes('/stats'))));
  const { id } = await hub.post({ from: 'api', type: 'question', msg: 'Which db?' });
  await until(async () => (await page.title()) === '(1) hub', { what: 'it arrived' });
  assert.ok(id > 0);
  // Longer than any interval between two requests for statistics.
  await page.clock.fastForward(35_000);
  await page.evaluate(() => fetch('/healthz').then((response) => response.text()));
  assert.equal(asked, 0);
  await page.keyboard.press('4');
  await picture(page, 'Notifications a minute').getByText('question 1').waitFor();
  assert.ok(asked > 0);
});

test('statistics that cannot be refreshed stay, with their time and what to do', async () => {
  const hub = await startHub();
  await hub.post({ from: 'api', type: 'error', msg: 'red' });
  const page = await openDashboard(hub);
  const rate = picture(page, 'Notifications a minute');
  await rate.getByText('error 1').waitFor();
  allow(page, HUB_DOWN);
  await hub.kill();
  await page.locator('hub-stats').getByText(/As of \d\d:\d\d: the hub does not answer.*hubctl/).waitFor();
  assert.equal(await rate.getByText('error 1').count(), 1);
  await hub.launch();
  await until(async () => (await page.locator('hub-stats .status').innerText()) === '', { what: 'numbers again' });
});
