/** The first commands, with a hub's own address and paths. */

import { quoted } from './commands.js';

/** @typedef {{origin: string, stateDir: string|null}} Hub the page's origin, and the hub's state directory if known */

/**
 * curl's header argument: read from the hub's own file, so that no command contains the token.
 *
 * @param {Hub} hub
 */
function header({ stateDir }) {
  // The shell does not expand a tilde after @, so the home directory is a variable.
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
 * A crontab line that reports how a job ended. cron treats a bare % as the end of the line.
 *
 * @param {Hub} hub
 */
export function cronLine(hub) {
  const curl = `curl -fsS -H ${header(hub)} -d "backup ended with $?"`;
  return `0 3 * * * backup; ${curl} ${quoted(`${hub.origin}/notify?from=cron`)}`.replaceAll('%', '\\%');
}
