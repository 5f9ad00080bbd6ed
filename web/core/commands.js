/** Command lines to copy: what a person does where a button of the page would reach nobody. */

/**
 * @typedef {import('./types.js').Place} Place
 * @typedef {import('./types.js').Question} Question
 * @typedef {{what: string, line: string}} Command
 */

/** What no shell reads as anything else, as in hubctl (client/src/shell.rs). */
const PLAIN = /^[A-Za-z0-9\-_./:,=@+]+$/;

/**
 * A word as a POSIX shell reads it back.
 *
 * @param {string} word
 */
export function quoted(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * How to get to where a session runs, nearest first: its pane, its directory; on another machine that machine before.
 *
 * @param {Place} place
 * @param {string} [here] the hub's host
 * @returns {Command[]}
 */
export function waysThere({ host, cwd, pane }, here) {
  /** @type {Command[]} */
  const ways = [];
  if (host && here && host !== here) ways.push({ what: 'Log in', line: `ssh ${quoted(host)}` });
  if (pane) ways.push({ what: 'Pane', line: `tmux select-window -t ${quoted(pane)} && tmux select-pane -t ${quoted(pane)}` });
  // A directory that begins with a dash is no option.
  if (cwd) ways.push({ what: 'Directory', line: `cd ${cwd.startsWith('-') ? '-- ' : ''}${quoted(cwd)}` });
  return ways;
}

/**
 * How to answer from a terminal.
 *
 * @param {Pick<Question, 'id'|'type'>} question
 * @returns {Command[]}
 */
export function waysToAnswer({ id, type }) {
  if (type !== 'approval') return [{ what: 'Answer', line: `hubctl answer ${id} "…"` }];
  return [
    { what: 'Approve', line: `hubctl answer ${id} allow` },
    { what: 'Deny', line: `hubctl answer ${id} "deny: …"` },
  ];
}

/**
 * How to see what a session does.
 *
 * @param {string} name
 * @param {string} project
 * @returns {Command}
 */
export function wayToLook(name, project) {
  return { what: 'Look', line: `hubctl look ${quoted(name)} --project ${quoted(project)}` };
}
