/** The board: live sessions grouped by phase, workers below their parents, as a flat list of lines. */

import { hasStarted, projectName, sessionFinder } from "./sessions.js";

/** @import { Need, Phase, Session } from './types.js' */

/**
 * @typedef {'time'|'name'|'project'} Sort
 *
 * @typedef {object} BoardRow
 * @property {string} key `project/id`
 * @property {Session} session
 * @property {Phase} phase
 * @property {number} depth of workers below their parent in the same group
 * @property {string} [parent] the name of its parent, if that is in another group
 *
 * @typedef {object} Group
 * @property {GroupName} name
 * @property {string} title
 * @property {BoardRow[]} rows
 *
 * @typedef {Phase['name']|'started'} GroupName A session that waits for its first prompt has done nothing yet.
 */

/** The groups in their order on the board. @type {readonly {name: GroupName, title: string}[]} */
export const GROUPS = [
  { name: "needs_you", title: "Needs you" },
  { name: "your_turn", title: "Your turn" },
  { name: "blocked", title: "Blocked" },
  { name: "working", title: "Working" },
  { name: "started", title: "Just started" },
  { name: "done", title: "Done" },
];

/** The number of rows up to which each has two lines. */
const ROOMY = 12;
/** The number of rows up to which they fit in one column. */
const ONE_COLUMN = 24;

const collator = new Intl.Collator("en", {
  numeric: true,
  sensitivity: "base",
});

/** A session's key on the board. @param {Pick<Session, 'project'|'id'>} session */
export function keyOf({ project, id }) {
  return `${project}/${id}`;
}

/**
 * The groups that have rows.
 *
 * @param {Iterable<Session>} sessions
 * @param {{query?: string, sort?: Sort}} [view]
 * @returns {Group[]}
 */
export function board(sessions, { query = "", sort = "time" } = {}) {
  const all = [...sessions];
  const find = sessionFinder(all);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = all
    .map((session) => ({ session, phase: session.phase }))
    .filter(
      ({ session, phase }) =>
        phase.name !== "gone" && matches(session, phase, words),
    );
  return GROUPS.map(({ name, title }) => {
    const members = rows.filter((row) => groupOf(row) === name);
    return { name, title, rows: order(members, find, name, sort) };
  }).filter((group) => group.rows.length > 0);
}

/** @param {Member} row @returns {GroupName} */
function groupOf({ session, phase }) {
  return phase.name === "done" && hasStarted(session) ? "started" : phase.name;
}

/**
 * How much space a row may take.
 *
 * @param {number} count of all rows
 * @returns {'roomy'|'compact'|'dense'}
 */
export function density(count) {
  if (count <= ROOMY) return "roomy";
  return count <= ONE_COLUMN ? "compact" : "dense";
}

/**
 * The current activity of a session in one line.
 *
 * @param {Phase} phase
 * @param {Pick<Need, 'line'>} [need] its oldest open question
 */
export function activity({ name, text = "", tool }, need) {
  if (name === "needs_you" && need) return text || need.line;
  if (name === "working" && tool)
    return `${tool.name}${tool.on ? ` ${tool.on}` : ""}`;
  return text;
}

/**
 * The branch of a session's checkout, or the name of its directory if that is not the project's.
 *
 * @param {Pick<Session, 'project'|'cwd'|'branch'>} session
 */
export function checkout({ project, cwd, branch }) {
  if (branch) return branch;
  if (!cwd || cwd === project || cwd.startsWith(`${project}/`)) return "";
  const [own, of] = [projectName(cwd), projectName(project)];
  return own.startsWith(`${of}-`) ? own.slice(of.length + 1) : own;
}

/**
 * A line about a need: what it wants, and where its session is.
 *
 * @param {Session} [session]
 * @param {string} [title] of the need
 */
export function aboutOf(session, title) {
  const branch = session && checkout(session);
  return [title, branch && `branch ${branch}`, session?.agent]
    .filter(Boolean)
    .join(" · ");
}

/**
 * @param {Session} session
 * @param {Phase} phase
 * @param {string[]} words in lower case; each must occur
 */
function matches({ name, project, agent, title }, { text, tool }, words) {
  const all = [name, project, agent, title, text, tool?.name, tool?.on]
    .join("\n")
    .toLowerCase();
  return words.every((word) => all.includes(word));
}

/** @typedef {Pick<BoardRow, 'session'|'phase'>} Member */

/**
 * The rows of a group: sorted, and each worker below its parent.
 *
 * @param {Member[]} members
 * @param {(project: string, name: string) => Session|undefined} find
 * @param {GroupName} group
 * @param {Sort} sort
 * @returns {BoardRow[]}
 */
function order(members, find, group, sort) {
  const inGroup = new Map(members.map((member) => [member.session, member]));
  /** @type {Map<Session|undefined, Member[]>} */
  const below = new Map();
  for (const member of members) {
    const parent = parentOf(member.session, find);
    const under =
      parent && inGroup.has(parent) && !isUnder(parent, member.session, find)
        ? parent
        : undefined;
    below.set(under, [...(below.get(under) ?? []), member]);
  }
  const compare = comparison(group, sort);
  /** @type {BoardRow[]} */
  const rows = [];
  const add = (
    /** @type {Session|undefined} */ parent,
    /** @type {number} */ depth,
  ) => {
    for (const { session, phase } of (below.get(parent) ?? []).sort(compare)) {
      const above =
        depth === 0
          ? (parentOf(session, find)?.name ?? session.parent)
          : undefined;
      rows.push({
        key: keyOf(session),
        session,
        phase,
        depth,
        ...(above && { parent: above }),
      });
      add(session, depth + 1);
    }
  };
  add(undefined, 0);
  return rows;
}

/**
 * By time: the session that has waited longest comes first; of those that have just started or are done, the latest.
 *
 * @param {GroupName} group
 * @param {Sort} sort
 * @returns {(a: Member, b: Member) => number}
 */
function comparison(group, sort) {
  const direction = group === "done" || group === "started" ? -1 : 1;
  const byTime = (/** @type {Member} */ a, /** @type {Member} */ b) =>
    direction * (Date.parse(a.phase.since) - Date.parse(b.phase.since) || 0);
  const byName = (/** @type {Member} */ a, /** @type {Member} */ b) =>
    collator.compare(a.session.name, b.session.name);
  const byProject = (/** @type {Member} */ a, /** @type {Member} */ b) =>
    collator.compare(a.session.project, b.session.project);
  const bySort = { time: byTime, name: byName, project: byProject }[sort];
  return (a, b) =>
    bySort(a, b) ||
    byName(a, b) ||
    collator.compare(a.session.id, b.session.id);
}

/**
 * @param {Session} session
 * @param {(project: string, name: string) => Session|undefined} find
 */
function parentOf(session, find) {
  const parent = session.parent
    ? find(session.project, session.parent)
    : undefined;
  return parent === session ? undefined : parent;
}

/**
 * Whether `session` is `other` or one of its descendants. Two sessions may name each other as parent, so the walk stops
 * at a cycle.
 *
 * @param {Session} session
 * @param {Session} other
 * @param {(project: string, name: string) => Session|undefined} find
 */
function isUnder(session, other, find) {
  const visited = new Set();
  for (
    let at = /** @type {Session|undefined} */ (session);
    at && !visited.has(at);
    at = parentOf(at, find)
  ) {
    if (at === other) return true;
    visited.add(at);
  }
  return false;
}
