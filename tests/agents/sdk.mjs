// One prompt by the Agent SDK, as a program asks it.
//
// node sdk.mjs DIR CLAUDE ENTRYPOINT PROMPT: DIR has the SDK installed, CLAUDE is the client's binary. Prints the result.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [dir, claude, entrypoint, prompt] = process.argv.slice(2);
const sdk = createRequire(join(dir, "package.json")).resolve(
  "@anthropic-ai/claude-agent-sdk",
);
const { query } = await import(pathToFileURL(sdk).href);
const env = { ...process.env, CLAUDE_CODE_ENTRYPOINT: entrypoint };
const options = {
  pathToClaudeCodeExecutable: claude,
  settingSources: ["user"],
  env,
};
for await (const message of query({ prompt, options })) {
  if (message.type === "result") console.log(message.result);
}
