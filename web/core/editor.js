/** Links that open a path in the person's editor. */

/** Opens the path in Visual Studio Code. */
export const DEFAULT_EDITOR = "vscode://file{path}:{line}";

/** The schemes of editors. Others, such as `javascript:` and `https:`, would run code in the page or leave the machine. */
const SCHEMES = [
  "vscode",
  "vscode-insiders",
  "vscodium",
  "cursor",
  "windsurf",
  "zed",
  "idea",
  "jetbrains",
  "subl",
  "txmt",
  "mvim",
  "emacs",
  "org-protocol",
  "nvim",
];

/**
 * Why a template is refused; empty if it is valid.
 *
 * @param {string} template
 */
export function editorProblem(template) {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(template)?.[1];
  if (!scheme || !SCHEMES.includes(scheme))
    return `Begin with the address of an editor: ${SCHEMES.slice(0, 6).join(", ")} … and ://`;
  if (!template.includes("{path}")) return "Name the file with {path}.";
  return "";
}

/**
 * The link that opens a path; null for a path that is not absolute or an invalid template.
 *
 * @param {string|null|undefined} template
 * @param {string} path
 * @param {number} [line]
 * @returns {string|null}
 */
export function editorUrl(template, path, line = 1) {
  const used = template || DEFAULT_EDITOR;
  if (editorProblem(used) || !path.startsWith("/")) return null;
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return used
    .replaceAll("{path}", () => encoded)
    .replaceAll("{line}", String(line));
}
