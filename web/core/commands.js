/** Command lines to copy, for actions that a button of the page cannot perform. */

/**
 * @typedef {import('./types.js').Place} Place
 * @typedef {{what: string, line: string}} Command
 */

/** Matches words that no shell treats specially, as in hubctl (client/src/shell.rs). */
const PLAIN = /^[A-Za-z0-9\-_./:,=@+]+$/;

/**
 * Quotes a word for a POSIX shell.
 *
 * @param {string} word
 */
export function quoted(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The commands that lead to a session, nearest first: its pane, its directory; for another machine, first that machine.
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
  // Without `--`, a directory that begins with a dash would be read as an option.
  if (cwd) ways.push({ what: 'Directory', line: `cd ${cwd.startsWith('-') ? '-- ' : ''}${quoted(cwd)}` });
  return ways;
}

/**
 * The command that shows a session's activity.
 *
 * @param {string} name
 * @param {string} project
 * @returns {Command}
 */
export function wayToLook(name, project) {
  return { what: 'Look', line: `hubctl look ${quoted(name)} --project ${quoted(project)}` };
}
