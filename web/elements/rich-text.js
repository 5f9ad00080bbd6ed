/** Texts of agents: rendered Markdown, links, and visible control characters. Nothing is parsed as HTML. */

import { h } from "./dom.js";
import { revealHidden } from "./parts.js";
import { splitLinks, webUrl } from "../core/links.js";
import { Problem } from "../hub/problem.js";

/** @import { Context } from '../core/links.js' */
/** @import { Schemas } from '../core/types.js' */
/** @import { Store } from '../hub/store.js' */

/** @typedef {Schemas['MarkdownNode']} MarkdownNode */

/** Texts with none of these characters, and of one line, are the same in Markdown; within a word, `_` is only a character. */
const MARKUP = /[*`#>|~[\]\\&<]|\b_|_\b|^\s*(?:[-+]|\d+[.)])\s|\n/;
/** The number of parsed texts to keep. */
const KEPT = 200;

/** The text that an element shows. @type {WeakMap<HTMLElement, string>} */
const texts = new WeakMap();

/** @type {Map<string, Promise<MarkdownNode[]|null>>} */
const parsed = new Map();

/** The elements of the nodes that have only children. @type {Partial<Record<MarkdownNode['type'], keyof HTMLElementTagNameMap>>} */
const TAGS = {
  paragraph: "p",
  blockquote: "blockquote",
  listItem: "li",
  tableRow: "tr",
  tableCell: "td",
  emphasis: "em",
  strong: "strong",
  delete: "s",
};

/**
 * A text with its links.
 *
 * @param {string} text
 * @param {Context} [context]
 */
export function linked(text, context) {
  return splitLinks(text, context).flatMap((piece) =>
    piece.href
      ? [link(piece.href, revealHidden(piece.text))]
      : revealHidden(piece.text),
  );
}

/**
 * A link that opens in another tab and tells it nothing of this page.
 *
 * @param {string} href
 * @param {(Node|string)[]} children
 */
function link(href, children) {
  const isWeb = href.startsWith("http");
  return h(
    "a",
    {
      href,
      title: href,
      target: isWeb && "_blank",
      rel: "noopener noreferrer",
    },
    ...children,
  );
}

/**
 * Shows a text as Markdown; as plain text until the hub has parsed it, and if it cannot.
 *
 * @param {HTMLElement} element
 * @param {string} text
 * @param {{store: Store, context?: Context}} about
 */
export async function showMarkdown(element, text, { store, context }) {
  const shown = JSON.stringify([text, context]);
  if (texts.get(element) === shown && element.firstChild) return;
  texts.set(element, shown);
  element.classList.remove("markdown");
  element.replaceChildren(...linked(text, context));
  if (!MARKUP.test(text)) return;
  const nodes = await parse(text, store);
  if (!nodes || texts.get(element) !== shown) return;
  element.classList.add("markdown");
  element.replaceChildren(...elements(nodes, context ?? {}));
}

/** @param {string} text @param {Store} store */
function parse(text, store) {
  const known = parsed.get(text);
  if (known) return known;
  const loading = load(text, store);
  parsed.set(text, loading);
  for (const oldest of parsed.keys()) {
    if (parsed.size <= KEPT) break;
    parsed.delete(oldest);
  }
  return loading;
}

/** @param {string} text @param {Store} store @returns {Promise<MarkdownNode[]|null>} */
async function load(text, store) {
  try {
    return (await store.api.post("/markdown", { text })).children;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    parsed.delete(text);
    return null;
  }
}

/** @param {MarkdownNode[]|undefined} nodes @param {Context} context @returns {(Node|string)[]} */
function elements(nodes, context) {
  return (nodes ?? []).flatMap((node) => elementOf(node, context));
}

/** @param {MarkdownNode} node @param {Context} context @returns {(Node|string)[]} */
function elementOf(node, context) {
  const value = node.value ?? "";
  const children = () => elements(node.children, context);
  const tag = TAGS[node.type];
  if (node.type === "listItem" && node.checked !== undefined)
    return [h("li", {}, node.checked ? "☑ " : "☐ ", ...children())];
  if (tag) return [h(tag, {}, ...children())];
  switch (node.type) {
    case "text":
      return linked(value, context);
    case "inlineCode":
      return [h("code", {}, ...linked(value, context))];
    case "code":
      return [
        h(
          "pre",
          {
            tabindex: "0",
            role: "group",
            "aria-label": node.lang ? `${node.lang} code` : "Code",
          },
          ...revealHidden(value),
        ),
      ];
    case "heading":
      return [
        h("p", { class: "heading", "data-depth": node.depth }, ...children()),
      ];
    case "list":
      return [
        h(
          node.start === undefined ? "ul" : "ol",
          { start: node.start },
          ...children(),
        ),
      ];
    case "table":
      return [
        h(
          "div",
          {
            class: "table",
            tabindex: "0",
            role: "group",
            "aria-label": "Table",
          },
          h("table", {}, ...children()),
        ),
      ];
    case "thematicBreak":
      return [h("hr")];
    case "break":
      return [h("br")];
    case "link":
      return linkElement(node.url ?? "", plain(node.children, context));
    default:
      return children();
  }
}

/** A link has no links in its text. @param {MarkdownNode[]|undefined} nodes @param {Context} context */
function plain(nodes, context) {
  return elements(nodes, context).map((child) => {
    if (!(child instanceof HTMLElement)) return child;
    for (const inner of [child, ...child.querySelectorAll("a")])
      if (inner.localName === "a" && inner !== child)
        inner.replaceWith(...inner.childNodes);
    return child.localName === "a" ? h("span", {}, ...child.childNodes) : child;
  });
}

/**
 * A link whose text is not its address shows the site to which it leads.
 *
 * @param {string} url
 * @param {(Node|string)[]} children
 */
function linkElement(url, children) {
  const href = webUrl(url);
  if (!href) return [...children, ` (${url})`];
  const text = h("span", {}, ...children).textContent ?? "";
  const { host, pathname } = new URL(href);
  const isPlain = text === url || text === href || text === host;
  return [
    link(href, children),
    ...(isPlain
      ? []
      : [h("span", { class: "site" }, ` (${host || pathname})`)]),
  ];
}
