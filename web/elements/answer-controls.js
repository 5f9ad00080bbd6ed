/** The controls that answer a question, one kind for each kind of need. */

import { h } from './dom.js';
import { onCtrlEnter } from './parts.js';
import { acceptForm, composeAnswer, verdict } from '../core/need.js';

/** @import { Ask, Field, Need } from '../core/need.js' */

/**
 * @typedef {object} Controls
 * @property {HTMLElement} [content] what is read and filled in
 * @property {HTMLElement} bar the controls that send the answer, which stay in view
 * @property {() => string} draft the text that the person has typed
 * @property {Partial<Record<string, () => void>>} keys by the id of the key's action
 * @property {(n: number) => void} [choose] chooses the option with this number, from 1
 *
 * @typedef {(answer: string|string[], label: string) => void} Send a text, or one for each question of a dialog; `label`
 *   says it in the words of the page
 */

let lastId = 0;

/**
 * @param {Need} need
 * @param {string} name of the session; the accessible name of each control ends with it
 * @param {Send} send
 * @returns {Controls}
 */
export function answerControls(need, name, send) {
  switch (need.kind) {
    case 'permission': return decision(name, send, { yes: !need.cut && ['Approve', 'allow'], more: need.always && [`Allow ${need.always} for this session`, 'allow always'], no: ['Deny', 'deny'] });
    case 'plan': return decision(name, send, { yes: !need.cut && ['Approve', 'approve'], more: need.edits && ['Approve and accept edits', 'approve: accept edits'], no: ['Reject', 'reject'] });
    case 'asks': return asks(need.asks, name, send);
    case 'form': return form(need.fields, name, send);
    default: return freeText(need.options, name, send);
  }
}

/**
 * Approve, maybe approve more, or deny with a reason. Without `yes`, the hub does not have all of what would be allowed.
 *
 * @param {string} name
 * @param {Send} send
 * @param {{yes: false|[string, string], more: ''|false|string[], no: [string, string]}} words each with its answer
 * @returns {Controls}
 */
function decision(name, send, { yes, more, no }) {
  const reason = h('textarea', { rows: 1, 'aria-label': `Reason, ${name}`, placeholder: 'Reason (optional) …', 'aria-keyshortcuts': 'd Enter' });
  const approve = yes ? () => send(yes[1], yes[0]) : undefined;
  const deny = () => send(verdict(no[1], reason.value), reason.value.trim() ? `${no[0]}: ${reason.value.trim()}` : no[0]);
  onEnter(reason, deny);
  const button = (/** @type {string} */ key, /** @type {string} */ text, /** @type {(() => void)|undefined} */ act, props = {}) => h('button', { 'aria-label': `${text}, ${name}`, title: `${text} (${key})`, 'data-key': key, onclick: act, ...props }, text);
  const always = more ? () => send(more[1], more[0]) : undefined;
  const bar = h(
    'div',
    { class: 'decision' },
    yes && approve && button('a', yes[0], approve, { class: 'primary', 'aria-keyshortcuts': 'a' }),
    yes && more && button('A', more[0], always, { 'aria-keyshortcuts': 'Shift+A' }),
    !yes && h('span', { class: 'muted' }, 'The hub had to cut this request: approve it in the terminal of its agent.'),
    h('div', { class: 'free-text' }, button('d', no[0], deny, { 'aria-keyshortcuts': 'd' }), reason),
  );
  const focus = () => reason.focus();
  return { bar, draft: () => reason.value, keys: { ...(approve && { approve, always }), deny: focus, reply: focus } };
}

/**
 * @param {string[]} options
 * @param {string} name
 * @param {Send} send
 * @returns {Controls}
 */
