/** The controls that answer a question, one kind for each kind of need. */

import { h } from "./dom.js";
import { onCtrlEnter } from "./parts.js";

/** @import { Schemas } from '../core/types.js' */

/**
 * @typedef {Schemas['Control']} Control
 * @typedef {Extract<Control, {type: 'verdict'}>} Verdict
 * @typedef {Extract<Control, {type: 'choice'}>} Choice
 * @typedef {Extract<Control, {type: 'form'}>['fields'][number]} Field
 * @typedef {Pick<Schemas['Answer'], 'choices'|'verdict'|'reason'|'form'|'reply'>} Answer
 *
 * @typedef {object} Controls
 * @property {HTMLElement} [content] what is read and filled in
 * @property {HTMLElement} bar the controls that send the answer, which stay in view
 * @property {() => string} draft what the person has typed and chosen; empty if nothing
 * @property {Partial<Record<string, () => void>>} keys by the id of the key's action
 * @property {(n: number) => void} [choose] chooses the option with this number, from 1
 *
 * @typedef {(answer: Answer, label: string) => void} Send `label` says the answer in the words of the page
 */

let lastId = 0;

/**
 * @param {Control[]} controls
 * @param {boolean} isPlan
 * @param {string} name of the session; the accessible name of each control ends with it
 * @param {Send} send
 * @returns {Controls}
 */
export function answerControls(controls, isPlan, name, send) {
  const [first] = controls;
  if (first?.type === "verdict") return decision(first, isPlan, name, send);
  if (first?.type === "form") return form(first.fields, name, send);
  const choices = controls.filter((it) => it.type === "choice");
  if (choices.length === 1 && !choices[0].many && !choices[0].header)
    return freeText(choices[0].options, name, send);
  return choices.length > 0
    ? asks(choices, name, send)
    : freeText([], name, send);
}

/**
 * Approve, maybe approve more, or deny with a reason. Without `allow`, the hub does not have all of what would be allowed.
 *
 * @param {Verdict} control
 * @param {boolean} isPlan
 * @param {string} name
 * @param {Send} send
 * @returns {Controls}
 */
function decision({ allow, always, edits }, isPlan, name, send) {
  const reason = h("textarea", {
    rows: 1,
    "aria-label": `Reason, ${name}`,
    placeholder: "Reason (optional) …",
    "aria-keyshortcuts": "d Enter",
  });
  const no = isPlan ? "Reject" : "Deny";
  /** @type {[string, Answer['verdict']]|false} */
  const more = edits
    ? ["Approve and accept edits", "accept_edits"]
    : always !== undefined && [`Allow ${always}`, "allow_always"];
  const approve = allow
    ? () => send({ verdict: "allow" }, "Approve")
    : undefined;
  const deny = () => {
    const why = reason.value.trim();
    send(
      { verdict: "deny", ...(why && { reason: why }) },
      why ? `${no}: ${why}` : no,
    );
  };
  onEnter(reason, deny);
  const button = (
    /** @type {string} */ key,
    /** @type {string} */ text,
    /** @type {(() => void)|undefined} */ act,
    props = {},
  ) =>
    h(
      "button",
      {
        "aria-label": `${text}, ${name}`,
        title: `${text} (${key})`,
        "data-key": key,
        onclick: act,
        ...props,
      },
      text,
    );
  const approveMore = more
    ? () => send({ verdict: more[1] }, more[0])
    : undefined;
  const bar = h(
    "div",
    { class: "decision" },
    approve &&
      button("a", "Approve", approve, {
        class: "primary",
        "aria-keyshortcuts": "a",
      }),
    approve &&
      more &&
      button("A", more[0], approveMore, { "aria-keyshortcuts": "Shift+A" }),
    !allow &&
      h(
        "span",
        { class: "muted" },
        "The hub does not have all of this request: approve it in the terminal of its agent.",
      ),
    h(
      "div",
      { class: "free-text" },
      button("d", no, deny, { "aria-keyshortcuts": "d" }),
      reason,
    ),
  );
  const focus = () => reason.focus();
  return {
    bar,
    draft: () => reason.value,
    keys: {
      ...(approve && { approve, always: approveMore }),
      deny: focus,
      reply: focus,
    },
  };
}

/**
 * @param {Choice['options']} options
 * @param {string} name
 * @param {Send} send
 * @returns {Controls}
 */
