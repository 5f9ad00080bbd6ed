/** Sessions in words: their names, their states, and whether they can be woken. */

/** @import { Holder, Session } from './types.js' */

/**
 * Whether a session has ended or its process has died.
 *
 * @param {Pick<Session, 'state'|'gone'>} session
 */
export function isEnded({ state, gone }) {
  return gone || state === "ended";
}

/**
 * Finds a session of a project by its id, another id or its short name.
 *
 * @param {Iterable<Session>} sessions
 * @returns {(project: string, name: string) => Session|undefined}
 */
export function sessionFinder(sessions) {
  /** @type {Map<string, Session>} */
  const byName = new Map();
  for (const session of sessions) {
    for (const name of [session.name, ...(session.aliases ?? []), session.id]) {
      const key = `${session.project}/${name}`;
      if (name === session.id || !byName.has(key)) byName.set(key, session);
    }
  }
  return (project, name) => byName.get(`${project}/${name}`);
}

/**
 * The ended sessions, latest first.
 *
 * @param {Iterable<Session>} sessions
 * @returns {Session[]}
 */
export function listEnded(sessions) {
  const at = (/** @type {Session} */ it) =>
    Date.parse(it.since ?? it.last_seen ?? "") || 0;
  const over = [...sessions]
    .filter(isEnded)
    .map((session) => ({ session, at: at(session) }));
  return over.sort((a, b) => b.at - a.at).map(({ session }) => session);
}

/**
 * The last part of a project's path.
 *
 * @param {string} project
 */
export function projectName(project) {
  return project.replace(/\/+$/, "").replace(/^.*\//, "") || project;
}

/**
 * Shortens each path to the last parts that distinguish it from the others.
 *
 * @param {Iterable<string>} paths
 * @returns {Map<string, string>}
 */
export function shortPaths(paths) {
  const all = [...new Set(paths)];
  const tails = (/** @type {string} */ path, /** @type {number} */ count) =>
    path.split("/").filter(Boolean).slice(-count).join("/");
  return new Map(
    all.map((path) => {
      for (let count = 1; count <= path.split("/").length; count++) {
        const tail = tails(path, count);
        if (
          tail &&
          all.every((other) => other === path || tails(other, count) !== tail)
        )
          return [path, tail];
      }
      return [path, path];
    }),
  );
}

/** @typedef {{state: string, text: string}} Label */

/**
 * A session's state in a word.
 *
 * @param {Session} session
 * @returns {Label}
 */
export function stateLabel(session) {
  if (session.gone) return { state: "gone", text: "gone" };
  if (session.silent) return { state: "silent", text: "silent" };
  if (!session.state) return { state: "ended", text: "no state yet" };
  return { state: session.state, text: session.state };
}

/** Texts for whether a session can be woken. @type {Record<Session['wake'], {text: string, means: string}>} */
const WAKE_LABELS = {
  live: {
    text: "waiter live",
    means:
      "A waiter is connected to its inbox: a message wakes the session at once.",
  },
  stale: {
    text: "waiter stale",
    means:
      "No waiter is connected to its inbox now. One was connected before, or its hooks are live: a message is delivered with its next step.",
  },
  none: {
    text: "no waiter",
    means:
      "No waiter was ever connected to its inbox: a message stays there until the session reads it.",
  },
};

/**
 * Whether a session can be woken, and the evidence.
 *
 * @param {Pick<Session, 'wake'|'waiter'>} session
 * @param {Holder} [holder] the waiter at its inbox
 */
export function wakeLabel({ wake, waiter }, holder = waiter) {
  const way = wake === "live" && holder?.way ? ` Way: ${holder.way}.` : "";
  return { text: WAKE_LABELS[wake].text, means: WAKE_LABELS[wake].means + way };
}

/** A session that has reported nothing since it started, in words. */
const STARTED = "just started";

/** Whether a session waits for its first prompt. @param {Pick<Session, 'state'|'gone'>} session */
export function hasStarted(session) {
  return session.state === undefined && !session.gone;
}

/** The order of states in the summary. */
const COUNTED = [
  "working",
  "silent",
  "waiting",
  "blocked",
  "error",
  "complete",
  STARTED,
];

/**
 * A summary of the sessions in a sentence: '3 work, 1 waits.'
 *
 * @param {Iterable<Session>} sessions
 */
export function summarize(sessions) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const session of sessions) {
    const state = hasStarted(session) ? STARTED : stateLabel(session).state;
    if (!isEnded(session)) counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const parts = COUNTED.filter((state) => counts.has(state)).map(
    (state) => `${counts.get(state)} ${state}`,
  );
  return parts.length > 0 ? `${parts.join(", ")}.` : "No agent is running.";
}
