// What a TypeScript program does with the generated types and openapi-fetch. It compiles in strict mode, and runs.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

declare const process: { env: Record<string, string>; exit(code: number): never };
type Problem = components['schemas']['Problem'];

const hub = createClient<paths>({
  baseUrl: process.env.HUB!,
  headers: { authorization: `Bearer ${process.env.TOKEN}` },
});

function expect(condition: unknown, what: string): asserts condition {
  if (condition) return;
  console.error(`failed: ${what}`);
  process.exit(1);
}

const said = await hub.POST('/notify', { body: { msg: 'from TypeScript' } });
expect(said.response.status === 201 && said.data && 'id' in said.data, 'a notification needs only msg');

for (const type of ['error', 'progress'] as const) {
  const params = { header: { 'Idempotency-Key': `ts-${type}` } };
  const body = { msg: `a ${type}`, from: 'ts', type, data: { step: 1 }, to: 'typescript' };
  const stored = await hub.POST('/notify', { params, body });
  expect(stored.data, `posting: ${stored.error?.detail}`);
}

const page = await hub.GET('/notifications', { params: { query: { types: ['error', 'progress'], from: 'ts' } } });
expect(page.data?.notifications.length === 2, `types may be repeated: ${page.error?.detail}`);

const query = { inbox: ['typescript'], types: ['error', 'waiting'] as ('error' | 'waiting')[], timeout: 0 };
const got = await hub.GET('/wait', { params: { query } });
expect(got.data?.notifications[0]?.msg === 'a error', `waiting: ${got.error?.detail}`);

const ack = { params: { path: { inbox: 'typescript' } }, body: { lease: got.data.lease } };
const acked = await hub.POST('/inboxes/{inbox}/ack', ack);
expect(acked.data?.acked.length === 1, `acknowledging: ${acked.error?.detail}`);

const missing = await hub.GET('/notifications/{id}', { params: { path: { id: 999_999 } } });
const problem: Problem | undefined = missing.error;
expect(problem?.code === 'unknown_notification' && problem.hint, 'every error is a Problem');