function freeText(options, name, send) {
  const offers = options.length > 0;
  const label = offers ? "Another answer" : "Answer";
  const field = h("textarea", {
    rows: 1,
    "aria-label": `${label}, ${name}`,
    placeholder: `${label} …`,
    "aria-keyshortcuts": "Control+Enter",
  });
  const submit = () =>
    field.value.trim()
      ? send({ reply: field.value.trim() }, field.value.trim())
      : field.focus();
  onCtrlEnter(field, submit);
  const choose = (/** @type {string|undefined} */ option) =>
    option !== undefined && send({ choices: [{ labels: [option] }] }, option);
  const content = offers ? optionButtons(options, name, choose) : undefined;
  const bar = h(
    "div",
    { class: "free-text" },
    field,
    h(
      "button",
      {
        class: offers ? "" : "primary",
        "aria-label": `Answer, ${name}`,
        title: "Answer (Ctrl+Enter)",
        onclick: submit,
      },
      "Answer",
    ),
  );
  return {
    content,
    bar,
    draft: () => field.value,
    keys: { enter: submit, reply: () => field.focus() },
    choose: (n) => choose(options[n - 1]?.label),
  };
}

/**
 * @param {Choice['options']} options
 * @param {string} name
 * @param {(label: string) => void} choose
 */
function optionButtons(options, name, choose) {
  return h(
    "div",
    { class: "options" },
    ...options.map(({ label, description }, at) =>
      h(
        "button",
        { "aria-keyshortcuts": at < 9 && at + 1, onclick: () => choose(label) },
        at < 9 && h("kbd", { "aria-hidden": "true" }, at + 1),
        h(
          "span",
          {},
          label,
          description && h("span", { class: "description" }, description),
        ),
        h("span", { class: "visually-hidden" }, `, ${name}`),
      ),
    ),
  );
}

/**
 * The questions of a dialog. An option of a single question is an answer; otherwise the answers are collected.
 *
 * @param {Choice[]} all
 * @param {string} name
 * @param {Send} send
 * @returns {Controls}
 */
function asks(all, name, send) {
  const isSimple = all.length === 1 && !all[0].many;
  const groups = all.map((ask) =>
    askGroup(
      ask,
      name,
      isSimple
        ? (label) => send({ choices: [{ labels: [label] }] }, label)
        : null,
      () => submit(),
    ),
  );
  const isEmpty = (/** @type {typeof groups[number]} */ { choice }) =>
    choice().words === "";
  const submit = () => {
    const empty = groups.find(isEmpty);
    if (empty) return empty.focus();
    const choices = groups.map(({ choice }) => choice());
    send(
      {
        choices: choices.map(({ labels, text }) => ({
          labels,
          ...(text && { text }),
        })),
      },
      choices.map(({ words }) => words).join(" · "),
    );
  };
  const content = h(
    "div",
    { class: "asks" },
    ...groups.map((group) => group.element),
  );
  const bar = h(
    "div",
    { class: "row" },
    h(
      "button",
      {
        class: isSimple ? "" : "primary",
        "aria-label": `Answer, ${name}`,
        title: "Answer (Enter)",
        onclick: submit,
      },
      "Answer",
    ),
  );
  const current = () =>
    groups.find((group) => group.element.contains(document.activeElement)) ??
    groups.find(isEmpty) ??
    groups.at(-1);
  return {
    content,
    bar,
    draft: () =>
      groups.length > 1
        ? lines(groups.map(({ title, choice }) => [title, choice().words]))
        : groups[0].choice().words,
    keys: { enter: submit, reply: () => current()?.reply() },
    choose: (n) => current()?.choose(n),
  };
}

/**
 * @param {Choice} ask
 * @param {string} name
 * @param {((label: string) => void)|null} answer for a question of which one option is the answer
 * @param {() => void} submit
 */
function askGroup({ question, header, many, options }, name, answer, submit) {
  const group = `ask-${(lastId += 1)}`;
  const other = h("input", {
    type: "text",
    "aria-label": `Other answer to ${header || question}, ${name}`,
    placeholder: options.length > 0 ? "Other …" : "Answer …",
  });
  onEnter(other, submit);
  const inputs = options.map(() =>
    h("input", { type: many ? "checkbox" : "radio", name: group }),
  );
  // One answer is either an option or a text.
  if (!many)
    other.addEventListener(
      "input",
      () => other.value && inputs.forEach((input) => (input.checked = false)),
    );
  inputs.forEach((input) =>
    input.addEventListener("change", () => !many && (other.value = "")),
  );
  const choices = answer
    ? optionButtons(options, name, answer)
    : h(
        "div",
        { class: "choices" },
        ...options.map(({ label, description }, at) =>
          h(
            "label",
            {},
            inputs[at],
            h(
              "span",
              {},
              label,
              description && h("span", { class: "description" }, description),
            ),
          ),
        ),
      );
  const element = h(
    "fieldset",
    {},
    h(
      "legend",
      {},
      header && h("span", { class: "header" }, header),
      " ",
      question,
    ),
    options.length > 0 && choices,
    other,
  );
  return {
    element,
    title: header || question,
    focus: () => (inputs[0]?.isConnected ? inputs[0] : other).focus(),
    reply: () => other.focus(),
    choice: () =>
      chosen(
        options.filter((_, at) => inputs[at].checked).map(({ label }) => label),
        other.value.trim(),
      ),
    choose: (/** @type {number} */ n) =>
      answer
        ? options[n - 1] && answer(options[n - 1].label)
        : inputs[n - 1]?.click(),
  };
}