function freeText(options, name, send) {
  const offers = options.length > 0;
  const label = offers ? 'Another answer' : 'Answer';
  const field = h('textarea', { rows: 1, 'aria-label': `${label}, ${name}`, placeholder: `${label} …`, 'aria-keyshortcuts': 'Control+Enter' });
  const submit = () => (field.value.trim() ? send(field.value.trim(), field.value.trim()) : field.focus());
  onCtrlEnter(field, submit);
  const choose = (/** @type {string|undefined} */ option) => option !== undefined && send(option, option);
  const content = offers ? optionButtons(options.map((text) => ({ label: text, description: '' })), name, choose) : undefined;
  const bar = h('div', { class: 'free-text' }, field, h('button', { class: offers ? '' : 'primary', 'aria-label': `Answer, ${name}`, title: 'Answer (Ctrl+Enter)', onclick: submit }, 'Answer'));
  return { content, bar, draft: () => field.value, keys: { enter: submit, reply: () => field.focus() }, choose: (n) => choose(options[n - 1]) };
}

/**
 * @param {Ask['options']} options
 * @param {string} name
 * @param {(label: string) => void} choose
 */
function optionButtons(options, name, choose) {
  return h('div', { class: 'options' }, ...options.map(({ label, description }, at) =>
    h(
      'button',
      { 'aria-keyshortcuts': at < 9 && at + 1, onclick: () => choose(label) },
      at < 9 && h('kbd', { 'aria-hidden': 'true' }, at + 1),
      h('span', {}, label, description && h('span', { class: 'description' }, description)),
      h('span', { class: 'visually-hidden' }, `, ${name}`),
    ),
  ));
}

/**
 * The questions of a dialog. An option of a single question is an answer; otherwise the answers are collected.
 *
 * @param {Ask[]} all
 * @param {string} name
 * @param {Send} send
 * @returns {Controls}
 */
function asks(all, name, send) {
  const isSimple = all.length === 1 && !all[0].multiSelect;
  const groups = all.map((ask) => askGroup(ask, name, isSimple ? (label) => send(label, label) : null, () => submit()));
  const submit = () => {
    const answer = composeAnswer(groups.map(({ choice }) => choice()));
    if (answer !== null) return send(answer, [answer].flat().join(' · '));
    groups.find(({ choice }) => composeAnswer([choice()]) === null)?.focus();
  };
  const content = h('div', { class: 'asks' }, ...groups.map((group) => group.element));
  const bar = h('div', { class: 'row' }, h('button', { class: isSimple ? '' : 'primary', 'aria-label': `Answer, ${name}`, title: 'Answer (Enter)', onclick: submit }, 'Answer'));
  const current = () => groups.find((group) => group.element.contains(document.activeElement)) ?? groups.find(({ choice }) => composeAnswer([choice()]) === null) ?? groups.at(-1);
  return { content, bar, draft: () => groups.map(({ choice }) => choice().other).join('\n').trim(), keys: { enter: submit, reply: () => current()?.reply() }, choose: (n) => current()?.choose(n) };
}

/**
 * @param {Ask} ask
 * @param {string} name
 * @param {((label: string) => void)|null} answer for a question of which one option is the answer
 * @param {() => void} submit
 */
function askGroup({ question, header, multiSelect, options }, name, answer, submit) {
  const group = `ask-${(lastId += 1)}`;
  const other = h('input', { type: 'text', 'aria-label': `Other answer to ${header || question}, ${name}`, placeholder: options.length > 0 ? 'Other …' : 'Answer …' });
  onEnter(other, submit);
  const inputs = options.map(() => h('input', { type: multiSelect ? 'checkbox' : 'radio', name: group }));
  // One answer is either an option or a text.
  if (!multiSelect) other.addEventListener('input', () => other.value && inputs.forEach((input) => (input.checked = false)));
  inputs.forEach((input) => input.addEventListener('change', () => !multiSelect && (other.value = '')));
  const choices = answer
    ? optionButtons(options, name, answer)
    : h('div', { class: 'choices' }, ...options.map(({ label, description }, at) => h('label', {}, inputs[at], h('span', {}, label, description && h('span', { class: 'description' }, description)))));
  const element = h('fieldset', {}, h('legend', {}, header && h('span', { class: 'header' }, header), ' ', question), options.length > 0 && choices, other);
  return {
    element,
    focus: () => (inputs[0]?.isConnected ? inputs[0] : other).focus(),
    reply: () => other.focus(),
    choice: () => ({ labels: options.filter((_, at) => inputs[at].checked).map(({ label }) => label), other: other.value }),
    choose: (/** @type {number} */ n) => (answer ? options[n - 1] && answer(options[n - 1].label) : inputs[n - 1]?.click()),
  };
}

