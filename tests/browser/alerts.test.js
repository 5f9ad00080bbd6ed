/** Browser notifications and sounds: only the requested types, once, until they are settled, and not in quiet hours. */

import assert from 'node:assert/strict';

import { allow, feedIds, HUB_DOWN, live, newContext, openAnew, openDashboard, startHub, test, until } from './support/index.js';
import { click, heard, record, shown, tags } from './support/recorded.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./support/hub.js').Hub} Hub */

const NOTHING = { quiet: null, mutes: [], notify: [], sound: [] };

/**
 * Starts a hub with these preferences, and its dashboard in a browser that records notifications and sounds.
 *
 * @param {object} preferences
 */
async function watched(preferences) {
  const hub = await startHub();
  await prefer(hub, preferences);
  const context = await newContext();
  await record(context);
  return { hub, context, page: await openDashboard(hub, { context }) };
}

/** @param {Hub} hub @param {object} preferences */
function prefer(hub, preferences) {
  return hub.call('PUT', '/preferences', { ...NOTHING, ...preferences });
}

/** Quiet hours that include now and the next hour, at any time of day. */
function hoursAroundNow() {
  const hour = new Date().getUTCHours();
  const clock = (/** @type {number} */ at) => `${String((at + 24) % 24).padStart(2, '0')}:00`;
  return { from: clock(hour - 1), to: clock(hour + 2), zone: 'UTC' };
}

/** @param {Page} page @param {...number} ids */
function inFeed(page, ...ids) {
  return until(async () => (await feedIds(page)).filter((id) => ids.includes(id)).length === ids.length, { what: `${ids} in the feed` });
}

/** Waits until exactly these are shown; a batch is shown by weight. @param {Page} page @param {...number} ids */
function shows(page, ...ids) {
  return until(async () => (await tags(page)).sort().join() === ids.sort().join(), { what: `shown: ${ids}` });
}

test('before the person asks, no notification is shown, not even an urgent one', async () => {
  const { hub, page } = await watched({});
  const { id } = await hub.post({ from: 'api', type: 'question', priority: 'urgent', msg: 'Which db?' });
  await inFeed(page, id);
  await page.getByRole('heading', { name: 'api' }).waitFor();
  assert.deepEqual(await shown(page), []);
  assert.deepEqual(await heard(page), []);
});

test('the requested types are shown, each with sender and text', async () => {
  const { hub, page } = await watched({ notify: ['error'] });
  await hub.post({ from: 'docs', type: 'complete', msg: 'done' });
  const { id } = await hub.post({ from: 'ci', type: 'error', msg: 'main is red', project: '/src/shop' });
  await shows(page, id);
  assert.deepEqual(await shown(page), [{ title: 'ci has an error, shop', body: 'main is red', tag: String(id), closed: false }]);
});

test('two tabs show it once', async () => {
  const { hub, context, page } = await watched({ notify: ['error'] });
  const second = await openDashboard(hub, { context });
  const { id } = await hub.post({ from: 'ci', type: 'error', msg: 'main is red' });
  await inFeed(page, id);
  await inFeed(second, id);
  await until(async () => (await tags(page)).length + (await tags(second)).length > 0, { what: 'shown' });
  assert.deepEqual([...(await tags(page)), ...(await tags(second))], [id]);
});

test('when the tab that reads is closed, another tab shows new notifications', async () => {
  const { hub, context, page } = await watched({ notify: ['error'] });
  const second = await openDashboard(hub, { context });
  const before = await hub.post({ from: 'ci', type: 'error', msg: 'main is red' });
  await inFeed(second, before.id);
  await page.close();
  await live(second);
  const { id } = await hub.post({ from: 'ci', type: 'error', msg: 'red again' });
  await shows(second, id);
});

test('a reload shows and plays nothing again', async () => {
  const { hub, page } = await watched({ notify: ['question'], sound: ['question'] });
  const first = await hub.post({ from: 'api', type: 'question', msg: 'Which db?' });
  await shows(page, first.id);
  await openAnew(hub, page);
  await inFeed(page, first.id);
  assert.deepEqual([await shown(page), await heard(page)], [[], []]);
  const second = await hub.post({ from: 'api', type: 'question', msg: 'Which port?' });
  await shows(page, second.id);
});

