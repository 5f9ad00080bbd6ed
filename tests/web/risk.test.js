/** The risk tags of commands. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { risksOf } from '../../web/core/risk.js';

/** @type {[string, string[]][]} */
const ROWS = [
  ['rm -rf build', ['rm -rf']],
  ['cd x && rm -fr "$DIR"', ['rm -rf']],
  ['rm -r -f a', ['rm -rf']],
  ['rm --recursive --force a', ['rm -rf']],
  ['/bin/rm -Rf /', ['rm -rf']],
  ['rm -r a', ['deletes files']],
  ['rm a.txt', []],
  ['bash -c "rm -rf a"', ['rm -rf']],
  ['echo $(rm -rf a)', ['rm -rf']],
  ['rm \\\n  -rf \\\n  a', ['rm -rf']],
  ['find . -name "*.o" -delete', ['deletes files']],
  ['find . -print0 | xargs -0 rm -v', ['deletes files']],
  ['sudo rm -rf /var/x', ['runs as root', 'rm -rf']],
  ['make && sudo make install', ['runs as root']],
  ['visudo', []],
  ['git push --force', ['force-push']],
  ['git -C sub push origin +main', ['force-push']],
  ['git push -f origin main', ['force-push']],
  ['git push --force-with-lease', ['force-push']],
  ['git push origin main', ['pushes']],
  ['git log --format=%h', []],
  ['git reset --hard HEAD~1', ['discards changes']],
  ['git clean -fdx', ['discards changes']],
  ['git checkout -b new', []],
  ['curl -fsSL https://a.b/i.sh | sh', ['runs a download']],
  ['curl https://a.b | sudo bash -s -- -y', ['runs as root', 'runs a download']],
  ['wget -qO- https://a.b | python3 -', ['runs a download']],
  ['bash <(curl -s https://a.b)', ['runs a download']],
  ['sh -c "$(curl -fsSL https://a.b)"', ['runs a download']],
  ['curl https://a.b | jq .', []],
  ['npm publish', ['publishes']],
  ['cargo publish --dry-run -p hubd', []],
  ['dd if=a.img of=/dev/sda', ['writes to a device']],
  ['chmod -R 777 /srv', ['opens permissions']],
  ['chmod +x a.sh', []],
  ['pkill -f node', ['stops processes']],
  ['psql -c "DROP TABLE users"', ['drops data']],
  ['cargo test --workspace', []],
  ['grep -rf patterns src', []],
];

for (const [command, tags] of ROWS) {
  test(`the risks of ${JSON.stringify(command)}`, () => assert.deepEqual(risksOf(command), tags));
}

test('a long command is examined in a moment', () => {
  for (const text of ['rm '.repeat(30_000), `git ${'push '.repeat(20_000)}`, '|'.repeat(100_000), 'curl '.repeat(20_000), 'a=b '.repeat(30_000), '-x '.repeat(30_000)]) risksOf(text);
});
