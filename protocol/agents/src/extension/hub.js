// Reports what the sessions of this agent do to the hub, and wakes them. On any error the agent continues as if there were
// no hub. Changes to this file are overwritten.
import { spawn } from "node:child_process";
import http from "node:http";

const COMMAND = "hubctl hook AGENT";
const HUBCTL = ["hubctl"];

const WAKES = COMMAND.includes(" --rewake");
const POLL_SECONDS = 25;
const RETRY_MS = 1000;

// The environment of this agent, without variables that it set for its own shells.
const environment = () => {
  const {
    HUB_SESSION: session,
    HUB_SESSION_PID: mark,
    ...others
  } = process.env;
  return mark === `${process.pid}:${session}` ? others : process.env;
};

// The output of a program.
const run = ([program, ...args], cwd, input = "") =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: environment(),
      stdio: ["pipe", "pipe", "ignore"],
    });
    let output = "";
    child.on("error", reject);
    child.on("close", () => resolve(output));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text) => (output += text));
  });

// The status and the body of the hub's answer on its socket.
const request = (socketPath, method, path, { body, signal } = {}) =>
  new Promise((resolve, reject) => {
    const headers = { host: "hub", "content-type": "application/json" };
    const sent = http.request(
      { socketPath, method, path, headers, signal },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (part) => (text += part));
        answer.on("error", reject);
        answer.on("end", () => resolve({ status: answer.statusCode, text }));
      },
    );
    sent.on("error", reject);
    // Bun, which runs OpenCode 1, reports no error for it.
    signal?.addEventListener("abort", () => reject(signal.reason));
    sent.end(body && JSON.stringify(body));
  });

const sleep = (ms) =>
  new Promise((resolve) => setTimeout(resolve, ms).unref?.());

// Whether this agent was started with a session of its own. A parent agent marks its session with its process id.
const isGiven = ({ HUB_SESSION: session, HUB_SESSION_PID: mark }) =>
  session && mark !== undefined
    ? mark.includes(":") && !mark.endsWith(`:${session}`)
    : Boolean(session);

// The variables with which commands of the session's shell act as the session.
const variables = (session) =>
  isGiven(process.env)
    ? {}
    : { HUB_SESSION: session, HUB_SESSION_PID: `${process.pid}:${session}` };

// The events that end a turn.
const ENDS = new Set([
  "session.idle",
  "session.error",
  "session.execution.succeeded",
  "session.execution.failed",
  "session.execution.interrupted",
]);

// The files that a tool call names, for the hub, which tells whether the tool edits them. A patch without its contents.
const files = (tool, { filePath, path, patchText } = {}) => {
  const heads = patchText
    ?.match?.(/^\*\*\* (Add File|Update File|Move to): .*/gm)
    ?.join("\n");
  return { tool_name: tool, tool_input: { filePath, path, patchText: heads } };
};

// A session that the hub knows. The hub is polled only between its turns, because the hooks deliver during a turn, and
// their next event proves that the model has the notifications.
class Session {
  introduction = undefined;
  ended = false;
  #polling = undefined;
  #turn = undefined;

  // The signal that ends the next poll. It waits for the end of the turn.
  async idle() {
    await this.#turn?.promise;
    this.#polling = new AbortController();
    return this.#polling.signal;
  }

  work() {
    this.#turn ??= Promise.withResolvers();
    this.#polling?.abort();
  }

  rest() {
    this.#turn?.resolve();
    this.#turn = undefined;
  }

  end() {
    this.ended = true;
    this.rest();
    this.#polling?.abort();
  }
}