test('after an outage only the notifications published during it are shown', async () => {
  const { hub, page } = await watched({ notify: ['error'] });
  allow(page, HUB_DOWN);
  const first = await hub.post({ from: 'ci', type: 'error', msg: 'one' });
  await shows(page, first.id);
  await hub.kill();
  await until(() => page.locator('hub-connection[data-state=retrying]').count(), { what: 'the page notices' });
  await hub.launch();
  const second = await hub.post({ from: 'ci', type: 'error', msg: 'two' });
  await shows(page, first.id, second.id);
});

test('a browser notification is closed when its question is answered elsewhere', async () => {
  const { hub, page } = await watched({ notify: ['question'] });
  const { id } = await hub.post({ from: 'api', type: 'question', msg: 'Which db?' });
  await shows(page, id);
  await hub.call('POST', `/questions/${id}/answer`, { answer: 'sqlite' });
  await until(async () => (await shown(page))[0]?.closed, { what: 'closed' });
});

test('a browser notification is closed when its notification is marked as read', async () => {
  const { hub, page } = await watched({ notify: ['error', 'complete'] });
  const [one, two] = [await hub.post({ from: 'ci', type: 'error', msg: 'red' }), await hub.post({ from: 'ci', type: 'complete', msg: 'green' })];
  await shows(page, one.id, two.id);
  await hub.call('PUT', `/notifications/${one.id}/seen`);
  await until(async () => (await shown(page))[0]?.closed, { what: 'closed' });
  assert.equal((await shown(page))[1]?.closed, false);
});

test('all browser notifications are closed when all are marked as read', async () => {
  const { hub, page } = await watched({ notify: ['error', 'question'] });
  const [one, two] = [await hub.post({ from: 'ci', type: 'error', msg: 'red' }), await hub.post({ from: 'api', type: 'question', msg: 'Which db?' })];
  await shows(page, one.id, two.id);
  await hub.call('POST', '/seen', { up_to: two.id, seen: true });
  await until(async () => (await shown(page)).every(({ closed }) => closed), { what: 'closed' });
});

test('a browser notification is closed when its notification is superseded', async () => {
  const { hub, page } = await watched({ notify: ['error'] });
  const one = await hub.post({ from: 'ci', type: 'error', msg: '1 failed', key: 'main' });
  await shows(page, one.id);
  const two = await hub.post({ from: 'ci', type: 'error', msg: '2 failed', key: 'main' });
  await shows(page, one.id, two.id);
  await until(async () => (await shown(page))[0]?.closed, { what: 'closed' });
  assert.equal((await shown(page))[1]?.closed, false);
});

test('a browser notification is closed with its page, which could not close it later', async () => {
  const { hub, page } = await watched({ notify: ['error'] });
  const { id } = await hub.post({ from: 'ci', type: 'error', msg: 'red' });
  await shows(page, id);
  const closed = page.evaluate(() => {
    dispatchEvent(new PageTransitionEvent('pagehide'));
    // @ts-expect-error the recorder's
    return window.shown[0].closed;
  });
  assert.equal(await closed, true);
});

test('in quiet hours only urgent notifications are shown', async () => {
  const { hub, page } = await watched({ notify: ['error'], sound: ['error'], quiet: hoursAroundNow() });
  const usual = await hub.post({ from: 'ci', type: 'error', priority: 'high', msg: 'red' });
  await inFeed(page, usual.id);
  const urgent = await hub.post({ from: 'ci', type: 'error', priority: 'urgent', msg: 'on fire' });
  await shows(page, urgent.id);
  assert.equal((await heard(page)).length, 2, 'one falling sound');
});

test('changed quiet hours apply at once', async () => {
  const { hub, page } = await watched({ notify: ['error'], quiet: hoursAroundNow() });
  await inFeed(page, (await hub.post({ from: 'ci', type: 'error', msg: 'red' })).id);
  await prefer(hub, { notify: ['error'] });
  const { id } = await hub.post({ from: 'ci', type: 'error', msg: 'red again' });
  await shows(page, id);
});

test('only urgent notifications pass a mute', async () => {
  const { hub, page } = await watched({ notify: ['error'], mutes: [{ project: '/src/shop' }, { project: '/src/hub', session: 'noisy' }] });
  const muted = [await hub.post({ from: 'ci', type: 'error', msg: 'a', project: '/src/shop' }), await hub.post({ from: 'noisy', type: 'error', msg: 'b', project: '/src/hub' })];
  await inFeed(page, ...muted.map(({ id }) => id));
  const other = await hub.post({ from: 'calm', type: 'error', msg: 'c', project: '/src/hub' });
  const urgent = await hub.post({ from: 'noisy', type: 'error', msg: 'd', project: '/src/hub', priority: 'urgent' });
  await shows(page, other.id, urgent.id);
});

