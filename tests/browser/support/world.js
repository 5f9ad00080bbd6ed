/** A hub on a busy afternoon: projects, sessions at work, and their notifications. */

import { spawn } from "node:child_process";
import { hostname } from "node:os";

import { atEnd, until } from "./test.js";

/** @typedef {import('./hub.js').Hub} Hub */

const HUB = "/home/me/src/hub";
const SHOP = "/home/me/src/shop";
const LEDGER = "/home/me/work/ledger";

/** Arguments of a hub for {@link world}. */
export const WORLD_ARGS = ["--set", "approvals=true"];

/** @type {{name: string, project: string, agent: string, role?: string, parent?: string, branch?: string, state: string, text: string}[]} */
const SESSIONS = [
  {
    name: "lead",
    project: HUB,
    agent: "claude",
    role: "primary",
    state: "working",
    text: "Merge the three branches, then run every suite",
  },
  {
    name: "dashboard",
    project: HUB,
    agent: "claude",
    parent: "lead",
    branch: "web",
    state: "progress",
    text: "feed: 7 of 12 tests pass",
  },
  {
    name: "stats-api",
    project: HUB,
    agent: "claude",
    parent: "lead",
    branch: "stats",
    state: "approval",
    text: "cargo publish --dry-run -p hubd",
  },
  {
    name: "fold-model",
    project: HUB,
    agent: "codex",
    parent: "lead",
    branch: "model",
    state: "complete",
    text: "The model agrees with the fold over 20,000 runs; the seed of the old failure is in the suite.",
  },
  {
    name: "bench",
    project: HUB,
    agent: "claude",
    parent: "lead",
    branch: "bench",
    state: "waiting",
    text: "The numbers are in bench.md. Shall I try two workers as well?",
  },
  {
    name: "checkout",
    project: SHOP,
    agent: "claude",
    role: "primary",
    state: "question",
    text: "Which payment provider should the new checkout use?",
  },
  {
    name: "search",
    project: SHOP,
    agent: "gemini",
    parent: "checkout",
    branch: "search",
    state: "working",
    text: "Index the catalogue again with the new analyser",
  },
  {
    name: "images",
    project: SHOP,
    agent: "claude",
    parent: "checkout",
    branch: "images",
    state: "error",
    text: "overloaded",
  },
  {
    name: "prices",
    project: SHOP,
    agent: "codex",
    parent: "checkout",
    branch: "prices",
    state: "complete",
    text: "All 412 price rules are moved, and the old table is gone.",
  },
  {
    name: "reconcile",
    project: LEDGER,
    agent: "claude",
    role: "primary",
    state: "ask",
    text: "Drop the column legacy_ref from the table entries? 3 reports still read it.",
  },
  {
    name: "import",
    project: LEDGER,
    agent: "claude",
    parent: "reconcile",
    branch: "import",
    state: "gone",
    text: "Read the bank statements of October",
  },
  {
    name: "reports",
    project: LEDGER,
    agent: "copilot",
    parent: "reconcile",
    branch: "reports",
    state: "silent",
    text: "Rewrite the quarterly report as a query",
  },
];

const TEXTS = [
  ["complete", "All 214 tests pass; 3 warnings are left in feed.js."],
  ["progress", "step 3 of 8: the parser reads the old format too"],
  ["message", "The nightly backup took 14 min, twice as long as last week."],
  ["complete", "Rebased onto main, no conflicts."],
  [
    "error",
    "cargo deny: a licence of a new dependency is not on the list (Zlib).",
  ],
  ["waiting", "The migration is ready to be looked at."],
  ["testing", "Please try the new sign-in on a phone."],
  ["message", "Disk usage of the build cache is at 83 %."],
  ["progress", "compiling 212 of 340 crates"],
  ["complete", 'Opened pull request 128: "Keep the order of answers".'],
];

/**
 * Fills a hub that was started with {@link WORLD_ARGS}: 12 sessions in 3 projects, what they ask, and as many
 * notifications of the last hours.
 *
 * @param {Hub} hub
 * @param {number} [count]
 */
