import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import {
  cronLine,
  curlCommand,
  firstCommand,
  hubctlCommand,
  locationCommands,
  lookCommand,
  shellQuote,
} from "../../web/core/commands.js";

/** @type {import('../../web/core/types.js').Notification} */
const REPLY = {
  id: 7,
  ts: "",
  expires_at: "",
  from: "a",
  type: "message",
  msg: `-rf $(id) "x" 'y'\nz`,
  project: "p",
  priority: "normal",
  to: "primary",
  title: "it's",
  data: { a: "'" },
  reply_to: 3,
  from_name: "api",
  status: "acked",
  seen: true,
  hops: 2,
  received: "",
};

/** Returns the words that a shell parses from a command. @param {string} command */
const words = (command) =>
  execFileSync(
    "sh",
    ["-c", `for word in ${command}; do printf '%s\\0' "$word"; done`],
    { encoding: "utf8" },
  )
    .split("\0")
    .slice(0, -1);

test("a real shell parses a quoted word back to the original", () => {
  const words = [
    "plain",
    "a b",
    "it's",
    "",
    "$HOME",
    "`id`",
    "$(id)",
    'a"b',
    "back\\slash",
    "new\nline",
    "*",
    "~",
    "-n",
    ";",
    "&&",
    "!1",
    "é",
    "%7",
    "#",
    "''",
  ];
  const line = `printf '%s\\0' ${words.map(shellQuote).join(" ")}`;
  const read = execFileSync("sh", ["-c", line], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);
  assert.deepEqual(read, words);
});

test("a word that needs no quotes has none", () => {
  assert.equal(shellQuote("/home/me/src/hub"), "/home/me/src/hub");
  assert.equal(shellQuote("it's"), String.raw`'it'\''s'`);
  assert.equal(shellQuote(""), "''");
});

test("the commands that lead to a session name its machine, its directory and, for its pane, the session", () => {
  const session = { name: "it's", project: "/p", gone: false };
  const lines = (/** @type {any[]} */ ...args) =>
    locationCommands(args[0], args[1], session).map(({ line }) => line);
  assert.deepEqual(
    lines({ host: "mill", cwd: "/home/me/a b", pane: "%7" }, "desk"),
    ["ssh mill", "cd '/home/me/a b'"],
    "only the hub of that machine could find the pane",
  );
  assert.deepEqual(
    lines({ host: "desk", pane: "%7" }, "desk"),
    [String.raw`hubctl go 'it'\''s' --project /p`],
    "its tmux server may be any",
  );
  const here = { host: "desk", pane: "%7" };
  assert.deepEqual(locationCommands(here, "desk"), []);
  assert.deepEqual(
    locationCommands(here, "desk", { ...session, gone: true }),
    [],
    "its pane runs something else now",
  );
  assert.deepEqual(lines({ host: "desk", cwd: "-odd" }, "desk"), [
    "cd -- -odd",
  ]);
  assert.deepEqual(
    lines({ host: "mill" }),
    [],
    "without our own name nobody knows whether it is another machine",
  );
  assert.deepEqual(lines({}), []);
});

test("no name breaks out of its word of the command", () => {
  assert.equal(
    locationCommands({ host: "a; rm -rf ~" }, "b")[0]?.line,
    "ssh 'a; rm -rf ~'",
  );
  assert.equal(
    lookCommand({ name: "o'", project: "/x y" }).line,
    String.raw`hubctl look 'o'\''' --project '/x y'`,
  );
});

test("the first commands hold the hub's own paths, quoted for the shell", () => {
  const plain = { origin: "http://127.0.0.1:4799", stateDir: "/var/lib/hub" };
  assert.equal(
    firstCommand(plain),
    "curl -H @/var/lib/hub/auth.header -d 'backup done' http://127.0.0.1:4799/notify",
  );
  const odd = {
    origin: "http://[::1]:4799",
    stateDir: "/home/o'neil/my 100% state",
  };
  assert.equal(
    firstCommand(odd),
    "curl -H '@/home/o'\\''neil/my 100% state/auth.header' -d 'backup done' 'http://[::1]:4799/notify'",
  );
  assert.match(
    firstCommand({ ...plain, stateDir: null }),
    /@"\$HOME\/\.local\/state\/hub\/auth\.header"/,
  );
});

test("a cron line has no bare per cent sign, which would end it", () => {
  const line = cronLine({
    origin: "http://127.0.0.1:4799",
    stateDir: "/home/me/100%",
  });
  assert.doesNotMatch(line, /(?<!\\)%/);
  assert.match(
    line,
    /^0 3 \* \* \* backup; curl .*'http:\/\/127\.0\.0\.1:4799\/notify\?from=cron'$/,
  );
});

test("the command for hubctl sends the same reply, for any text", () => {
  assert.deepEqual(words(hubctlCommand(REPLY)), [
    "hubctl",
    "notify",
    "--from",
    "a",
    "--to",
    "primary",
    "--type",
    "message",
    "--project",
    "p",
    "--title",
    "it's",
    "--reply-to",
    "3",
    "--data",
    `{"a":"'"}`,
    "--",
    REPLY.msg,
  ]);
});

test("the command for curl sends every field of a post, and no other field", () => {
  const all = words(
    curlCommand(REPLY, {
      origin: "http://127.0.0.1:4782",
      stateDir: "/home/a b",
    }),
  );
  assert.deepEqual(all.slice(0, 4), [
    "curl",
    "-H",
    "@/home/a b/auth.header",
    "-d",
  ]);
  const {
    id,
    ts,
    expires_at,
    from_name,
    status,
    seen,
    hops,
    received,
    ...post
  } = REPLY;
  assert.deepEqual(JSON.parse(all[4] ?? ""), post);
  assert.equal(all[5], "http://127.0.0.1:4782/notify");
});
