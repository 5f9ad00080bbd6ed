/** Command lines to copy, for actions that a button of the page cannot perform. */

/** @import { Notification, SessionLocation } from './types.js' */

/**
 * @typedef {{label: string, line: string}} Command
 * @typedef {{origin: string, stateDir: string|null}} Hub the page's origin, and the hub's state directory if known
 */

/** Matches words that no shell treats specially, as in hubctl (client/src/system/shell.rs). */
const PLAIN = /^[A-Za-z0-9\-_./:,=@+]+$/;

/**
 * Quotes a word for a POSIX shell.
 *
 * @param {string} word
 */
export function shellQuote(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The commands that lead to a session, nearest first: its pane, its directory; for another machine, first that machine.
 *
 * @param {SessionLocation} location
 * @param {string} [hubHost] the hub's host
 * @returns {Command[]}
 */
export function locationCommands({ host, cwd, pane }, hubHost) {
  /** @type {Command[]} */
  const commands = [];
  const remote = host && hubHost && host !== hubHost ? shellQuote(host) : "";
  if (pane && !remote)
    commands.push({
      label: "Pane",
      line: `tmux select-window -t ${shellQuote(pane)} && tmux select-pane -t ${shellQuote(pane)}`,
    });
  if (pane)
    commands.push({ label: "Attach", line: attachCommand(pane, remote) });
  if (remote) commands.push({ label: "Log in", line: `ssh ${remote}` });
  // Without `--`, a directory that begins with a dash would be read as an option.
  if (cwd)
    commands.push({
      label: "Directory",
      line: `cd ${cwd.startsWith("-") ? "-- " : ""}${shellQuote(cwd)}`,
    });
  return commands;
}

/**
 * The command that shows a pane in a new terminal. For another machine, that machine's shell reads it a second time.
 *
 * @param {string} pane
 * @param {string} remote the machine, quoted; empty for this one
 */
function attachCommand(pane, remote) {
  const line = `tmux attach -t ${shellQuote(pane)}`;
  return remote ? `ssh -t ${remote} ${shellQuote(line)}` : line;
}

/**
 * The command that shows a session's activity.
 *
 * @param {string} name
 * @param {string} project
 * @returns {Command}
 */
export function lookCommand(name, project) {
  return {
    label: "Activity",
    line: `hubctl look ${shellQuote(name)} --project ${shellQuote(project)}`,
  };
}

/**
 * curl's header argument: read from the hub's own file, so that no command contains the token.
 *
 * @param {Hub} hub
 */
function header({ stateDir }) {
  // The shell does not expand a tilde after @, so the home directory is a variable.
  return stateDir === null
    ? '@"$HOME/.local/state/hub/auth.header"'
    : shellQuote(`@${stateDir}/auth.header`);
}

/**
 * The first notification.
 *
 * @param {Hub} hub
 */
export function firstCommand(hub) {
  return `curl -H ${header(hub)} -d 'backup done' ${shellQuote(`${hub.origin}/notify`)}`;
}

/**
 * A crontab line that reports how a job ended. cron treats a bare % as the end of the line.
 *
 * @param {Hub} hub
 */
export function cronLine(hub) {
  const curl = `curl -fsS -H ${header(hub)} -d "backup ended with $?"`;
  return `0 3 * * * backup; ${curl} ${shellQuote(`${hub.origin}/notify?from=cron`)}`.replaceAll(
    "%",
    "\\%",
  );
}

/**
 * The `hubctl` command that sends the same notification again.
 *
 * @param {Notification} notification
 */
export function hubctlCommand({
  from,
  to,
  type,
  project,
  title,
  key,
  priority,
  reply_to,
  data,
  msg,
}) {
  const options = {
    "--from": from,
    "--to": to,
    "--type": type,
    "--project": project,
    "--title": title,
    "--key": key,
    "--priority": priority === "normal" ? undefined : priority,
    "--reply-to": reply_to,
    "--data": data === undefined ? undefined : JSON.stringify(data),
  };
  const words = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [name, String(value)],
  );
  return ["hubctl", "notify", ...words, "--", msg].map(shellQuote).join(" ");
}

/**
 * The curl command that sends the same notification again.
 *
 * @param {Notification} notification
 * @param {Hub} hub
 */
export function curlCommand(
  {
    from,
    to,
    type,
    project,
    title,
    key,
    priority,
    reply_to,
    data,
    msg,
    session,
    parent,
    options,
  },
  hub,
) {
  /** @type {import('./types.js').Schemas['Post']} */
  const post = {
    from,
    to,
    type,
    project,
    title,
    key,
    priority,
    reply_to,
    data,
    msg,
    session,
    parent,
    options,
  };
  return `curl -H ${header(hub)} -d ${shellQuote(JSON.stringify(post))} ${shellQuote(`${hub.origin}/notify`)}`;
}