test('a burst shows a few browser notifications, a count and one sound', async () => {
  const { hub, page } = await watched({ notify: ['error'], sound: ['error'] });
  await hub.post(Array.from({ length: 40 }, (_, n) => ({ from: 'ci', type: 'error', msg: `failure ${n}` })));
  await until(async () => (await shown(page)).at(-1)?.tag === 'more', { what: 'the count' });
  await inFeed(page, ...(await Promise.all(['a', 'b', 'c'].map((from) => hub.post({ from, type: 'error', msg: 'red' })))).map(({ id }) => id));
  const all = await shown(page);
  assert.ok(all.length <= 12, `${all.length} shown`);
  assert.equal((await heard(page)).length, 2, 'one falling sound');
});

test('a click leads to the notification in the page', async () => {
  const { hub, page } = await watched({ notify: ['error'] });
  const { id } = await hub.post({ from: 'ci', type: 'error', msg: 'main is red, badly' });
  await shows(page, id);
  await click(page, 0);
  assert.equal(new URL(page.url()).searchParams.get('id'), String(id));
  await page.locator('hub-details').getByText('main is red, badly').first().waitFor();
  assert.equal((await shown(page))[0]?.closed, true);
});

test('title and icon count the items that need the person, and show when there are none', async () => {
  const { hub, page } = await watched({});
  const icon = () => page.locator('link[rel=icon]').getAttribute('href').then((href) => decodeURIComponent(href ?? ''));
  await until(async () => (await page.title()) === 'hub', { what: 'a title without a count' });
  assert.doesNotMatch(await icon(), /<text/);
  const { ids } = await hub.post([{ from: 'a', type: 'question', msg: 'One?' }, { from: 'b', type: 'question', msg: 'Two?' }]);
  await until(async () => (await page.title()) === '(2) hub', { what: 'a title with the count' });
  assert.match(await icon(), />2<\/text>/);
  for (const id of ids) await hub.call('POST', `/questions/${id}/answer`, { answer: 'yes' });
  await until(async () => (await page.title()) === 'hub', { what: 'a title without a count' });
  assert.doesNotMatch(await icon(), /<text/);
});

test('settings are stored by the hub, and apply in another browser', async () => {
  const { hub, page } = await watched({});
  await page.keyboard.press(',');
  const dialog = page.getByRole('dialog', { name: 'Settings' });
  await dialog.getByRole('checkbox', { name: 'Error: browser notification' }).check();
  await dialog.getByRole('checkbox', { name: 'Question: sound' }).check();
  await dialog.getByRole('checkbox', { name: /unless it is urgent/ }).check();
  await dialog.getByLabel('From').fill('21:30');
  await dialog.getByLabel('Time zone').fill('Asia/Tokyo');
  await dialog.getByLabel('Time zone').press('Tab');
  await until(async () => (await hub.get('/preferences')).quiet?.zone === 'Asia/Tokyo', { what: 'kept' });
  assert.deepEqual(await hub.get('/preferences'), { quiet: { from: '21:30', to: '07:00', zone: 'Asia/Tokyo' }, mutes: [], notify: ['error'], sound: ['question'] });
  await dialog.getByText('Saved', { exact: true }).waitFor();
  const other = await openDashboard(hub);
  await other.keyboard.press(',');
  assert.equal(await other.getByRole('checkbox', { name: 'Error: browser notification' }).isChecked(), true);
  assert.equal(await other.getByRole('checkbox', { name: 'Error: sound' }).isChecked(), false);
  assert.equal(await other.getByLabel('From').inputValue(), '21:30');
});

test('changes in quick succession are all stored', async () => {
  const { hub, page } = await watched({});
  await page.keyboard.press(',');
  await page.getByRole('checkbox', { name: 'Question: sound' }).waitFor();
  // Faster than the hub can respond.
  await page.evaluate(() => {
    for (const kind of ['question', 'approval', 'error', 'complete']) {
      /** @type {HTMLElement|null} */ (document.querySelector(`input[data-way=sound][data-kind=${kind}]`))?.click();
    }
  });
  await until(async () => (await hub.get('/preferences')).sound.sort().join() === 'approval,complete,error,question', { what: 'all four' });
});

