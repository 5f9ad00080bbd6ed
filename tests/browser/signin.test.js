/** Getting in: a code that works once, a session that stays in the browser's tabs, and a page that says what to do. */

import assert from 'node:assert/strict';
import net from 'node:net';

import { allow, atEnd, axe, live, newContext, openDashboard, startHub, test, until } from './support/index.js';

/** What Chromium says of a request that the hub refuses. */
const REFUSED = /status of 401/;
const KEY = 'hub.session';
const HALF_A_DAY = 12 * 60 * 60 * 1000;

/** @typedef {import('playwright-core').Page} Page */

test('without a session the page says what to do, and shows nothing else', async () => {
  const hub = await startHub();
  await hub.post('nobody sees this yet', { from: 'worker' });
  const page = await openDashboard(hub, { signIn: false, live: false });
  const text = await signInPage(page);
  assert.match(text, /hubctl dashboard/);
  assert.match(text, /hubctl dashboard --print/);
  assert.doesNotMatch(text, /nobody sees this/);
  assert.equal(await page.evaluate((key) => sessionStorage.getItem(key), KEY), null);
  await axe(page);
});

test('a code opens the dashboard, and is gone from the address and the history', async () => {
  const hub = await startHub();
  const { code } = await hub.code();
  const page = await (await newContext()).newPage();
  await page.goto(`${hub.url}/?type=error#code=${code}`);
  await live(page);
  assert.equal(await page.locator('hub-sign-in').count(), 0);
  assert.equal(await page.evaluate(() => location.hash), '');
  assert.equal(await page.evaluate(() => location.search), '?type=error');
  await page.reload();
  await live(page);
  assert.ok(!page.url().includes(code));
});

test('a code works once', async () => {
  const hub = await startHub();
  const { code } = await hub.code();
  const [first, second] = [await (await newContext()).newPage(), await (await newContext()).newPage()];
  await first.goto(`${hub.url}/#code=${code}`);
  await live(first);
  allow(second, REFUSED);
  await second.goto(`${hub.url}/#code=${code}`);
  const text = await signInPage(second);
  assert.match(text, /used already|works once/i);
  assert.match(text, /hubctl dashboard/);
});

test('a code that never was is refused, and the page says what to do', async () => {
  const hub = await startHub();
  const page = await (await newContext()).newPage();
  allow(page, REFUSED, /status of 4\d\d/);
  for (const [n, code] of ['0'.repeat(32), '', '%', '%00', '<script>window.__xss=1</script>', 'x'.repeat(10_000)].entries()) {
    // Another address each, so that the page is opened anew.
    await page.goto(`${hub.url}/?n=${n}#code=${code}`);
    assert.match(await signInPage(page), /hubctl dashboard/, JSON.stringify(code.slice(0, 40)));
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).__xss), undefined);
  }
});

test('a bad code does not end a session that the tab has', async () => {
  const hub = await startHub();
  const page = await openDashboard(hub);
  allow(page, REFUSED);
  await page.evaluate(() => location.assign('#code=0123456789abcdef'));
  await until(() => page.evaluate(() => location.hash === ''), { what: 'the code is taken out of the address' });
  const { id } = await hub.post('still here');
  await page.locator(`hub-feed hub-row[data-id="${id}"]`).waitFor();
});

test('a second tab gets the session from the first, without asking the hub for one', async () => {
  const hub = await startHub();
  const first = await openDashboard(hub);
  /** @type {string[]} */
  const asked = [];
  first.context().on('request', (request) => asked.push(new URL(request.url()).pathname));
  const second = await openDashboard(hub, { context: first.context(), signIn: false });
  assert.ok(!asked.includes('/login'));
  assert.equal(await second.evaluate((key) => sessionStorage.getItem(key), KEY), await first.evaluate((key) => sessionStorage.getItem(key), KEY));
});

test('a sign-in page that is open already gets in when another tab does', async () => {
  const hub = await startHub();
  const waiting = await openDashboard(hub, { signIn: false, live: false });
  await signInPage(waiting);
  await openDashboard(hub, { context: waiting.context() });
  await live(waiting);
});

test('another browser gets nothing from this one', async () => {
  const hub = await startHub();
  await openDashboard(hub);
  await signInPage(await openDashboard(hub, { signIn: false, live: false }));
});

for (const [name, session] of /** @type {const} */ ([
  ['that is over', (/** @type {string} */ token) => ({ token, expires_at: new Date(Date.now() - 1000).toISOString() })],
  ['that is forged', (/** @type {string} */ token) => ({ token: token.replace(/.$/, (last) => (last === '0' ? '1' : '0')), expires_at: tomorrow() })],
  ['with a later end than the hub gave', (/** @type {string} */ token) => ({ token: token.replace(/^\d+/, (end) => `${Number(end) + 86_400}`), expires_at: tomorrow() })],
  ['that is no session', () => ({ token: '', expires_at: tomorrow() })],
  ['that no program wrote', () => 'null null'],
])) {
  test(`a session ${name} leads to the sign-in page, and shows nothing`, async () => {
    const hub = await startHub();
    await hub.post('a secret of the hub', { from: 'worker' });
    const { code } = await hub.code();
    const { token } = (await hub.ask('POST', '/login', { code })).json;
    const context = await newContext();
    allow(context, REFUSED);
    const value = session(token);
    // Before it is the hub's, the page is nobody's, and has no storage.
    await context.addInitScript(([key, text]) => location.protocol === 'http:' && sessionStorage.setItem(key, text), /** @type {[string, string]} */ ([KEY, typeof value === 'string' ? value : JSON.stringify(value)]));
    const page = await openDashboard(hub, { context, signIn: false, live: false });
    assert.match(await signInPage(page), /hubctl dashboard/);
    assert.doesNotMatch(await page.content(), /a secret of the hub/);
    assert.equal(await page.locator('hub-app').count(), 0);
  });
}