export async function world(hub, count = 300) {
  await hub.post(history(count));
  for (const session of SESSIONS) await register(hub, session);
  for (const session of SESSIONS) await act(hub, session);
  await hub.call(
    "PUT",
    `/sessions/bench/listeners/lead?project=${encodeURIComponent(HUB)}&within=1800&fresh=true`,
    undefined,
  );
  await hub.post({
    from: "ci",
    type: "error",
    project: HUB,
    priority: "high",
    title: "main is red",
    msg: "tests/faults failed in 4 of 50 runs: answered, and not there after the kill",
    data: { job: 4711, branch: "main", failed: ["kill", "power_cut"] },
  });
  waitFor(hub, HUB, "lead");
  await until(
    async () =>
      (await hub.get("/sessions")).sessions.some(
        (/** @type {any} */ one) => one.waiter,
      ),
    { what: "a waiter waits" },
  );
  await until(
    async () =>
      (await hub.get("/sessions?all=true")).sessions.some(
        (/** @type {any} */ one) => one.gone,
      ),
    { what: "the process that died is missed" },
  );
  await until(
    async () => (await hub.get("/questions")).questions.length === 3,
    { what: "three open questions" },
  );
}

/** Older notifications of these sessions and of scripts. @param {number} count */
function history(count) {
  const now = Date.now();
  return Array.from({ length: count }, (_, n) => {
    const [type = "message", msg = ""] = TEXTS[(n * 7) % TEXTS.length] ?? [];
    const { project, name, parent } = SESSIONS[(n * 5) % SESSIONS.length] ?? {
      project: HUB,
      name: "lead",
    };
    const from = type === "message" ? ["ci", "cron", "backup"][n % 3] : name;
    const ts = new Date(now - (count - n) * 37_000).toISOString();
    const done =
      type === "progress" ? { data: { completed: n % 8, total: 8 } } : {};
    return {
      type,
      msg: n % 10 < 3 ? msg : `${msg} (${n})`,
      project,
      from,
      parent,
      ts,
      priority: n % 40 === 0 ? "high" : "normal",
      ...done,
    };
  });
}

/** @param {Hub} hub @param {typeof SESSIONS[number]} session */
async function register(
  hub,
  { name, project, agent, role, parent, branch, state },
) {
  const cwd = branch ? `${project}-${branch}` : project;
  const pane = `%${SESSIONS.findIndex((one) => one.name === name) + 3}`;
  const params = {
    project,
    name,
    session: name,
    host: hostname(),
    pane,
    main: !branch,
    ...(role ? { role } : {}),
    ...(parent ? { parent } : {}),
  };
  const start = {
    hook_event_name: "SessionStart",
    session_id: id(name),
    cwd,
    source: "startup",
  };
  if (agent === "copilot") {
    await hub.call(
      "PUT",
      `/sessions/${name}?project=${encodeURIComponent(project)}`,
      { name, agent, cwd, host: hostname(), ...(parent ? { parent } : {}) },
    );
  } else if (state === "gone") {
    await startAgent(hub, start, params);
  } else {
    await hub.hook("claude", start, params);
  }
}

/** @param {Hub} hub @param {typeof SESSIONS[number]} session */
async function act(hub, { name, project, branch, parent, state, text }) {
  const cwd = branch ? `${project}-${branch}` : project;
  const params = {
    project,
    name,
    session: name,
    host: hostname(),
    ...(parent ? { parent } : {}),
  };
  const hook = (/** @type {string} */ event, /** @type {object} */ more) =>
    hub.hook(
      "claude",
      { hook_event_name: event, session_id: id(name), cwd, ...more },
      params,
    );
  const prompt = () => hook("UserPromptSubmit", { prompt: text });
  if (state === "working" || state === "gone") await prompt();
  if (state === "gone") killProcess();
  if (state === "silent")
    await hub.post({
      from: name,
      project,
      type: "progress",
      msg: text,
      ts: new Date(Date.now() - 25 * 60_000).toISOString(),
    });
  if (state === "progress")
    await hub.post({
      from: name,
      project,
      type: "progress",
      msg: text,
      data: { completed: 7, total: 12 },
    });
  if (state === "complete" || state === "waiting") {
    await prompt();
    await hook("Stop", {
      stop_hook_active: false,
      last_assistant_message: text,
      background_tasks: [],
    });
  }
  if (state === "error")
    await hook("StopFailure", {
      error: "billing_error",
      error_type: "billing_error",
      message: "Your credit balance is too low.",
    });
  if (state === "question") {
    const options = [
      { label: "Stripe", description: "what the old one uses" },
      { label: "Adyen", description: "cheaper from 2,000 orders a month" },
    ];
    await hook("PreToolUse", {
      tool_name: "AskUserQuestion",
      tool_use_id: "t1",
      tool_input: {
        questions: [
          { header: "Payment", multiSelect: false, question: text, options },
        ],
      },
    });
  }
  if (state === "ask")
    await hub.post({
      from: name,
      project,
      type: "question",
      msg: text,
      options: ["Yes, drop it", "No, keep it", "Keep it until January"],
    });
  // The hub holds the request until it is answered or the test ends.
  if (state === "approval")
    hook("PermissionRequest", {
      tool_name: "Bash",
      tool_input: { command: text, description: "See what would be published" },
      permission_mode: "default",
      permission_suggestions: [],
    }).catch(() => {});
}

