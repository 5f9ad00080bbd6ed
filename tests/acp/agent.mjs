// An agent that speaks the Agent Client Protocol and does what its prompts say. It writes every line that it gets to the
// file AGENT_LOG.
import { appendFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const stubborn = process.argv.includes("--stubborn");
const steering = process.argv.includes("--steering");
const background = process.argv.includes("--background");
// Hangs in a turn that the hub begins.
const sleepy = process.argv.includes("--sleepy");
// How it answers a prompt for its running turn: `injected`, another outcome, or `error`.
const outcome =
  process.argv.find((it) => it.startsWith("--outcome="))?.slice(10) ??
  "injected";
const protocolVersion = process.argv.includes("--next-version") ? 2 : 1;

const send = (message) =>
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

// The requests of this agent that wait for an answer.
const waiting = new Map();
let lastId = 0;
const ask = (method, params) =>
  new Promise((resolve) => {
    waiting.set(++lastId, resolve);
    send({ id: lastId, method, params });
  });

let turn;
const session = process.env.AGENT_SESSION ?? `fake-${process.pid}`;
const update = (update) =>
  send({ method: "session/update", params: { sessionId: session, update } });
const say = (text) =>
  update({
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text },
  });

const options = [
  { optionId: "x1", name: "All edits", kind: "allow_always" },
  { optionId: "x2", name: "Yes", kind: "allow_once" },
  { optionId: "x3", name: "No", kind: "reject_once" },
];

// What the first word of a prompt makes the agent do with the others.
const actions = {
  say: (words) => say(words),
  async edit(path) {
    const content = [{ type: "diff", path, oldText: "old", newText: "new" }];
    const call = { toolCallId: "t1", title: `Edit ${path}`, kind: "edit" };
    update({ sessionUpdate: "tool_call", ...call, status: "pending", content });
    // The request names the call alone.
    const toolCall = { toolCallId: "t1" };
    const { outcome } = await ask("session/request_permission", {
      sessionId: session,
      toolCall,
      options,
    });
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      status: "completed",
    });
    say(`outcome ${outcome.optionId ?? outcome.outcome}`);
  },
  // Asks while another call runs, as the subagents of Claude Code do.
  async parallel(path) {
    const other = actions.tool(path).then(() => say("The other call ended."));
    await actions.edit("/tmp/fig");
    await other;
  },
  env: (name) => say(`${name} is ${process.env[name]}`),
  // Asks the person to open a page, and then for a form.
  async url() {
    void ask("elicitation/create", {
      sessionId: session,
      mode: "url",
      message: "Open this",
      url: "https://example.org",
    });
    await actions.form();
  },
  async plan() {
    const toolCall = {
      toolCallId: "t3",
      title: "Ready to code?",
      kind: "switch_mode",
      rawInput: { plan: "1. Plant a fig tree." },
    };
    const { outcome } = await ask("session/request_permission", {
      sessionId: session,
      toolCall,
      options,
    });
    say(`outcome ${outcome.optionId}`);
  },
  // As Qwen Code asks.
  async question() {
    const questions = [{ question: "Which?", options: [{ label: "Red" }] }];
    const { answers } = await ask("session/request_permission", {
      sessionId: session,
      _meta: { qwenInteractionKind: "user_question" },
      toolCall: { toolCallId: "t4", rawInput: { questions } },
      options,
    });
    say(`answers ${JSON.stringify(answers)}`);
  },
  async form() {
    const requestedSchema = {
      type: "object",
      properties: { db: { type: "string", enum: ["pg", "sqlite"] } },
      required: ["db"],
    };
    const answer = await ask("elicitation/create", {
      sessionId: session,
      mode: "form",
      message: "Which db?",
      requestedSchema,
    });
    say(`form ${JSON.stringify(answer)}`);
  },
  async write(path) {
    const written = await ask("fs/write_text_file", {
      sessionId: session,
      path,
      content: "written",
    });
    say(`wrote ${JSON.stringify(written)}`);
  },
  hang: () => turn.cancelled,
  // Ends a cancelled turn as if it had come to its end, as Qwen Code does at times.
  ignore: () => turn.cancelled,
  // A call of a tool that ends when the file exists that the prompt names.
  async tool(path) {
    update({
      sessionUpdate: "tool_call",
      toolCallId: "t2",
      title: "wait",
      kind: "execute",
      status: "in_progress",
    });
    const { existsSync } = await import("node:fs");
    while (!existsSync(path))
      await new Promise((resolve) => setTimeout(resolve, 20));
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "t2",
      status: "completed",
    });
    await turn.steered;
  },
  fail: (words) => {
    throw new Error(words);
  },
  limit: () => "max_tokens",
  die: () => process.exit(3),
  later: () => setTimeout(() => say("a task has ended"), 100),
};

