// The hub's module in Claude Code: it wakes the idle session, and reports who begins each turn.
// Written by hubctl; changes are overwritten. On any error Claude Code continues as if there were no hub.

const HUBCTL = ["hubctl"];

// The host ends a request after 30 s.
const POLL_SECONDS = 25;
const PATIENCE_MS = 500;
const RETRY_MS = 1000;

// The hub's socket and the session's project; undefined while no hub is found.
let hub;

const HELP = `/hub              the sessions, and who needs you
/hub inbox        what is pending, and where
/hub questions    the open questions
/hub ask TEXT     ask the person, or the primary session
/hub answer ID TEXT`;

// The arguments of hubctl for the words after /hub; undefined if there is no such command.
const command = (words) => {
  const [verb = "who", ...rest] = words;
  if (verb === "who") return ["sessions"];
  if (verb === "inbox") return ["inboxes"];
  if (verb === "questions") return ["questions"];
  if (verb === "ask" && rest.length > 0) return ["ask", "--", rest.join(" ")];
  if (verb === "answer" && rest.length > 1)
    return ["answer", "--", rest[0], rest.slice(1).join(" ")];
  return undefined;
};

export function register(on) {
  on("session.start", async ($, e, next) => {
    const locate = async () => {
      const { exitCode, stdout } = await $.process.run([
        ...HUBCTL,
        "config",
        "--json",
      ]);
      const found = exitCode === 0 ? JSON.parse(stdout) : {};
      // A hub that is named by a URL has no socket; then other ways wake the session.
      if (!found.socket) throw new Error("no socket");
      return { socket: found.socket.value, project: found.project.value };
    };
    const send = (method, path, body) =>
      $.http.fetch(`http://hub${path}`, {
        method,
        socketPath: hub.socket,
        headers: { "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
    let takeover = false;
    // Delivers one batch; returns how long to wait before the next request.
    const deliver = async () => {
      hub ??= await locate();
      const session = await $.session.id();
      const { project } = hub;
      const query = new URLSearchParams({
        session,
        project,
        way: "module",
        as: `module:${session}`,
        timeout: String(POLL_SECONDS),
        takeover: String(takeover),
      });
      const answer = await send("GET", `/wait?${query}`);
      // Another way to wake this session holds the inbox, and this one is better. Another module is as good: it is one of
      // a second process with the same session.
      const holder =
        answer.status === 409 ? JSON.parse(answer.text).holder : undefined;
      takeover = holder !== undefined && holder.way !== "module";
      if (answer.status === 204 || takeover) return 0;
      // The session is unknown until its first hook has been reported.
      if (answer.status !== 200) return RETRY_MS;
      const { lease, prompt, notifications, remaining } = JSON.parse(
        answer.text,
      );
      // From here on the hub offers them to no other waiter, however long the session is busy. The answer to the hook of
      // the prompt carries them to the model.
      const path = `/inboxes/${session}/ack?${new URLSearchParams({ project })}`;
      const taken = await send("POST", path, { lease });
      if (!taken.ok) return RETRY_MS;
      $.ui.status(`${notifications.length + remaining} pending`);
      try {
        await $.prompt.submit({ text: prompt });
      } finally {
        $.ui.status(undefined);
      }
      return 0;
    };
    const poll = async () => {
      let pause = RETRY_MS;
      try {
        pause = await deliver();
      } catch {
        hub = undefined;
      }
      $.clock.after(pause, poll);
    };
    await $.command.register({
      name: "hub",
      description: "Inbox, questions and sessions of the hub",
    });
    if (e.isInteractive || (await $.env.get("HUB_REWAKE_HEADLESS")) === "1")
      $.clock.after(0, poll);
    return next(e);
  });

  on("prompt.submit", async ($, e, next) => {
    if (hub && e.turnId === undefined) {
      const session_id = await $.session.id();
      const body = JSON.stringify({
        hook_event_name: "PromptOrigin",
        session_id,
        origin: e.origin,
      });
      const query = new URLSearchParams({ project: hub.project });
      const report = $.http.fetch(`http://hub/hooks/claude?${query}`, {
        method: "POST",
        socketPath: hub.socket,
        headers: { "content-type": "application/json" },
        body,
      });
      await Promise.race([report, $.clock.sleep(PATIENCE_MS)]).catch(() => {});
    }
    return next(e);
  });

  on("command.run", { command: "hub" }, async ($, e) => {
    const args = command((e.args ?? "").split(/\s+/).filter(Boolean));
    if (args === undefined) return { text: HELP };
    const { stdout, stderr } = await $.process.run([...HUBCTL, ...args]);
    return { text: `${stdout}${stderr}`.trim() || "nothing" };
  });
}