/** @param {Hub} hub @param {string} project @param {string} session */
function waitFor(hub, project, session) {
  const query = new URLSearchParams({
    project,
    session,
    as: session,
    way: "rewake",
    min_priority: "urgent",
    timeout: "600",
  });
  hub.get(`/wait?${query}`).catch(() => {});
}

/** The last process that {@link startAgent} started. @type {import('node:child_process').ChildProcess | undefined} */
let last;

/** Runs a hook, and then as long as the test. */
const AGENT =
  'curl -sf -o /dev/null --unix-socket "$1" --json "$2" "http://hub/hooks/claude?$3&pid=$$" && exec sleep 600';

/**
 * Starts a process that reports a hook of its own, as an agent's hook does: on the socket, and from below the process.
 *
 * @param {Hub} hub
 * @param {object} payload
 * @param {Record<string, string | number | boolean>} params
 */
export async function startAgent(hub, payload, params) {
  const words = Object.entries(params).map(([name, value]) => [
    name,
    String(value),
  ]);
  const child = spawn(
    "sh",
    [
      "-c",
      AGENT,
      "sh",
      hub.socket.socketPath,
      JSON.stringify(payload),
      String(new URLSearchParams(words)),
    ],
    { stdio: "ignore" },
  );
  last = child;
  atEnd(() => child.kill("SIGKILL"));
  const isKnown = (/** @type {any} */ { process }) =>
    process?.pid === child.pid;
  await until(async () => (await hub.get("/sessions")).sessions.some(isKnown), {
    what: "the hub knows the process",
  });
}

export function killProcess() {
  last?.kill("SIGKILL");
}

/** @param {string} name */
function id(name) {
  const hex = Buffer.from(name).toString("hex").padEnd(12, "0").slice(0, 12);
  return `1b1c0a5e-0000-4000-8000-${hex}`;
}

const NAMES = [
  "login",
  "search",
  "images",
  "prices",
  "checkout",
  "docs",
  "bench",
  "import",
  "reports",
  "cart",
  "mail",
  "auth",
];
const PROMPTS = [
  "Index the catalogue again with the new analyser",
  "Merge the three branches, then run every suite",
  "Move the price rules into the new table",
  "Find out why the import is slow",
];
const WORDS = [
  "All 214 tests pass; 3 warnings are left in feed.js.",
  "The migration is ready to be looked at.",
  "Opened pull request 128. Shall I merge it?",
  "Rebased onto main, no conflicts.",
];

/**
 * Agents in three projects: a quarter stopped, two or more ask, some are workers, the others work.
 *
 * @param {Hub} hub
 * @param {number} count
 */
export async function agents(hub, count) {
  for (let n = 0; n < count; n += 1) {
    const project = [HUB, SHOP, LEDGER][n % 3] ?? HUB;
    const name = `${NAMES[n % NAMES.length]}${n < NAMES.length ? "" : `-${Math.floor(n / NAMES.length) + 1}`}`;
    const params = {
      project,
      name,
      session: name,
      host: hostname(),
      ...(n % 5 === 4 ? { parent: NAMES[(n - 3) % NAMES.length] ?? "" } : {}),
    };
    const hook = (/** @type {string} */ event, /** @type {object} */ more) =>
      hub.hook(
        "claude",
        {
          hook_event_name: event,
          session_id: id(name),
          cwd: n % 3 ? `${project}-${["web", "api", "model"][n % 3]}` : project,
          ...more,
        },
        params,
      );
    await hook("SessionStart", { source: "startup" });
    await hook("UserPromptSubmit", { prompt: PROMPTS[n % PROMPTS.length] });
    if (n % 4 === 1)
      await hook("Stop", {
        stop_hook_active: false,
        last_assistant_message: WORDS[n % WORDS.length],
        background_tasks: [],
      });
    if (n % 6 === 2 && n < 18)
      await hub.post({
        project,
        from: name,
        session: name,
        type: "question",
        msg: "Drop the column legacy_ref? 3 reports still read it.",
        options: ["Drop it", "Keep it"],
      });
    if (n % 15 === 7)
      await hook("StopFailure", {
        error: "billing_error",
        error_type: "billing_error",
        message: "Your credit balance is too low.",
      });
  }
}
