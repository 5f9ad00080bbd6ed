/** Needs of every kind, also long ones. */

import { until } from "./test.js";

/** @typedef {import('./hub.js').Hub} Hub */
/** @typedef {{from?: string, cwd?: string, suggestions?: object[]}} Asker */

const PROJECT = "/home/me/src/hub";

/** @param {Hub} hub @param {object} [more] */
export async function ask(hub, more = {}) {
  const { id } = await hub.post({
    project: PROJECT,
    from: "login",
    type: "question",
    msg: "Which port?",
    ...more,
  });
  return id;
}

/**
 * Sends a hook of Claude Code that waits for the person's answer; returns its question's id once it waits.
 *
 * @param {Hub} hub
 * @param {object} event
 * @param {Asker} [asker]
 * @returns {Promise<number>}
 */
async function held(hub, event, { from = "login", cwd = PROJECT } = {}) {
  const questions = async () => (await hub.get("/questions")).questions;
  const known = new Set(
    (await questions()).map((/** @type {{id: number}} */ { id }) => id),
  );
  hub
    .hook(
      "claude",
      { session_id: from, cwd, ...event },
      { project: PROJECT, name: from },
    )
    .catch(() => {});
  const isHeld = (/** @type {{id: number, held_until?: string}} */ it) =>
    !known.has(it.id) && it.held_until !== undefined;
  return until(async () => (await questions()).find(isHeld)?.id, {
    what: "the hook waits",
  });
}

/** @param {Hub} hub @param {string} tool @param {object} input @param {Asker} [asker] */
export const permission = (hub, tool, input, asker = {}) =>
  held(
    hub,
    {
      hook_event_name: "PermissionRequest",
      tool_name: tool,
      tool_input: input,
      permission_suggestions: asker.suggestions,
    },
    asker,
  );

/** A plan or questions. @param {Hub} hub @param {object} dialog with the tool's name and input @param {Asker} [asker] */
export const dialog = (hub, dialog, asker = {}) =>
  held(hub, { hook_event_name: "PermissionRequest", ...dialog }, asker);

/** A tool server's form, which waits only while a dashboard is open. @param {Hub} hub @param {object} schema @param {Asker} [asker] */
export const form = (hub, schema, asker = {}) =>
  held(
    hub,
    {
      hook_event_name: "Elicitation",
      mcp_server_name: "db",
      message: "Which database?",
      mode: "form",
      requested_schema: schema,
    },
    asker,
  );

const WORDS =
  "the parser reads the old format too, and a test says so with the file that a person sent";
const numbers = (/** @type {number} */ count) =>
  Array.from({ length: count }, (_, n) => n + 1);

/**
 * Contents that are longer than a screen, and the button that settles each.
 *
 * @type {Record<string, {ask: (hub: Hub) => Promise<number>, button: string}>}
 */
export const LONG = {
  plan: {
    button: "Approve, login",
    ask: (hub) =>
      dialog(hub, {
        tool_name: "ExitPlanMode",
        tool_input: {
          plan: `# Plan\n\n${numbers(200)
            .map(
              (n) =>
                `${n}. Step ${n}: ${WORDS} (\`src/${"deep/".repeat(n % 9)}file_${n}.rs\`)`,
            )
            .join("\n")}`,
        },
      }),
  },
  diff: {
    button: "Approve, login",
    ask: (hub) =>
      permission(hub, "Edit", {
        file_path: `${PROJECT}/src/a.rs`,
        old_string: numbers(35)
          .map((n) => `    let old_${n} = ${WORDS.length}; // ${WORDS}`)
          .join("\n"),
        new_string: numbers(35)
          .map((n) => `    let new_${n} = "${WORDS}";`)
          .join("\n"),
      }),
  },
  command: {
    button: "Deny, login",
    ask: (hub) =>
      permission(hub, "Bash", {
        command: `${numbers(40)
          .map(
            (n) =>
              `curl -fsS https://example.org/${"x".repeat(n * 5)} -o part-${n} &&`,
          )
          .join("\n")}\ntrue`,
        description: "Load the parts",
      }),
  },
  questions: {
    button: "Answer, login",
    ask: (hub) =>
      dialog(hub, {
        tool_name: "AskUserQuestion",
        tool_input: {
          questions: numbers(4).map((n) => ({
            question: `Question ${n}: ${WORDS}?`,
            header: `Part ${n}`,
            multiSelect: n % 2 === 0,
            options: numbers(4).map((one) => ({
              label: `Option ${one} of ${n}`,
              description: WORDS,
            })),
          })),
        },
      }),
  },
  form: {
    button: "Answer, login",
    ask: (hub) =>
      form(hub, {
        type: "object",
        required: ["field_1"],
        properties: Object.fromEntries(
          numbers(10).map((n) => [
            `field_${n}`,
            {
              type: n % 3 ? "string" : "boolean",
              title: `Field ${n} of the form`,
              description: WORDS,
            },
          ]),
        ),
      }),
  },
};
