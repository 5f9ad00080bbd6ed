// Reports what the sessions of this agent do to the hub, and wakes them. On any error the agent continues as if there were
// no hub. Changes to this file are overwritten.
import { spawn } from "node:child_process"
import http from "node:http"

const COMMAND = "hubctl hook AGENT"
const HUBCTL = ["hubctl"]

const WAKES = COMMAND.includes(" --rewake")
const POLL_SECONDS = 25
const RETRY_MS = 1000

// The environment of this agent, without variables that it set for its own shells.
const environment = () => {
  const { HUB_SESSION: session, HUB_SESSION_PID: mark, ...others } = process.env
  return mark === `${process.pid}:${session}` ? others : process.env
}

// The output of a program.
const run = ([program, ...args], cwd, input = "") =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: environment(), stdio: ["pipe", "pipe", "ignore"] })
    let output = ""
    child.on("error", reject)
    child.on("close", () => resolve(output))
    child.stdin.on("error", () => {})
    child.stdin.end(input)
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => (output += text))
  })

// The status and the body of the hub's answer on its socket.
const request = (socketPath, method, path, { body, signal } = {}) =>
  new Promise((resolve, reject) => {
    const headers = { host: "hub", "content-type": "application/json" }
    const sent = http.request({ socketPath, method, path, headers, signal }, (answer) => {
      let text = ""
      answer.setEncoding("utf8")
      answer.on("data", (part) => (text += part))
      answer.on("error", reject)
      answer.on("end", () => resolve({ status: answer.statusCode, text }))
    })
    sent.on("error", reject)
    sent.end(body && JSON.stringify(body))
  })

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref?.())

// Whether this agent was started with a session of its own. A parent agent marks its session with its process id.
const isGiven = ({ HUB_SESSION: session, HUB_SESSION_PID: mark }) =>
  session && mark !== undefined ? mark.includes(":") && !mark.endsWith(`:${session}`) : Boolean(session)

// The variables with which commands of the session's shell act as the session.
const variables = (session) =>
  isGiven(process.env) ? {} : { HUB_SESSION: session, HUB_SESSION_PID: `${process.pid}:${session}` }

// The hub's side of the sessions in the directory `cwd`. `isSubagent` tells whether a session belongs to a subagent, which
// the hub does not follow. `submit` starts a turn of a session with a prompt for the person and a text for the model.
const connect = ({ cwd, wakes, isSubagent, submit }) => {
  // Each known session with the hub's introduction for its model, and the end of its polling; `undefined` for subagents.
  const sessions = new Map()
  let hub

  const send = async (session, type, properties, more) => {
    const payload = { hook_event_name: type, session_id: session, cwd, properties, ...more }
    try {
      return JSON.parse(await run(["/bin/sh", "-c", COMMAND], cwd, JSON.stringify(payload))).context
    } catch {
      return undefined
    }
  }

  const wake = async (session, { lease, prompt }) => {
    // From here on the hub offers the notifications to no other waiter. The answer to the report of the prompt contains
    // them.
    const path = `/inboxes/${encodeURIComponent(session)}/ack?${new URLSearchParams({ project: hub.project })}`
    const taken = await request(hub.socket, "POST", path, { body: { lease } })
    if (taken.status !== 200) return
    const context = await send(session, "chat.message", { text: prompt })
    await submit(session, prompt, context ?? "")
  }

  const locate = async () => {
    const found = JSON.parse(await run([...HUBCTL, "config", "--json"], cwd))
    // A hub that is named by a URL has no socket; then a background command wakes the session.
    return { socket: found.socket.value, project: found.project.value }
  }

  const poll = async (session, signal) => {
    let takeover = false
    while (!signal.aborted) {
      try {
        hub ??= await locate()
        const query = new URLSearchParams({
          session,
          project: hub.project,
          way: "module",
          as: `module:${session}`,
          timeout: String(POLL_SECONDS),
          takeover: String(takeover),
        })
        const { status, text } = await request(hub.socket, "GET", `/wait?${query}`, { signal })
        // Another way to wake this session holds the inbox, and this one is better. Another module is as good.
        const holder = status === 409 ? JSON.parse(text).holder : undefined
        takeover = holder !== undefined && holder.way !== "module"
        if (status === 200) await wake(session, JSON.parse(text))
        else if (status !== 204 && !takeover) await sleep(RETRY_MS)
      } catch {
        await sleep(RETRY_MS)
      }
    }
  }

  const begin = async (session) => {
    if (await isSubagent(session).catch(() => false)) return undefined
    const introduction = await send(session, "session.created")
    const polling = new AbortController()
    if (WAKES && wakes) void poll(session, polling.signal)
    return { introduction, polling }
  }

  const known = (session) => {
    if (!sessions.has(session)) sessions.set(session, begin(session))
    return sessions.get(session)
  }

  const end = async (session) => {
    const ended = await sessions.get(session)
    sessions.delete(session)
    ended?.polling.abort()
  }

  return {
    begin: known,
    knows: (session) => sessions.has(session),
    // Reports an event of a session; returns the hub's text for the model.
    report: async (session, type, properties, more) => ((await known(session)) ? send(session, type, properties, more) : undefined),
    // Reports a prompt; returns the hub's text for the model.
    prompt: async (session, text) => {
      const found = await known(session)
      if (!found) return ""
      const context = await send(session, "chat.message", { text })
      const texts = [found.introduction, context].filter(Boolean)
      found.introduction = undefined
      return texts.join("\n\n")
    },
    end,
    endAll: () => Promise.all([...sessions.keys()].map(end)),
  }
}
