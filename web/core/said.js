/** Texts for a notification's details: its delivery in words, its thread, and commands that repeat it. */

import { quoted } from './commands.js';

/**
 * @typedef {import('./types.js').Notification} Notification
 * @typedef {import('./types.js').Step} Step
 */

/** How a notification reached an agent's session. @type {Record<NonNullable<Step['way']>, string>} */
const WAYS = {
  rewake: 'it woke the session through its hook',
  wait: 'it woke the session through its waiter',
  hook: 'it came along with a hook',
};

/** @type {Record<Step['state'], (step: Step) => string>} */
const STEPS = {
  stored: ({ inbox }) => (inbox ? `Stored for ${inbox}` : 'Recorded; it is for nobody’s inbox'),
  leased: ({ inbox, by }) => `Being given to ${by ?? inbox ?? 'a reader'}`,
  held: ({ inbox }) => `Held back from ${inbox ?? 'a reader'}`,
  emitted: ({ inbox, by }) => `Given to ${inbox ?? 'a reader'}${by && by !== inbox ? ` (${by})` : ''}`,
  returned: ({ inbox }) => `Not taken up, pending again${inbox ? ` for ${inbox}` : ''}`,
  acked: ({ inbox, by }) => `Taken up${inbox ? ` by ${inbox}` : ''}${by && by !== inbox ? ` (${by})` : ''}`,
  expired: () => 'Expired',
  evicted: () => 'Evicted, because the log reached its maximum size',
  superseded: ({ by }) => `Replaced${by ? ` by ${number(by)}` : ''}`,
  withdrawn: ({ by }) => `Withdrawn${by ? ` by ${number(by)}` : ''}`,
  dropped: ({ inbox }) => `Dropped${inbox ? ` with ${inbox}` : ''}`,
  answered: ({ by }) => `Answered${by ? ` by ${number(by)}` : ''}`,
  claimed: ({ by }) => `Claimed${by ? ` by ${by}` : ''}`,
  settled: ({ by }) => `Settled${by ? ` by ${number(by)}` : ''}`,
  seen: () => 'Marked seen',
  unseen: () => 'Marked not seen',
};

/**
 * A step of a delivery as a sentence, with the reason if the hub knows it.
 *
 * @param {Step} step
 * @returns {{text: string, why: string}}
 */
export function describe(step) {
  const limit = step.limit && `limit: ${step.limit}`;
  return { text: STEPS[step.state]?.(step) ?? step.state, why: (step.way && WAYS[step.way]) ?? limit ?? step.rides_along ?? '' };
}

/** The sender's name, as people know it. @param {Notification} said */
export function sender(said) {
  return said.from_name ?? said.from;
}

/** @param {string} by */
function number(by) {
  return /^\d+$/.test(by) ? `#${by}` : by;
}

/**
 * The thread of a notification: from its first notification to the last known one, oldest first.
 *
 * @param {Notification} said
 * @param {{get: (id: number) => Notification|undefined, replies: (id: number) => Notification[]}} known
 * @returns {Notification[]}
 */
export function thread(said, known) {
  const found = new Map([[said.id, said]]);
  for (let at = said; at.reply_to !== undefined && !found.has(at.reply_to); ) {
    const before = known.get(at.reply_to);
    if (!before) break;
    found.set(before.id, before);
    at = before;
  }
  const open = [...found.keys()];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const reply of known.replies(id)) {
      if (found.has(reply.id)) continue;
      found.set(reply.id, reply);
      open.push(reply.id);
    }
  }
  return [...found.values()].sort((one, other) => one.id - other.id);
}

/**
 * The `hubctl` command that sends the same notification again.
 *
 * @param {Notification} said
 */
export function asHubctl(said) {
  const words = ['hubctl', 'notify'];
  const options = { '--from': said.from, '--to': said.to, '--type': said.type, '--project': said.project, '--title': said.title, '--key': said.key };
  for (const [name, value] of Object.entries(options)) if (value !== undefined) words.push(name, value);
  if (said.priority !== 'normal') words.push('--priority', said.priority);
  if (said.reply_to !== undefined) words.push('--reply-to', String(said.reply_to));
  if (said.data !== undefined) words.push('--data', JSON.stringify(said.data));
  return [...words, '--', said.msg].map(quoted).join(' ');
}

/**
 * The curl command that sends the same notification again.
 *
 * @param {Notification} said
 * @param {string} origin of the hub
 * @param {string} stateDir
 */
export function asCurl(said, origin, stateDir) {
  const { id: _, ts, expires_at, received, status, seen, hops, ...post } = said;
  void [ts, expires_at, received, status, seen, hops];
  return `curl -H ${quoted(`@${stateDir}/auth.header`)} -d ${quoted(JSON.stringify(post))} ${quoted(`${origin}/notify`)}`;
}

/**
 * Formats data for reading.
 *
 * @param {unknown} data
 */
export function pretty(data) {
  return typeof data === 'string' ? data : JSON.stringify(data, null, 2);
}
