/** The first commands, with a hub's own address and paths. */

import { quoted } from './commands.js';

/** @typedef {{origin: string, stateDir: string|null}} Hub where the page is from, and its state directory if it is known */

/**
 * curl's header argument: read from the hub's own file, so that no token stands in a command.
 *
 * @param {Hub} hub
 */
function header({ stateDir }) {
  // A tilde behind @ stays a tilde, so the home directory is a variable.
  return stateDir === null ? '@"$HOME/.local/state/hub/auth.header"' : quoted(`@${stateDir}/auth.header`);
}

/**
 * The first notification.
 *
 * @param {Hub} hub
 */
export function firstCurl(hub) {
  return `curl -H ${header(hub)} -d 'backup done' ${quoted(`${hub.origin}/notify`)}`;
}

/**
 * A crontab line that says how a job ended. cron takes a bare % for the end of the line.
 *
 * @param {Hub} hub
 */
export function cronLine(hub) {
  const curl = `curl -fsS -H ${header(hub)} -d "backup ended with $?"`;
  return `0 3 * * * backup; ${curl} ${quoted(`${hub.origin}/notify?from=cron`)}`.replaceAll('%', '\\%');
}