// The hub's side of the sessions in the directory `cwd`. `parentOf` returns the session to which a subagent's session
// belongs: the hub follows no subagent, but its dialogs are shown in the session at the top. `submit` starts a turn of a
// session with a prompt for the person and a text for the model.
const connect = ({ cwd, wakes, parentOf, submit }) => {
  // Each session by its id, `undefined` for a subagent.
  const sessions = new Map();
  let hub;

  // The hub's answer to an event.
  const exchange = async (id, type, properties, more) => {
    const payload = {
      hook_event_name: type,
      session_id: id,
      cwd,
      properties,
      ...more,
    };
    try {
      return JSON.parse(
        await run(["/bin/sh", "-c", COMMAND], cwd, JSON.stringify(payload)),
      );
    } catch {
      return {};
    }
  };

  const send = async (...event) => (await exchange(...event)).context;

  const top = async (id) => {
    const parent = await parentOf(id).catch(() => undefined);
    return parent ? top(parent) : id;
  };

  const wake = async (id, session, { lease, prompt }) => {
    // From here on the hub offers the notifications to no other waiter. The answer to the report of the prompt contains
    // them.
    const path = `/inboxes/${encodeURIComponent(id)}/ack?${new URLSearchParams({ project: hub.project })}`;
    const taken = await request(hub.socket, "POST", path, { body: { lease } });
    if (taken.status !== 200) return;
    session.work();
    try {
      await submit(
        id,
        prompt,
        (await send(id, "chat.message", { text: prompt })) ?? "",
      );
    } catch {
      session.rest();
    }
  };

  const locate = async () => {
    const found = JSON.parse(await run([...HUBCTL, "config", "--json"], cwd));
    // A hub that is named by a URL has no socket; then only hooks deliver.
    return { socket: found.socket.value, project: found.project.value };
  };

  // Polls once; returns whether to take the inbox over with the next poll.
  const pollOnce = async (id, session, takeover) => {
    const signal = await session.idle();
    hub ??= await locate();
    const query = new URLSearchParams({
      session: id,
      project: hub.project,
      way: "module",
      as: `module:${id}`,
      timeout: String(POLL_SECONDS),
      takeover: String(takeover),
    });
    // A request does not notice a signal that was given before it began.
    signal.throwIfAborted();
    const { status, text } = await request(
      hub.socket,
      "GET",
      `/wait?${query}`,
      { signal },
    );
    // Another way to wake this session holds the inbox, and this one is better. Another module is as good.
    const { code, holder } = status === 409 ? JSON.parse(text) : {};
    const isBetter = holder !== undefined && holder.way !== "module";
    if (status === 200) await wake(id, session, JSON.parse(text));
    // Another process waits, maybe for the whole session: `hub-acp`.
    else if (code === "taken_over") await sleep(POLL_SECONDS * 1000);
    else if (status !== 204 && !isBetter) await sleep(RETRY_MS);
    return isBetter;
  };

  const poll = async (id, session) => {
    let takeover = false;
    while (!session.ended) {
      try {
        takeover = await pollOnce(id, session, takeover);
      } catch (error) {
        if (error?.name !== "AbortError") await sleep(RETRY_MS);
      }
    }
  };

  const begin = async (id) => {
    if (await parentOf(id).catch(() => undefined)) return undefined;
    const session = new Session();
    session.introduction = await send(id, "session.created");
    if (WAKES && wakes) void poll(id, session);
    return session;
  };

  const known = (id) => {
    if (!sessions.has(id)) sessions.set(id, begin(id));
    return sessions.get(id);
  };

  const end = async (id) => {
    const session = await sessions.get(id);
    sessions.delete(id);
    session?.end();
  };

  return {
    begin: known,
    knows: (id) => sessions.has(id),
    // Reports an event of a session; returns the hub's text for the model.
    report: async (id, type, properties, more) => {
      const session = await known(id);
      if (!session) return undefined;
      const context = await send(id, type, properties, more);
      if (ENDS.has(type)) session.rest();
      return context;
    },
    // Reports an event of a dialog, also of a subagent's. If the agent's API can `answer` it, the report lasts until the
    // dialog was answered: here, or in the terminal.
    dialog: async (id, type, properties, answer) => {
      const owner = await top(id);
      if (!(await known(owner))) return;
      const more = {
        answerable: answer !== undefined,
        agent_id: owner === id ? undefined : id,
      };
      const reply = await exchange(owner, type, properties, more);
      if (answer && (reply.answers ?? reply.decision)) await answer(reply);
    },
    // Reports a prompt; returns the hub's text for the model.
    prompt: async (id, text) => {
      const session = await known(id);
      if (!session) return "";
      session.work();
      const context = await send(id, "chat.message", { text });
      const texts = [session.introduction, context].filter(Boolean);
      session.introduction = undefined;
      return texts.join("\n\n");
    },
    end,
    endAll: () => Promise.all([...sessions.keys()].map(end)),
  };
};
