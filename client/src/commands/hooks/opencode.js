// Installed by `hubctl hooks install opencode`; `hubctl hooks uninstall opencode` removes it. Changes are overwritten.
// Reports the events of this session to the hub. On any error OpenCode continues as if there were no hub.
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

// The hub's answer to `payload` as an object; undefined if there is none.
const send = (payload, cwd) =>
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

// Whether this OpenCode was started with a session of its own. A parent agent marks its session with its process id.
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
  const report = async (type, properties) => {
    const session = properties.sessionID ?? properties.info?.id
    const payload = { hook_event_name: type, type, session_id: session, cwd: directory, properties }
    if (type === "session.idle") payload.last_assistant_message = await lastMessage(client, session)
    const answer = await send(payload, directory)
    // The hub's text for the model becomes the next prompt.
    if (typeof answer?.prompt === "string" && session) {
      await client.session.promptAsync({
        path: { id: session },
        body: { parts: [{ type: "text", text: answer.prompt }] },
      })
    }
  }
  const quietly = (type, properties) => report(type, properties ?? {}).catch(() => {})
  return {
    event: async ({ event }) => {
      if (EVENTS.has(event.type)) await quietly(event.type, event.properties)
    },
    // Commands of the session's shell act as the session.
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
