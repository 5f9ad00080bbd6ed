// The hub's tools, called by the reference client of MCP for TypeScript: over HTTP, and through hubctl mcp.

import assert from "node:assert/strict";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const { HUB, TOKEN, HUBCTL, HUB_STATE_DIR, PATH } = process.env;

/** Calls every tool; `text` joins the texts of a result. */
async function callAll(client, name) {
  const call = async (tool, args = {}) => {
    const result = await client.callTool({ name: tool, arguments: args });
    const text = result.content.map((block) => block.text).join("\n");
    assert.ok(!result.isError, text);
    return text;
  };
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ["notify", "ask", "answer", "claim", "inbox", "sessions", "wait"],
  );
  const { prompts } = await client.listPrompts();
  for (const prompt of prompts)
    assert.equal(
      (await client.getPrompt({ name: prompt.name })).messages.length,
      1,
    );
  assert.match(
    await call("notify", { message: "hello", to: name }),
    /"msg":"hello"/,
  );
  assert.doesNotMatch(await call("sessions"), /"msg":"hello"/);
  assert.match(
    await call("ask", {
      question: "Which port?",
      to: "boss",
      options: ["1", "2"],
    }),
    /^Question \d+ is stored/,
  );
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const body = JSON.stringify({
    type: "question",
    from: "asker",
    to: name,
    msg: "Which db?",
  });
  const { id } = await (
    await fetch(`${HUB}/notify`, { method: "POST", headers, body })
  ).json();
  await call("claim", { id });
  assert.match(await call("answer", { id, answer: "2" }), /^Answered/);
  assert.match(await call("inbox"), /^No notifications are pending for you/);
  assert.match(await call("wait", { seconds: 0 }), /^Nothing arrived/);
  const refused = await client.callTool({
    name: "answer",
    arguments: { id, answer: "1" },
  });
  assert.ok(
    refused.isError && /question_settled/.test(refused.content[0].text),
  );
  await assert.rejects(client.callTool({ name: "rm", arguments: {} }));
}

const hubctl = (name, ...more) =>
  new StdioClientTransport({
    command: HUBCTL,
    args: ["mcp", ...more],
    env: { HUB_STATE_DIR, PATH, HUB_SESSION: name, HUB_PROJECT: "default" },
  });

/** Answers a question to the person in a dialog. */
async function answerInDialog() {
  const client = new Client(
    { name: "reference", version: "1" },
    { capabilities: { elicitation: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    assert.match(params.message, /Which nut\?/);
    return { action: "accept", content: { answer: "hazel" } };
  });
  await client.connect(hubctl("ts-dialog", "--dialogs"));
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const body = JSON.stringify({
    type: "question",
    from: "asker",
    to: "person",
    msg: "Which nut?",
  });
  const { id } = await (
    await fetch(`${HUB}/notify`, { method: "POST", headers, body })
  ).json();
  const answered = await (
    await fetch(`${HUB}/questions/${id}?timeout=20`, { headers })
  ).json();
  assert.deepEqual([answered.answer, answered.by], ["hazel", "person"]);
  await client.close();
}

for (const [name, transport] of [
  [
    "ts-http",
    new StreamableHTTPClientTransport(new URL(`${HUB}/mcp?session=ts-http`), {
      requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
    }),
  ],
  ["ts-stdio", hubctl("ts-stdio")],
]) {
  const client = new Client({ name: "reference", version: "1" });
  await client.connect(transport);
  await callAll(client, name);
  await client.close();
}
await answerInDialog();
