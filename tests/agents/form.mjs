// An MCP server with one tool, which asks the person by a form and returns the answer.
import { createInterface } from "node:readline";

const FORM = {
  message: "Which database?",
  requestedSchema: {
    type: "object",
    properties: { db: { type: "string", enum: ["postgres", "sqlite"] } },
    required: ["db"],
  },
};
let call;

const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const results = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "form", version: "1" },
  },
  "tools/list": {
    tools: [
      { name: "choose", inputSchema: { type: "object", properties: {} } },
    ],
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === "tools/call") {
    call = message.id;
    send({ id: "form", method: "elicitation/create", params: FORM });
  } else if (message.id === "form") {
    send({
      id: call,
      result: {
        content: [
          { type: "text", text: `chosen: ${JSON.stringify(message.result)}` },
        ],
      },
    });
  } else if (message.method in results) {
    send({ id: message.id, result: results[message.method] });
  } else if (message.method && message.id !== undefined) {
    send({
      id: message.id,
      error: { code: -32601, message: "no such method" },
    });
  }
});
