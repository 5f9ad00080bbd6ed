import { readFileSync } from "node:fs";

// The events of OpenCode 1 and 2 that the hub is told as they are.
const EVENTS = new Set([
  "session.error",
  "session.deleted",
  "session.execution.failed",
  "session.execution.interrupted",
]);

// The error of a message that the person interrupted.
const ABORTED = "MessageAbortedError";

// The events of its dialogs.
const DIALOGS = new Set([
  "permission.asked",
  "permission.replied",
  "question.asked",
  "question.replied",
  "question.rejected",
  "form.created",
  "form.replied",
  "form.cancelled",
]);

// The command line of the process that started this one.
const parentArgs = () => {
  try {
    return readFileSync(`/proc/${process.ppid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
};

// Whether this is `opencode run`, or the server that `opencode run --standalone` starts.
const isHeadless = (
  process.argv.includes("--stdio") ? parentArgs() : process.argv
).includes("run");

// The plugin for OpenCode 1.
const server = async ({ client, directory }) => {
  // The client has no methods for dialogs, but its requests reach every route.
  const http = client._client;
  const reply = (path, requestID, body) =>
    http.post({
      url: `/${path}/{requestID}/reply`,
      path: { requestID },
      body,
      headers: { "content-type": "application/json" },
    });
  const answerer = (type, { id }) => {
    if (typeof http?.post !== "function") return undefined;
    if (type === "permission.asked")
      return ({ decision, message }) =>
        reply("permission", id, { reply: decision, message });
    if (type === "question.asked")
      return ({ answers }) =>
        reply("question", id, {
          answers: answers.map((it) => (it ? [it] : [])),
        });
    return undefined;
  };
  // The end of a turn. OpenCode says after an interrupted one too that the session is idle, once or twice, and maybe only after
  // the next prompt, so its last message tells: it is not completed, or aborted.
  const end = async (id) => {
    const { data } = await client.session.messages({ path: { id } });
    const message = data.findLast((it) => it.info.role === "assistant");
    const text = message?.parts
      .flatMap((part) => (part.type === "text" ? [part.text] : []))
      .join("\n");
    const { time, error } = message?.info ?? {};
    return { text, interrupted: !time?.completed || error?.name === ABORTED };
  };
  // Prompts that were reported before they were submitted.
  const reported = new Set();
  const hub = connect({
    cwd: directory,
    wakes: !isHeadless,
    parentOf: async (id) =>
      (await client.session.get({ path: { id } })).data?.parentID,
    submit: async (id, prompt, context) => {
      reported.add(`${id} ${prompt}`);
      const parts = [
        { type: "text", text: prompt },
        { type: "text", text: context, synthetic: true },
      ];
      await client.session.promptAsync({ path: { id }, body: { parts } });
    },
  });
  return {
    event: async ({ event: { type, properties } }) => {
      const session = properties?.sessionID;
      if (!session) return;
      if (type === "session.idle") {
        const { text, interrupted } = await end(session).catch(() => ({}));
        if (interrupted) return;
        await hub.report(session, type, properties, {
          last_assistant_message: text ?? "",
        });
      } else if (EVENTS.has(type)) await hub.report(session, type, properties);
      else if (DIALOGS.has(type))
        void hub
          .dialog(session, type, properties, answerer(type, properties))
          .catch(() => {});
      if (type === "session.deleted") await hub.end(session);
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      const part = parts.find((it) => it.type === "text");
      if (!part || reported.delete(`${sessionID} ${part.text}`)) return;
      const text = await hub.prompt(sessionID, part.text);
      // The model gets it after the prompt, and the person does not see it.
      if (text)
        parts.push({ ...part, id: `${part.id}hub`, text, synthetic: true });
    },
    "tool.execute.after": async ({ sessionID, tool, args }, output) => {
      const text = await hub.report(
        sessionID,
        "tool.execute.after",
        { tool },
        files(tool, args),
      );
      if (text) output.output += `\n\n${text}`;
    },
    "shell.env": async ({ sessionID }, { env }) => {
      if (sessionID) Object.assign(env, variables(sessionID));
    },
    dispose: hub.endAll,
  };
};

// The plugin for OpenCode 2.
const setup = async (ctx) => {
  // OpenCode 1 calls this too, and offers no sessions here.
  if (!ctx.session?.synthetic) return;
  const { directory } = ctx.location;
  const hub = connect({
    cwd: directory,
    wakes: !isHeadless,
    parentOf: async (sessionID) =>
      (await ctx.session.get({ sessionID })).parentID,
    submit: (sessionID, description, context) =>
      ctx.session.synthetic({
        sessionID,
        description,
        text: `${description}\n\n${context}`,
      }),
  });
  // A plugin can answer no form.
  const answerer = (type, { id: requestID, sessionID }) =>
    type === "permission.asked"
      ? ({ decision, message }) =>
          ctx.permission.reply({ sessionID, requestID, decision, message })
      : undefined;
  const said = new Map();
  // The shell commands that are about to start, by the ids of their calls.
  const calls = new Map();
  const happened = async ({ type, location, data }) => {
    const session = data?.sessionID ?? data?.form?.sessionID;
    if (type === "session.created" && location?.directory === directory)
      await hub.begin(session);
    if (!hub.knows(session)) return;
    if (type === "session.text.ended") said.set(session, data.text);
    else if (type === "session.execution.succeeded") {
      await hub.report(session, type, data, {
        last_assistant_message: said.get(session) ?? "",
      });
    } else if (EVENTS.has(type)) await hub.report(session, type, data);
    else if (DIALOGS.has(type))
      void hub
        .dialog(session, type, data, answerer(type, data))
        .catch(() => {});
    if (type === "session.deleted") await hub.end(session);
  };
  const listen = async () => {
    for await (const event of ctx.event.subscribe())
      await happened(event).catch(() => {});
  };
  void listen().catch(() => {});
  await ctx.session.hook("prompt", async (event) => {
    const text = await hub.prompt(event.sessionID, event.prompt.text);
    if (!text) return;
    // The model gets it before the prompt, and the person sees the description.
    const { sessionID } = event;
    await ctx.session.synthetic({
      sessionID,
      text,
      description: "From the hub",
      resume: false,
    });
  });
  await ctx.tool.hook("execute.before", ({ id, sessionID, input }) => {
    calls.set(id, { sessionID, command: input?.command });
  });
  await ctx.tool.hook("execute.after", async (event) => {
    calls.delete(event.id);
    const { tool } = event;
    const done = event.status === "completed";
    const text = await hub.report(
      event.sessionID,
      "tool.execute.after",
      { tool },
      done && files(tool, event.input),
    );
    if (text && done) {
      const content = [event.result.content ?? []].flat();
      const parts = content.map((it) =>
        it.type ? it : { type: "text", text: it },
      );
      event.result.content = [...parts, { type: "text", text }];
    }
  });
  await ctx.shell.hook("create.before", ({ command, env }) => {
    const callers = new Set(
      [...calls.values()]
        .filter((it) => it.command === command)
        .map((it) => it.sessionID),
    );
    // Two sessions may start the same command at once. Then it belongs to neither.
    if (callers.size === 1) Object.assign(env, variables([...callers][0]));
  });
  return hub.endAll;
};

export default { id: "hub", server, setup };
