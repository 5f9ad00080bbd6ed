export default (pi) => {
  let hub;
  let ended = "";
  const id = (ctx) => ctx.sessionManager.getSessionId();
  const message = (content, display) => ({
    customType: "hub",
    content,
    display,
  });
  const on = (event, handle) =>
    pi.on(event, async (it, ctx) => handle(it, ctx, id(ctx)));

  on("session_start", async (_, ctx, session) => {
    hub = connect({
      cwd: ctx.cwd,
      // The other modes answer one prompt and end.
      wakes: ctx.mode === "tui" || ctx.mode === "rpc",
      parentOf: async () => undefined,
      submit: async (_, prompt, context) => {
        pi.sendMessage(message(prompt, true), { deliverAs: "steer" });
        pi.sendMessage(message(context, false), {
          deliverAs: "steer",
          triggerTurn: true,
        });
      },
    });
    // Commands of its shells inherit these variables.
    Object.assign(process.env, variables(session));
    await hub.begin(session);
  });
  on("session_shutdown", async ({ reason }, _, session) => {
    if (reason !== "reload") await hub?.report(session, "session.deleted");
    await hub?.endAll();
  });
  on("before_agent_start", async ({ messageType, prompt }, _, session) => {
    // A message of the hub starts a turn that was reported before.
    if (messageType === "custom") return undefined;
    const text = await hub?.prompt(session, prompt);
    return text ? { message: message(text, false) } : undefined;
  });
  on(
    "tool_result",
    async ({ toolName, input, content, isError }, _, session) => {
      const edits = isError ? {} : files(toolName, input);
      const text = await hub?.report(
        session,
        "tool.execute.after",
        { tool: toolName },
        edits,
      );
      return text
        ? { content: [...content, { type: "text", text }] }
        : undefined;
    },
  );
  on("agent_end", ({ messages }) => {
    const last = messages.findLast((it) => it.role === "assistant");
    ended =
      last?.content
        .flatMap((part) => (part.type === "text" ? [part.text] : []))
        .join("\n") ?? "";
  });
  on("agent_settled", async ({ aborted }, _, session) => {
    const type = aborted ? "session.execution.interrupted" : "session.idle";
    await hub?.report(session, type, {}, { last_assistant_message: ended });
  });
  on("ui_prompt_start", async ({ title }, _, session) => {
    await hub?.report(session, "question.asked", { title });
  });
  on("ui_prompt_end", async (_, __, session) => {
    await hub?.report(session, "question.replied");
  });
};
