/** Names the risks of a shell command, so that a person who reads many of them does not overlook one. */

/** @typedef {(words: string[], text: string) => boolean} Test of a simple command: its words, and all of its text */

/** Commands that run the command after them. */
const WRAPPERS = ['env', 'nohup', 'time', 'exec', 'command', 'xargs', 'then', 'do', 'else', '!', 'sudo', 'doas'];
const ROOT = ['sudo', 'doas', 'su', 'pkexec'];
const DOWNLOADS = ['curl', 'wget'];
const INTERPRETERS = /^(?:(?:ba|z|da|k|fi)?sh|python[\d.]*|perl|ruby|node)$/;
/** A shell that runs what a download prints: `bash <(curl …)`, `sh -c "$(curl …)"`. */
const RUN_DOWNLOAD = /\b(?:(?:ba|z|da|k)?sh|eval|source)(?:\s+-\w+)?\s+["']?(?:<|\$)\(\s*(?:curl|wget)\b/;
const DROPS = /\bdrop\s(?:table|database|schema|column)\b|\btruncate\stable\b|\bdelete\sfrom\s\S+\s?(?:;|["'`]|$)/i;

const has = (/** @type {string[]} */ words, /** @type {RegExp} */ option) => words.some((word) => option.test(word));
const isRecursive = (/** @type {string[]} */ words) => has(words, /^(?:-\w*[rR]\w*|--recursive)$/);
const isForced = (/** @type {string[]} */ words) => has(words, /^(?:-\w*f\w*|--force)$/);
const isGit = (/** @type {string[]} */ words, /** @type {string} */ command) => words[0] === 'git' && words.includes(command);

/** The tags, worst first. @type {[string, Test][]} */
const TESTS = [
  ['rm -rf', (words) => words[0] === 'rm' && isRecursive(words) && isForced(words)],
  ['deletes files', (words) => ['shred', 'truncate', 'unlink'].includes(words[0]) || (words[0] === 'rm' && isRecursive(words)) || (words[0] === 'find' && (words.includes('-delete') || words.includes('rm')))],
  ['force-push', (words) => isGit(words, 'push') && (isForced(words) || has(words, /^(?:--force-with-lease.*|--mirror|\+.+)$/))],
  ['pushes', (words) => isGit(words, 'push')],
  ['discards changes', (words) => discards(words)],
  ['publishes', (words) => publishes(words) && !words.includes('--dry-run')],
  ['writes to a device', (words, text) => /^mkfs/.test(words[0]) || (words[0] === 'dd' && has(words, /^of=\/dev\//)) || />\s?\/dev\/(?:sd|nvme|hd|vd|disk|mmcblk)/.test(text)],
  ['opens permissions', (words) => /^ch(?:mod|own)$/.test(words[0]) && has(words, /^(?:-\w*R\w*|0?777|a\+\w*w\w*)$/)],
  ['stops processes', (words) => /^(?:kill|killall|pkill|shutdown|reboot|poweroff)$/.test(words[0]) || (words[0] === 'systemctl' && has(words, /^(?:stop|disable|kill)$/))],
];

/** A tag that another one says more exactly. @type {Record<string, string>} */
const COVERED = { 'deletes files': 'rm -rf', pushes: 'force-push' };

/**
 * The risks of a command. A command without a tag is not safe, only of no kind that is named here.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function risksOf(text) {
  // A backslash before a line feed continues the command.
  const joined = text.replace(/\\\r?\n/g, ' ').replace(/[ \t]+/g, ' ');
  /** @type {Set<string>} */
  const found = new Set();
  if (RUN_DOWNLOAD.test(joined)) found.add('runs a download');
  if (DROPS.test(joined)) found.add('drops data');
  // A quoted text is a word of a command, or a command itself.
  for (const quotes of ['', '\n']) {
    for (const statement of joined.replace(/["'`]/g, quotes).split(/[\n;&(){}]+|\|\|/)) examine(statement, found);
  }
  return [...found].filter((tag) => !found.has(COVERED[tag])).sort((a, b) => rank(a) - rank(b));
}

/**
 * Adds the tags of a pipeline.
 *
 * @param {string} statement
 * @param {Set<string>} found
 */
function examine(statement, found) {
  let downloads = false;
  for (const text of statement.split('|')) {
    const all = text.split(' ').filter(Boolean);
    const at = commandAt(all);
    const words = all.slice(at);
    if (all.slice(0, at + 1).some((word) => ROOT.includes(word))) found.add('runs as root');
    if (words.length === 0) continue;
    words[0] = words[0].slice(words[0].lastIndexOf('/') + 1);
    for (const [tag, matches] of TESTS) if (matches(words, text)) found.add(tag);
    if (all.includes('xargs') && words[0] === 'rm') found.add('deletes files');
    if (downloads && INTERPRETERS.test(words[0])) found.add('runs a download');
    downloads ||= DOWNLOADS.includes(words[0]);
  }
}

/** The place of the command's own name, after assignments and wrappers with their options. @param {string[]} words */
function commandAt(words) {
  let at = 0;
  let wrapped = false;
  while (at < words.length) {
    const word = words[at];
    const wraps = WRAPPERS.includes(word);
    if (!wraps && !/^\w+=/.test(word) && !(wrapped && word.startsWith('-'))) break;
    wrapped ||= wraps;
    at += 1;
  }
  return at;
}

/** @param {string[]} words */
function discards(words) {
  if (words[0] !== 'git') return false;
  const is = (/** @type {string} */ command) => words.includes(command);
  if (is('reset')) return is('--hard');
  if (is('clean')) return isForced(words);
  if (is('checkout')) return is('--') || is('.');
  if (is('stash')) return is('drop') || is('clear');
  if (is('branch')) return is('-D');
  return is('restore') || is('filter-branch') || is('filter-repo');
}

/** @param {string[]} words */
function publishes([program, command, more]) {
  if (['npm', 'pnpm', 'yarn', 'cargo', 'gem', 'poetry', 'uv'].includes(program)) return command === 'publish';
  return `${program} ${command}` === 'twine upload' || `${program} ${command}` === 'docker push' || `${program} ${command} ${more}` === 'gh release create';
}

/** @param {string} tag */
function rank(tag) {
  const order = ['runs as root', 'runs a download', 'rm -rf', 'drops data'];
  return order.includes(tag) ? order.indexOf(tag) : order.length + TESTS.findIndex(([name]) => name === tag);
}
