/** The phase of a session that the hub does not report. */

/** @import { Phase, Session } from './types.js' */

/** @type {Partial<Record<string, Phase['name']>>} */
const NAMES = { question: 'needs_you', blocked: 'needs_you', waiting: 'your_turn', testing: 'your_turn', error: 'blocked', working: 'working', complete: 'done', ended: 'gone' };

/** @param {Session} session @returns {Phase} */
export function phaseOf(session) {
  const { phase, gone, silent, state, since, last_seen: seen } = /** @type {any} */ (session);
  if (phase) return phase;
  const name = silent ? 'blocked' : gone ? 'gone' : (NAMES[state ?? ''] ?? 'done');
  return { name, since: since ?? seen ?? '', text: '' };
}
