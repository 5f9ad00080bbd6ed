/** Paths of the tools that tests/run installs, of the hub's binaries and of the browser. */

import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  statSync,
} from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root. */
export const ROOT = resolve(
  dirname(fileURLToPath(import.meta.url)),
  "../../..",
);

/** The directory of builds and tools. */
export const TARGET = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target");

/** Chromium cannot sandbox itself as root, nor in a container without user namespaces. */
export const IS_ROOT = process.getuid?.() === 0;

/**
 * A package of target/web-tools.
 *
 * @param {string} name
 * @returns {any}
 */
export function tool(name) {
  const tools = join(TARGET, "web-tools");
  if (!existsSync(join(tools, "node_modules", name))) {
    throw new Error(
      `${name} is not in ${tools}: tests/run installs it (HUB_TEST_SKIP leaves out suites you do not need)`,
    );
  }
  return createRequire(join(tools, "package.json"))(name);
}

/**
 * The text of a file of a package of target/web-tools.
 *
 * @param {string} name
 * @returns {string} its path
 */
export function toolFile(name) {
  return join(TARGET, "web-tools", "node_modules", name);
}

/**
 * A binary of this build: $HUB_BIN_DIR, else the debug build.
 *
 * @param {string} name
 */
export function binary(name) {
  const path = join(process.env.HUB_BIN_DIR ?? join(TARGET, "debug"), name);
  if (!existsSync(path))
    throw new Error(
      `${path} is not built: run cargo build --bin ${name}, or set HUB_BIN_DIR`,
    );
  return path;
}

/**
 * The environment of a hub that serves the dashboard as it was built, or with HUB_TEST_WEB=disk the files of web/ as they
 * are now, which takes no build.
 *
 * @returns {Record<string, string>}
 */
export function dashboard() {
  const web = join(ROOT, "web");
  if (process.env.HUB_TEST_WEB === "disk") return { HUB_WEB: web };
  const built = statSync(binary("hubd")).mtimeMs;
  const newer = readdirSync(web, { recursive: true }).find(
    (name) => statSync(join(web, String(name))).mtimeMs > built,
  );
  if (newer)
    throw new Error(
      `web/${newer} is newer than hubd: run cargo build --bin hubd, or set HUB_TEST_WEB=disk`,
    );
  return {};
}

/**
 * Options to start the installed browser; none is ever downloaded. Debian's headless shell is the same Chromium and takes half
 * of the processor time, but it shows no notification and runs no service worker.
 *
 * @param {boolean} whole whether the shell is not enough
 */
export function browserOptions(whole) {
  const names = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
  ];
  const executablePath =
    process.env.HUB_CHROMIUM ??
    found(...(whole ? [] : ["chromium-headless-shell"]), ...names);
  if (!executablePath)
    throw new Error(
      "no chromium: apt-get install chromium, or set HUB_CHROMIUM to one",
    );
  return { executablePath, args: IS_ROOT ? ["--no-sandbox"] : [] };
}

/**
 * The first of these programs on PATH, or at its own path.
 *
 * @param {string[]} names
 */
export function found(...names) {
  const dirs = (process.env.PATH ?? "").split(delimiter);
  for (const name of names) {
    const path = dirs.map((dir) => resolve(dir, name)).find(isProgram);
    if (path) return path;
  }
  return undefined;
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