const prompt = async (id, { prompt }) => {
  if (turn) {
    send({ id, error: { code: -32603, message: "busy" } });
    return;
  }
  turn = Promise.withResolvers();
  turn.cancelled = new Promise((resolve) => (turn.cancel = resolve));
  turn.steered = steering
    ? new Promise((resolve) => (turn.steer = resolve))
    : undefined;
  const [text, ...more] = prompt.map((it) => it.text);
  const [first, ...words] = text.split(" ");
  const word = sleepy && first === "Notifications" ? "hang" : first;
  const cancelled = turn.cancelled.then(() =>
    word === "ignore" ? "end_turn" : "cancelled",
  );
  try {
    const acts = (async () => actions[word]?.(words.join(" ")))();
    const ended = await Promise.race([acts, cancelled]);
    say(more.length ? `with ${more.length} more` : "alone");
    const stopReason = typeof ended === "string" ? ended : "end_turn";
    turn = undefined;
    send({ id, result: { stopReason } });
  } catch (error) {
    turn = undefined;
    send({ id, error: { code: -32603, message: error.message } });
  }
};

const modes = {
  currentModeId: "auto",
  availableModes: [
    { id: "auto", name: "Auto" },
    { id: "default", name: "Ask" },
  ],
};

const methods = {
  initialize: () => ({
    protocolVersion,
    agentInfo: { name: "fake", version: "1" },
    agentCapabilities: {
      loadSession: true,
      _meta: { steering: { supported: steering } },
    },
  }),
  "session/new": () => ({
    sessionId: session,
    models: { currentModelId: "scripted", availableModels: [] },
    modes,
  }),
  "session/load": ({ sessionId }) => {
    update({
      sessionUpdate: "user_message_chunk",
      content: { type: "text", text: `once in ${sessionId}` },
    });
    return { modes };
  },
  "session/set_mode": () => ({}),
  "_session/steering": () => {
    turn?.steer();
    if (outcome === "error") throw new Error("it cannot be injected");
    return { outcome };
  },
  "session/close": () => ({}),
};

if (process.argv.includes("--forgetful")) delete methods["session/load"];

const answer = (id, method, params) => {
  if (!methods[method]) {
    send({ id, error: { code: -32601, message: "unknown" } });
    return;
  }
  try {
    send({ id, result: methods[method](params) });
  } catch (error) {
    send({ id, error: { code: -32603, message: error.message } });
  }
};

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (process.env.AGENT_LOG) appendFileSync(process.env.AGENT_LOG, line + "\n");
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) waiting.get(id)?.(result ?? { error });
  else if (method === "session/prompt") void prompt(id, params);
  else if (method === "session/cancel") turn?.cancel();
  else if (id !== undefined) answer(id, method, params);
});
if (stubborn) setInterval(() => {}, 1000);
else lines.on("close", () => process.exit(0));
if (stubborn) writeFileSync(process.env.AGENT_PID, String(process.pid));
if (background) actions.later();