test('a session ends after 12 hours while the page is open', async () => {
  const hub = await startHub();
  const context = await newContext();
  await context.clock.install();
  const page = await openDashboard(hub, { context });
  allow(page, REFUSED);
  await hub.post('was on the page', { from: 'worker' });
  await page.clock.fastForward(HALF_A_DAY + 60_000);
  assert.match(await signInPage(page), /over/);
  assert.doesNotMatch(await page.content(), /was on the page/);
  assert.equal(await page.evaluate((key) => sessionStorage.getItem(key), KEY), null);
});

test('a hub with another token leads to the sign-in page in every tab', async () => {
  const hub = await startHub();
  const first = await openDashboard(hub);
  const second = await openDashboard(hub, { context: first.context(), signIn: false });
  allow(first, REFUSED, /ERR_|Failed to load/);
  await hub.kill();
  await hub.restart({ fresh: 'all' });
  await signInPage(first);
  await signInPage(second);
});

test('the token is in sessionStorage and nowhere else', async () => {
  const hub = await startHub();
  const context = await newContext();
  /** @type {string[]} */
  const seen = [];
  context.on('console', (message) => seen.push(`console: ${message.text()}`));
  context.on('request', (request) => seen.push(`url: ${request.url()}`, `referrer: ${request.headers().referer ?? ''}`, `body: ${request.postData() ?? ''}`));
  const page = await openDashboard(hub, { context });
  const second = await openDashboard(hub, { context, signIn: false });
  await hub.post('said', { from: 'worker' });
  const { token } = JSON.parse(await page.evaluate((key) => sessionStorage.getItem(key) ?? '', KEY));
  assert.match(token, /^\d+\.[0-9a-f]{64}$/);
  for (const tab of [page, second]) {
    seen.push(tab.url(), await tab.content(), await tab.evaluate(everythingElse));
  }
  seen.push(JSON.stringify(await context.cookies()));
  for (const secret of [token, token.split('.')[1], hub.token]) {
    const where = seen.filter((text) => text.includes(secret)).map((text) => text.slice(0, 200));
    assert.deepEqual(where, []);
  }
  assert.deepEqual(await context.cookies(), []);
  assert.equal(await page.evaluate(() => localStorage.length), await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('hub.')).length));
});

test('under localhost the page works as under 127.0.0.1', async () => {
  const hub = await startHub();
  const { code } = await hub.code();
  const page = await (await newContext()).newPage();
  await page.goto(`http://localhost:${hub.port}/#code=${code}`);
  await live(page);
});

test('a port that is forwarded under another number is refused with what to do', async () => {
  const hub = await startHub();
  const port = await forward(hub.port);
  const page = await (await newContext()).newPage();
  allow(page, /status of 421/);
  const response = await page.goto(`http://127.0.0.1:${port}/`);
  assert.equal(response?.status(), 421);
  const text = await page.evaluate(() => document.body.innerText);
  assert.match(text, new RegExp(`ssh -t -L ${hub.port}:127\\.0\\.0\\.1:${hub.port} HOST`));
  assert.match(text, /allowed_hosts/);
});

test('the sign-in page says how to forward the port of a hub that is elsewhere', async () => {
  const hub = await startHub();
  const page = await openDashboard(hub, { signIn: false, live: false });
  await page.getByText('another machine').click();
  const text = await signInPage(page);
  assert.match(text, new RegExp(`ssh -t -L ${hub.port}:127\\.0\\.0\\.1:${hub.port}`));
  assert.match(text, /421/);
  assert.match(text, /allowed_hosts/);
});

/** The text of the sign-in page, once it is there and nothing else. @param {Page} page */
async function signInPage(page) {
  await page.locator('hub-sign-in').waitFor();
  await until(async () => (await page.locator('hub-app').count()) === 0, { what: 'nothing but the sign-in page is shown' });
  return page.locator('hub-sign-in').innerText();
}

/** Whatever else a page can keep. */
async function everythingElse() {
  const databases = await indexedDB.databases();
  const caches = await window.caches.keys();
  return JSON.stringify([{ ...localStorage }, document.cookie, history.state, window.name, location.href, databases, caches]);
}

function tomorrow() {
  return new Date(Date.now() + 86_400_000).toISOString();
}

/** Another port that leads to this one, as `ssh -L` makes one. @param {number} port */
async function forward(port) {
  const server = net.createServer((from) => {
    const to = net.connect(port, '127.0.0.1');
    from.pipe(to).pipe(from);
    from.on('error', () => to.destroy());
    to.on('error', () => from.destroy());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  atEnd(() => server.close());
  return /** @type {net.AddressInfo} */ (server.address()).port;
}