test('an invalid time zone is not saved, and the page says why', async () => {
  const { hub, page } = await watched({});
  await page.keyboard.press(',');
  await page.getByRole('checkbox', { name: /unless it is urgent/ }).check();
  await until(async () => (await hub.get('/preferences')).quiet, { what: 'quiet hours' });
  const before = await hub.get('/preferences');
  await page.getByLabel('Time zone').fill('Europe/Atlantis');
  await page.getByLabel('Time zone').press('Enter');
  await page.getByRole('alert').filter({ hasText: 'unknown time zone “Europe/Atlantis”' }).waitFor();
  assert.deepEqual(await hub.get('/preferences'), before);
});

test('quiet hours with equal start and end are refused, and the page says how to have none', async () => {
  const { hub, page } = await watched({ quiet: hoursAroundNow() });
  const before = await hub.get('/preferences');
  await page.keyboard.press(',');
  await page.getByLabel('From').fill(before.quiet.to);
  await page.getByLabel('From').press('Tab');
  await page.getByRole('alert').filter({ hasText: 'From and To are the same' }).waitFor();
  assert.deepEqual(await hub.get('/preferences'), before);
  await page.getByRole('checkbox', { name: /unless it is urgent/ }).uncheck();
  await until(async () => (await hub.get('/preferences')).quiet === null, { what: 'none' });
});

test('a setting that the hub refused is not shown as set, and the page says what to do', async () => {
  const { hub, page } = await watched({});
  allow(page, HUB_DOWN);
  await page.keyboard.press(',');
  await hub.kill();
  const box = page.getByRole('checkbox', { name: 'Error: sound' });
  await box.click();
  await page.getByRole('alert').filter({ hasText: 'Not saved: the hub does not answer' }).filter({ hasText: 'hubctl up' }).waitFor();
  assert.equal(await box.isChecked(), false);
});

test('a mute is listed, and one click removes it', async () => {
  const { hub, page } = await watched({ mutes: [{ project: '/src/shop' }, { project: '/src/hub', session: 'noisy' }] });
  await page.keyboard.press(',');
  await page.getByRole('button', { name: 'Unmute noisy in /src/hub' }).click();
  await until(async () => (await hub.get('/preferences')).mutes.length === 1, { what: 'removed' });
  assert.deepEqual((await hub.get('/preferences')).mutes, [{ project: '/src/shop' }]);
  await page.getByRole('button', { name: 'Unmute noisy in /src/hub' }).waitFor({ state: 'detached' });
  await until(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label') === 'Unmute all of /src/shop'), { what: 'the focus goes on' });
});

test('only a click asks the browser for permission', async () => {
  const hub = await startHub();
  await prefer(hub, { notify: ['error'] });
  const context = await newContext();
  await context.addInitScript(() => {
    let permission = 'default';
    Object.assign(window, { asked: 0 });
    Object.defineProperty(Notification, 'permission', { get: () => permission });
    Notification.requestPermission = async () => {
      // @ts-expect-error counted here
      window.asked += 1;
      permission = 'granted';
      return /** @type {'granted'} */ (permission);
    };
  });
  const page = await openDashboard(hub, { context });
  // @ts-expect-error counted above
  const asked = () => page.evaluate(() => window.asked);
  await inFeed(page, (await hub.post({ from: 'ci', type: 'error', msg: 'red' })).id);
  await page.keyboard.press(',');
  await page.getByText('This browser has not allowed notifications yet.').waitFor();
  assert.equal(await asked(), 0);
  await page.getByRole('button', { name: 'Allow notifications' }).click();
  await page.getByText('This browser has not allowed notifications yet.').waitFor({ state: 'detached' });
  assert.equal(await asked(), 1);
});

test('when the browser refuses notifications, the settings say what to do', async () => {
  const hub = await startHub();
  const context = await newContext();
  await context.addInitScript(() => Object.defineProperty(Notification, 'permission', { value: 'denied' }));
  const page = await openDashboard(hub, { context });
  await page.keyboard.press(',');
  await page.getByText(/icon left of the address, allow notifications/).waitFor();
});

test('the sound can be tried', async () => {
  const { page } = await watched({});
  await page.keyboard.press(',');
  await page.getByRole('button', { name: 'Test the sound' }).click();
  await until(async () => (await heard(page)).length === 2, { what: 'two rising tones' });
  const [low = 0, high = 0] = await heard(page);
  assert.ok(high > low);
});
