// Checks JSON values against types of @anthropic-ai/claude-agent-sdk with the TypeScript compiler.
//
// node types.mjs DIR <cases: DIR has both packages installed; cases is [{"type": "HookInput", "event": "Stop" | null,
// "value": …}]. With an event, the reply must be one that this event takes. Prints what is wrong; exit code 1 then.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const dir = process.argv[2];
const ts = createRequire(join(dir, "package.json"))("typescript");
const cases = JSON.parse(readFileSync(0, "utf8"));

/** One statement a case, one line each, so that a diagnostic's line names its case. */
function statement({ type, event, value }, index) {
  const own = `{ hookSpecificOutput?: { hookEventName: ${JSON.stringify(event)} } }`;
  const narrowed = event ? `SDK.${type} & ${own}` : `SDK.${type}`;
  return `export const case${index}: ${narrowed} = ${JSON.stringify(value)};`;
}

const name = join(dir, "cases.ts");
const source = [
  `import type * as SDK from '@anthropic-ai/claude-agent-sdk';`,
  ...cases.map(statement),
].join("\n");
const options = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.NodeNext,
  types: [],
};
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists } = host;
host.fileExists = (file) => file === name || fileExists.call(host, file);
host.getSourceFile = (file, ...rest) =>
  file === name
    ? ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
    : getSourceFile.call(host, file, ...rest);

const program = ts.createProgram([name], options, host);
for (const found of ts.getPreEmitDiagnostics(program)) {
  const text = ts.flattenDiagnosticMessageText(found.messageText, "\n");
  const line =
    found.file?.fileName === name
      ? found.file.getLineAndCharacterOfPosition(found.start).line
      : 0;
  const about =
    line > 0 ? JSON.stringify(cases[line - 1]) : (found.file?.fileName ?? "");
  console.log(`${about}\n${text}\n`);
  process.exitCode = 1;
}
