/** The kinds of questions, and the answers that the hub takes. */

/** @import { Question } from './types.js' */

/**
 * @typedef {{question: string, header: string, multiSelect: boolean, options: {label: string, description: string}[]}} Ask
 * @typedef {{name: string, label: string, description: string, type: 'text'|'number'|'integer'|'boolean'|'choice'|'choices', required: boolean, choices: {value: string, label: string}[], initial: unknown}} Field
 *
 * @typedef {{kind: 'asks', asks: Ask[]}
 *   | {kind: 'plan', plan: string, edits: boolean, cut?: true}
 *   | {kind: 'permission', always: string, cut?: true}
 *   | {kind: 'form', fields: Field[]}
 *   | {kind: 'text', options: string[]}} Need `always` is empty if the agent suggests no rule; `cut` if the hub does
 *   not have all of what would be allowed
 *
 * @typedef {{labels: string[], other: string}} Choice
 */

/**
 * @param {Pick<Question, 'type'|'options'|'data'>} question
 * @returns {Need}
 */
export function needOf({ type, options = [], data }) {
  const dialog = member(data, 'dialog');
  const cut = member(data, 'cut') !== undefined && { cut: /** @type {true} */ (true) };
  if (type === 'approval') return { kind: 'permission', always: suggestionText(member(member(data, 'request'), 'suggestions')), ...cut };
  const tool = member(dialog, 'tool_name');
  if (tool === 'ExitPlanMode' || tool === 'EnterPlanMode') {
    return { kind: 'plan', plan: text(member(member(dialog, 'tool_input'), 'plan')), edits: tool === 'ExitPlanMode', ...cut };
  }
  const asks = asksOf(member(member(dialog, 'tool_input'), 'questions'));
  if (asks) return { kind: 'asks', asks };
  const fields = fieldsOf(member(dialog, 'requested_schema'));
  return fields ? { kind: 'form', fields } : { kind: 'text', options };
}

/** @param {unknown} from @param {string} name @returns {unknown} */
function member(from, name) {
  return typeof from === 'object' && from !== null && Object.hasOwn(from, name) ? /** @type {any} */ (from)[name] : undefined;
}

/** @param {unknown} value */
function text(value) {
  return typeof value === 'string' ? value : '';
}

/** @param {unknown} value @returns {unknown[]} */
function list(value) {
  return Array.isArray(value) ? value : [];
}

/** @param {unknown} questions @returns {Ask[]|null} */
function asksOf(questions) {
  const asks = list(questions).map((one) => ({
    question: text(member(one, 'question')),
    header: text(member(one, 'header')),
    multiSelect: member(one, 'multiSelect') === true,
    options: list(member(one, 'options')).map((option) => ({ label: text(member(option, 'label')), description: text(member(option, 'description')) })).filter(({ label }) => label),
  }));
  return asks.length > 0 && asks.every(({ question }) => question) ? asks : null;
}

/** The rules that an agent suggests to allow, in a few words. @param {unknown} suggestions */
function suggestionText(suggestions) {
  const found = list(suggestions).flatMap((one) => {
    if (member(one, 'type') === 'setMode') return member(one, 'mode') === 'acceptEdits' ? ['all edits'] : [`the mode ${text(member(one, 'mode'))}`];
    if (member(one, 'type') === 'addDirectories') return list(member(one, 'directories')).map((directory) => `the directory ${text(directory)}`);
    return list(member(one, 'rules')).map((rule) => {
      const content = text(member(rule, 'ruleContent'));
      return content ? `${text(member(rule, 'toolName'))}(${content})` : text(member(rule, 'toolName'));
    });
  });
  return [...new Set(found.filter(Boolean))].join(', ');
}

/**
 * The fields of a flat JSON schema; null for another schema.
 *
 * @param {unknown} schema
 * @returns {Field[]|null}
 */
function fieldsOf(schema) {
  const properties = member(schema, 'properties');
  if (typeof properties !== 'object' || properties === null) return null;
  const required = list(member(schema, 'required'));
  return Object.entries(properties).map(([name, of]) => ({
    name,
    label: text(member(of, 'title')) || name,
    description: text(member(of, 'description')),
    ...typeOf(of),
    required: required.includes(name),
    initial: member(of, 'default'),
  }));
}

/** @param {unknown} of @returns {Pick<Field, 'type'|'choices'>} */
function typeOf(of) {
  const type = member(of, 'type');
  if (type === 'array') return { type: 'choices', choices: choicesOf(member(of, 'items')) };
  const choices = choicesOf(of);
  if (choices.length > 0) return { type: 'choice', choices };
  if (type === 'boolean' || type === 'number' || type === 'integer') return { type, choices };
  return { type: 'text', choices };
}

/** @param {unknown} of @returns {Field['choices']} */
function choicesOf(of) {
  const titled = [...list(member(of, 'oneOf')), ...list(member(of, 'anyOf'))].map((one) => ({ value: text(member(one, 'const')), label: text(member(one, 'title')) }));
  const names = list(member(of, 'enumNames'));
  const plain = list(member(of, 'enum')).map((value, at) => ({ value: text(value), label: text(names[at]) }));
  return [...titled, ...plain].filter(({ value }) => value).map(({ value, label }) => ({ value, label: label || value }));
}

/**
 * The answer to a dialog, as the hub takes it: the labels of a question are joined by a comma, and several questions have
 * a text each. Null while a question has no answer.
 *
 * @param {Choice[]} choices one for each question
 * @returns {string|string[]|null}
 */
export function composeAnswer(choices) {
  const answers = choices.map(({ labels, other }) => [...labels, other.trim()].filter(Boolean).join(', '));
  if (answers.some((answer) => !answer)) return null;
  return answers.length === 1 ? answers[0] : answers;
}

/** @param {Record<string, unknown>} content */
export function acceptForm(content) {
  return `accept: ${JSON.stringify(content)}`;
}

/**
 * A verdict with its optional reason.
 *
 * @param {string} word
 * @param {string} reason
 */
export function verdict(word, reason) {
  return reason.trim() ? `${word}: ${reason.trim()}` : word;
}
