/** A real nginx of another user, which serves a hub by https at a name of its own. */

import { execFileSync, spawn } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { atEnd, until } from "./test.js";
import { found, IS_ROOT, ROOT, TARGET } from "./tools.js";

/** The name at which phones reach the hub. */
export const NAME = "phone.test";
/** The user of the proxy, `nobody`. Only root can start it. */
const NOBODY = 65534;

/**
 * Makes a certificate for {@link NAME}, until the file ends.
 *
 * @returns {{dir: string, browserArgs: string[]}} what makes the file's browser find the proxy and trust this certificate only
 */
export function certificate() {
  const dir = mkdtempSync(join(tmpdir(), "hub-proxy-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  execFileSync(
    "openssl",
    [
      ..."req -x509 -nodes -days 2 -newkey ec -pkeyopt".split(" "),
      "ec_paramgen_curve:prime256v1",
      ..."-keyout key.pem -out cert.pem -subj".split(" "),
      `/CN=${NAME}`,
      "-addext",
      `subjectAltName=DNS:${NAME}`,
    ],
    { cwd: dir, stdio: "ignore" },
  );
  const { publicKey } = new X509Certificate(
    readFileSync(join(dir, "cert.pem")),
  );
  const key = publicKey.export({ type: "spki", format: "der" });
  const hash = createHash("sha256").update(key).digest("base64");
  const browserArgs = [
    `--host-resolver-rules=MAP ${NAME} 127.0.0.1`,
    `--ignore-certificate-errors-spki-list=${hash}`,
  ];
  return { dir, browserArgs };
}

/** A port that is free now. @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

/**
 * Starts the proxy; it ends with the test.
 *
 * @param {string} dir of {@link certificate}
 * @param {number} port
 * @param {import('./hub.js').Hub} hub
 */
export async function startProxy(dir, port, hub) {
  const program = join(dir, "nginx");
  // In a checkout below /root, another user could not run it.
  copyFileSync(nginx(), program);
  writeFileSync(join(dir, "nginx.conf"), configuration(port, hub.port));
  if (IS_ROOT) {
    chmodSync(dir, 0o711);
    for (const file of [".", "key.pem", "nginx.conf"])
      chownSync(join(dir, file), NOBODY, NOBODY);
  }
  const asNobody = IS_ROOT
    ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
    : [];
  const words = [program, "-p", dir, "-c", "nginx.conf", "-e", "stderr"];
  const child = spawn(
    "setpriv",
    [...asNobody, "--pdeathsig", "KILL", ...words],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (part) => (log += part));
  atEnd(async () => {
    if (child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  });
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`nginx has ended: ${log}`);
      return isOpen(port);
    },
    { what: "nginx listens" },
  );
}

/** The program: Debian's, or the one that tests/install has unpacked. */
function nginx() {
  const path = found("nginx", join(TARGET, "nginx/usr/sbin/nginx"));
  if (!path)
    throw new Error(
      "no nginx: tests/run unpacks Debian's into target/nginx, or apt-get install nginx",
    );
  return path;
}

/**
 * The settings of docs/how-to/phone.md, with files and ports of the test.
 *
 * @param {number} port
 * @param {number} hub
 */
function configuration(port, hub) {
  const page = readFileSync(join(ROOT, "docs/how-to/phone.md"), "utf8");
  const [, server = ""] = /```nginx\n([^]*?)```/.exec(page) ?? [];
  const own = server
    .replace("listen 443", `listen 127.0.0.1:${port}`)
    .replace("hub.example.org;", `${NAME};`)
    .replace(/ssl_certificate .*/, "ssl_certificate cert.pem;")
    .replace(/ssl_certificate_key .*/, "ssl_certificate_key key.pem;")
    .replace("127.0.0.1:4782", `127.0.0.1:${hub}`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `daemon off;
master_process off;
pid nginx.pid;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${name};`).join("\n  ")}
  ${own}
}
`;
}

/** @param {number} port @returns {Promise<boolean>} */
function isOpen(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    const end = (/** @type {boolean} */ open) => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
