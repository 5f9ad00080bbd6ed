/** Needs of every kind, also long ones. */

/** @typedef {import('./hub.js').Hub} Hub */

const PROJECT = '/home/me/src/hub';

/** @param {Hub} hub @param {object} [more] */
export async function ask(hub, more = {}) {
  const { id } = await hub.post({ project: PROJECT, from: 'login', type: 'question', msg: 'Which port?', ...more });
  return id;
}

/** @param {Hub} hub @param {string} tool @param {object} input @param {object} [more] of the notification */
export const permission = (hub, tool, input, more = {}) => ask(hub, { type: 'approval', msg: `${tool}?`, data: { via: 'hook', request: { tool_name: tool, tool_input: input } }, ...more });

/** @param {Hub} hub @param {object} dialog @param {object} [more] of the notification */
export const dialog = (hub, dialog, more = {}) => ask(hub, { data: { via: 'hook', dialog }, ...more });

const WORDS = 'the parser reads the old format too, and a test says so with the file that a person sent';
const numbers = (/** @type {number} */ count) => Array.from({ length: count }, (_, n) => n + 1);

/**
 * Contents that are longer than a screen, and the button that settles each.
 *
 * @type {Record<string, {ask: (hub: Hub) => Promise<number>, button: string}>}
 */
export const LONG = {
  plan: {
    button: 'Approve, login',
    ask: (hub) => dialog(hub, { tool_name: 'ExitPlanMode', tool_input: { plan: `# Plan\n\n${numbers(200).map((n) => `${n}. Step ${n}: ${WORDS} (\`src/${'deep/'.repeat(n % 9)}file_${n}.rs\`)`).join('\n')}` } }, { msg: 'Is this plan right?' }),
  },
  diff: {
    button: 'Approve, login',
    ask: (hub) => permission(hub, 'Edit', { file_path: `${PROJECT}/src/a.rs`, old_string: numbers(35).map((n) => `    let old_${n} = ${WORDS.length}; // ${WORDS}`).join('\n'), new_string: numbers(35).map((n) => `    let new_${n} = "${WORDS}";`).join('\n') }),
  },
  command: {
    button: 'Deny, login',
    ask: (hub) => permission(hub, 'Bash', { command: `${numbers(40).map((n) => `curl -fsS https://example.org/${'x'.repeat(n * 5)} -o part-${n} &&`).join('\n')}\ntrue`, description: 'Load the parts' }),
  },
  questions: {
    button: 'Answer, login',
    ask: (hub) => dialog(hub, { tool_name: 'AskUserQuestion', tool_input: { questions: numbers(4).map((n) => ({ question: `Question ${n}: ${WORDS}?`, header: `Part ${n}`, multiSelect: n % 2 === 0, options: numbers(4).map((one) => ({ label: `Option ${one} of ${n}`, description: WORDS })) })) } }),
  },
  form: {
    button: 'Answer, login',
    ask: (hub) => dialog(hub, { mcp_server_name: 'db', requested_schema: { type: 'object', required: ['field_1'], properties: Object.fromEntries(numbers(10).map((n) => [`field_${n}`, { type: n % 3 ? 'string' : 'boolean', title: `Field ${n} of the form`, description: WORDS }])) } }),
  },
};
