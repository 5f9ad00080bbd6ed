/** Command lines to copy, for actions that a button of the page cannot perform. */

import { isEnded } from "./sessions.js";

/** @import { Notification, Session, SessionLocation } from './types.js' */

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
 * @param {Pick<Session, 'name'|'project'|'state'|'gone'>} [session] if the hub knows it
 * @returns {Command[]}
 */
export function locationCommands({ host, cwd, pane }, hubHost, session) {
  /** @type {Command[]} */
  const commands = [];
  const remote = host && hubHost && host !== hubHost ? shellQuote(host) : "";
  // Only the hub finds the tmux server, and only on its own machine.
  if (pane && session && !isEnded(session) && !remote)
    commands.push({ label: "Pane", line: sessionCommand("go", session) });
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
 * The command that shows a session's activity.
 *
 * @param {Pick<Session, 'name'|'project'>} session
 * @returns {Command}
 */
export function lookCommand(session) {
  return { label: "Activity", line: sessionCommand("look", session) };
}

/**
 * @param {'go'|'look'} command of hubctl
 * @param {Pick<Session, 'name'|'project'>} session
 */
function sessionCommand(command, { name, project }) {
  return `hubctl ${command} ${shellQuote(name)} --project ${shellQuote(project)}`;
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