/**
 * The form of a tool server.
 *
 * @param {Field[]} fields
 * @param {string} name
 * @param {Send} send
 * @returns {Controls}
 */
function form(fields, name, send) {
  const rows = fields.map((field) => ({ field, ...fieldInput(field, name) }));
  const submit = () => {
    if (!content.reportValidity()) return;
    const values = Object.fromEntries(rows.map(({ field, value }) => [field.name, value()]).filter(([, value]) => value !== undefined));
    send(acceptForm(values), Object.entries(values).map(([key, value]) => `${key}: ${value}`).join(', ') || 'Accept');
  };
  const decline = () => send('decline', 'Decline');
  const id = `form-${(lastId += 1)}`;
  const content = h('form', { class: 'form', id, onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); submit(); } }, ...rows.map(({ row }) => row));
  const bar = h('div', { class: 'row' }, h('button', { class: 'primary', type: 'submit', form: id, 'aria-label': `Answer, ${name}` }, 'Answer'), h('button', { type: 'button', 'aria-label': `Decline, ${name}`, onclick: decline }, 'Decline'));
  const first = () => /** @type {HTMLElement|null} */ (content.querySelector('input, select'))?.focus();
  return { content, bar, draft: () => rows.map(({ typed }) => typed()).filter(Boolean).join('\n'), keys: { enter: submit, deny: decline, reply: first } };
}

/**
 * @param {Field} field
 * @param {string} name
 * @returns {{row: HTMLElement, value: () => unknown, typed: () => string}} `value` is undefined for an empty field
 */
function fieldInput({ label, description, type, required, choices, initial }, name) {
  const about = description && h('span', { class: 'description' }, description);
  const props = { 'aria-label': `${label}, ${name}`, required };
  const row = (/** @type {HTMLElement} */ input) => h('label', { class: 'field' }, h('span', {}, label, required && ' *', about), input);
  if (type === 'boolean') {
    const input = h('input', { type: 'checkbox', 'aria-label': props['aria-label'], checked: initial === true });
    return { row: row(input), value: () => input.checked, typed: () => '' };
  }
  if (type === 'choice' || type === 'choices') {
    const isChosen = (/** @type {string} */ value) => (Array.isArray(initial) ? initial.includes(value) : initial === value);
    const empty = type === 'choice' && h('option', { value: '' }, '–');
    const input = h('select', { ...props, multiple: type === 'choices' }, empty, ...choices.map((choice) => h('option', { value: choice.value, selected: isChosen(choice.value) }, choice.label)));
    const values = () => [...input.selectedOptions].map(({ value }) => value);
    return { row: row(input), value: () => (type === 'choices' ? values() : input.value || undefined), typed: () => '' };
  }
  const isNumber = type === 'number' || type === 'integer';
  const given = typeof initial === 'string' || typeof initial === 'number' ? String(initial) : '';
  const input = h('input', { ...props, type: isNumber ? 'number' : 'text', step: isNumber && (type === 'integer' ? '1' : 'any'), value: given });
  return { row: row(input), value: () => (input.value === '' ? undefined : isNumber ? input.valueAsNumber : input.value), typed: () => (isNumber ? '' : input.value) };
}

/**
 * Makes Enter in a field send it; Shift+Enter begins a line where a field has several.
 *
 * @param {HTMLElement} field
 * @param {() => void} send
 */
function onEnter(field, send) {
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
}
