// Installed by `hubctl hooks install opencode`; `hubctl hooks uninstall opencode` removes it. Changes are overwritten.
// Tells the hub what this session does. Whatever goes wrong here, OpenCode goes on as if there were no hub.
import { spawn } from "node:child_process"

const COMMAND = "hubctl hook opencode"

const EVENTS = new Set([
  "session.created",
  "session.idle",
  "session.error",
  "session.deleted",
  "permission.asked",
  "permission.updated",
  "permission.replied",
  "question.asked",
])

// The hub's answer to `payload`, an object; undefined where it has none.
const tell = (payload, cwd) =>
  new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", COMMAND], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    let answer = ""
    child.on("error", () => resolve(undefined))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (chunk) => (answer += chunk))
    child.on("close", () => {
      try {
        resolve(JSON.parse(answer))
      } catch {
        resolve(undefined)
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })

// Whether somebody gave this OpenCode a session of its own. One of an agent above says for which process it was set.
const isGiven = ({ HUB_SESSION: session, HUB_SESSION_PID: mark }) =>
  session && mark !== undefined ? mark.includes(":") && !mark.endsWith(`:${session}`) : Boolean(session)

const lastMessage = async (client, id) => {
  try {
    const { data } = await client.session.messages({ path: { id } })
    const last = data.findLast((it) => it.info.role === "assistant")
    return last?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  } catch {
    return undefined
  }
}

export const Hub = async ({ client, directory }) => {
  const say = async (type, properties) => {
    const session = properties.sessionID ?? properties.info?.id
    const payload = { hook_event_name: type, type, session_id: session, cwd: directory, properties }
    if (type === "session.idle") payload.last_assistant_message = await lastMessage(client, session)
    const answer = await tell(payload, directory)
    // What the hub wants the model to read becomes the next prompt.
    if (typeof answer?.prompt === "string" && session) {
      await client.session.promptAsync({
        path: { id: session },
        body: { parts: [{ type: "text", text: answer.prompt }] },
      })
    }
  }
  const quietly = (type, properties) => say(type, properties ?? {}).catch(() => {})
  return {
    event: async ({ event }) => {
      if (EVENTS.has(event.type)) await quietly(event.type, event.properties)
    },
    // The commands of the session's shell are the session.
    "shell.env": async (input, output) => {
      if (!input.sessionID || isGiven(process.env)) return
      output.env.HUB_SESSION = input.sessionID
      output.env.HUB_SESSION_PID = `${process.pid}:${input.sessionID}`
    },
    "tool.execute.after": async (input) => {
      await quietly("tool.execute.after", { sessionID: input.sessionID, tool: input.tool })
    },
  }
}