/** @param {string[]} labels @param {string} text */
function chosen(labels, text) {
  return { labels, text, words: [...labels, text].filter(Boolean).join(", ") };
}

/** One line for each part that has a value. @param {[label: string, value: string][]} parts */
function lines(parts) {
  return parts
    .filter(([, value]) => value !== "")
    .map(([label, value]) => `${label}: ${value}`)
    .join("\n");
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
    const values = Object.fromEntries(
      rows
        .map(({ field, value }) => [field.name, value()])
        .filter(([, value]) => value !== undefined),
    );
    send(
      { form: values },
      Object.entries(values)
        .map(([key, value]) => `${key}: ${value}`)
        .join(", ") || "Accept",
    );
  };
  const decline = () => send({ verdict: "deny" }, "Decline");
  const id = `form-${(lastId += 1)}`;
  const content = h(
    "form",
    {
      class: "form",
      id,
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        submit();
      },
    },
    ...rows.map(({ row }) => row),
  );
  const bar = h(
    "div",
    { class: "row" },
    h(
      "button",
      {
        class: "primary",
        type: "submit",
        form: id,
        "aria-label": `Answer, ${name}`,
      },
      "Answer",
    ),
    h(
      "button",
      { type: "button", "aria-label": `Decline, ${name}`, onclick: decline },
      "Decline",
    ),
  );
  const first = () =>
    /** @type {HTMLElement|null} */ (
      content.querySelector("input, select")
    )?.focus();
  const filled = () =>
    lines(rows.map(({ field, words }) => [field.label, words()]));
  const untouched = filled();
  return {
    content,
    bar,
    draft: () => (filled() === untouched ? "" : filled()),
    keys: { enter: submit, deny: decline, reply: first },
  };
}

/**
 * @param {Field} field
 * @param {string} name
 * @returns {{row: HTMLElement, value: () => unknown, words: () => string}} `value` is undefined for an empty field, and `words` is empty
 */
function fieldInput(
  { label, description, type, required, choices, initial },
  name,
) {
  const about = description && h("span", { class: "description" }, description);
  const props = { "aria-label": `${label}, ${name}`, required };
  const row = (/** @type {HTMLElement} */ input) =>
    h(
      "label",
      { class: "field" },
      h("span", {}, label, required && " *", about),
      input,
    );
  if (type === "boolean") {
    const input = h("input", {
      type: "checkbox",
      "aria-label": props["aria-label"],
      checked: initial === true,
    });
    return {
      row: row(input),
      value: () => input.checked,
      words: () => (input.checked ? "yes" : "no"),
    };
  }
  if (type === "choice" || type === "choices") {
    const isChosen = (/** @type {string} */ value) =>
      Array.isArray(initial) ? initial.includes(value) : initial === value;
    const empty = type === "choice" && h("option", { value: "" }, "–");
    const input = h(
      "select",
      { ...props, multiple: type === "choices" },
      empty,
      ...choices.map((choice) =>
        h(
          "option",
          { value: choice.value, selected: isChosen(choice.value) },
          choice.label,
        ),
      ),
    );
    const chosen = () =>
      [...input.selectedOptions].filter(({ value }) => value !== "");
    const values = () => chosen().map(({ value }) => value);
    return {
      row: row(input),
      value: () => (type === "choices" ? values() : input.value || undefined),
      words: () =>
        chosen()
          .map(({ text }) => text)
          .join(", "),
    };
  }
  const isNumber = type === "number" || type === "integer";
  const given =
    typeof initial === "string" || typeof initial === "number"
      ? String(initial)
      : "";
  const input = h("input", {
    ...props,
    type: isNumber ? "number" : "text",
    step: isNumber && (type === "integer" ? "1" : "any"),
    value: given,
  });
  return {
    row: row(input),
    value: () =>
      input.value === ""
        ? undefined
        : isNumber
          ? input.valueAsNumber
          : input.value,
    words: () => input.value,
  };
}

/**
 * Makes Enter in a field send it; Shift+Enter begins a line where a field has several.
 *
 * @param {HTMLElement} field
 * @param {() => void} send
 */
function onEnter(field, send) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
}
