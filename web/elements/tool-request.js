/** A tool request, complete and unaltered: a change of a file as a diff, a command with its directory and risks. */

import { h } from "./dom.js";
import { revealHidden } from "./parts.js";
import { linked } from "./rich-text.js";
import { diffLines } from "../core/diff.js";

/** @import { Context } from '../core/links.js' */
/** @import { Schemas } from '../core/types.js' */

/**
 * @typedef {Schemas['ToolRequest']} ToolRequest
 * @typedef {NonNullable<ToolRequest['change']>} FileChange
 * @typedef {ToolRequest['parts'][number]} Part
 */

/**
 * @param {ToolRequest} request
 * @param {{name: string, cwd?: string, context: Context}} asker
 */
export function requestElement(
  { tool, parts, change, risks },
  { name, cwd, context },
) {
  return h(
    "div",
    { class: "request" },
    h(
      "p",
      { class: "tool" },
      tool && ["wants to use ", h("code", {}, ...revealHidden(tool))],
      cwd &&
        !change && [
          tool ? " in " : "in ",
          h("code", { class: "cwd" }, ...revealHidden(cwd)),
        ],
      risks.length > 0 &&
        h(
          "span",
          {
            class: "risks",
            role: "list",
            "aria-label": `Risks of the command of ${name}`,
          },
          ...risks.map((risk) =>
            h("span", { class: "risk", role: "listitem" }, risk),
          ),
        ),
    ),
    change && changeElement(change, context),
    ...parts.map((part) => partElement(tool || "Request", part)),
  );
}

/** @param {string} tool @param {Part} part */
function partElement(tool, { name, text }) {
  const short = !isCommand(name) && text.length <= 40 && !text.includes("\n");
  return h(
    "div",
    { class: short ? "part short" : "part" },
    isCommand(name) ? "" : h("span", { class: "name" }, ...revealHidden(name)),
    h(
      "pre",
      short ? {} : { role: "group", "aria-label": `${tool} ${name}`.trim() },
      ...revealHidden(text),
    ),
  );
}

/** Whether a part is the command to be run, which is shown without a name. @param {string} name */
function isCommand(name) {
  return ["", "command", "cmd"].includes(name);
}

/** @param {FileChange} change @param {Context} context */
function changeElement({ path, edits }, context) {
  const isNew = edits.length === 1 && edits[0].before === "";
  return h(
    "figure",
    { class: "change" },
    h(
      "figcaption",
      {},
      h("code", {}, ...linked(path, context)),
      isNew && h("span", { class: "muted" }, " whole content"),
    ),
    ...edits
      .map(({ before, after, all }, at) => [
        all && h("p", { class: "muted" }, "in every place"),
        h(
          "pre",
          {
            class: "diff",
            role: "group",
            "aria-label": `Change ${edits.length > 1 ? `${at + 1} ` : ""}of ${path}`,
          },
          ...lines(before, after),
        ),
      ])
      .flat(),
  );
}

/** @type {Record<string, keyof HTMLElementTagNameMap>} */
const LINE_TAGS = { "-": "del", "+": "ins" };

/** @param {string} before @param {string} after */
function lines(before, after) {
  return diffLines(before, after).map(({ sign, text }) =>
    h(
      LINE_TAGS[sign] ?? "span",
      { class: sign === "…" ? "folded" : "line" },
      h("span", { class: "sign" }, `${sign} `),
      ...revealHidden(text),
      "\n",
    ),
  );
}
