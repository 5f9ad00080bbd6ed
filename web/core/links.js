/** Finds links in a text: web addresses, paths of files, and numbers of pull requests. */

import { editorUrl } from "./editor.js";

/**
 * @typedef {object} Context what is known of the place where a text was written
 * @property {string} [cwd] the directory to which paths are relative; absent if the files are on another machine
 * @property {string} [repository] the web address of the repository
 * @property {string} [editor] the template of links to the person's editor
 *
 * @typedef {{text: string, href?: string}} Piece
 */

const URLS = String.raw`https?:\/\/[^\s<>"\x60\\^{|}]+`;
/** Paths with a directory and a file's extension or line number. */
const PATHS = String.raw`(?<![\w\/.~:@#?=&%+-])(?:\.{0,2}\/)?(?:[\w.@+-]{1,100}\/){1,40}[\w.@+-]{1,100}(?::\d{1,7}(?::\d{1,5})?)?`;
const NUMBERS = String.raw`(?<![\w#&\/])#\d{1,7}\b`;
const LINKS = new RegExp(`${URLS}|${PATHS}|${NUMBERS}`, "g");

/**
 * Splits a text into links and the text between them.
 *
 * @param {string} text
 * @param {Context} [context]
 * @returns {Piece[]}
 */
export function splitLinks(text, context = {}) {
  /** @type {Piece[]} */
  const found = [];
  let end = 0;
  for (const match of text.matchAll(LINKS)) {
    const linked = /^https?:/.test(match[0])
      ? trimEnd(match[0])
      : match[0].replace(/[.]+$/, "");
    const href = hrefOf(linked, context);
    if (!href) continue;
    if (match.index > end) found.push({ text: text.slice(end, match.index) });
    found.push({ text: linked, href });
    end = match.index + linked.length;
  }
  if (end < text.length) found.push({ text: text.slice(end) });
  return found;
}

/** Removes the punctuation of the sentence around an address. @param {string} url */
function trimEnd(url) {
  let end = url.length;
  for (; end > 0; end -= 1) {
    const last = url[end - 1];
    const opens = { ")": "(", "]": "[" }[last];
    // A bracket that the address itself opened belongs to it.
    if (
      opens
        ? url.slice(0, end).split(opens).length >=
          url.slice(0, end).split(last).length
        : !/[.,;:!?'*_~]/.test(last)
    )
      break;
  }
  return url.slice(0, end);
}

/**
 * @param {string} text
 * @param {Context} context
 * @returns {string|undefined}
 */
function hrefOf(text, { cwd, repository, editor }) {
  if (/^https?:/.test(text)) return webUrl(text);
  // Forges redirect the issue of a pull request's number to the pull request.
  if (text.startsWith("#"))
    return (
      repository &&
      webUrl(`${repository.replace(/\/$/, "")}/issues/${text.slice(1)}`)
    );
  const [, path = "", line] = /^(.*?)(?::(\d+))?(?::\d+)?$/.exec(text) ?? [];
  if (!line && !/\.[A-Za-z]\w{0,9}$/.test(path)) return undefined;
  return cwd === undefined
    ? undefined
    : (editorUrl(editor, absolutePath(path, cwd), Number(line ?? 1)) ??
        undefined);
}

/**
 * The address as a link, without an attempt to look like another site; else undefined.
 *
 * @param {string} text
 * @returns {string|undefined}
 */
export function webUrl(text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    !url ||
    !["http:", "https:", "mailto:"].includes(url.protocol) ||
    url.username ||
    url.password
  )
    return undefined;
  return url.href;
}

/** @param {string} path @param {string} cwd */
function absolutePath(path, cwd) {
  const parts = path.startsWith("/") ? [] : cwd.split("/").filter(Boolean);
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}
