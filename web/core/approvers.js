/** The browsers and agents that may answer in the person's place, and who answered. */

/** @typedef {import('./types.js').Schemas['Device']} Device */

/**
 * The other browsers and phones that are signed in and may answer, and agents if they may approve; null if there are none.
 *
 * @param {Device[]} devices
 * @param {boolean} agentsMayApprove
 * @returns {{text: string, details: string[]}|null}
 */
export function describeApprovers(devices, agentsMayApprove) {
  const others = devices.filter(
    ({ own, access }) => !own && access !== "reads",
  );
  const parts = [];
  if (agentsMayApprove) parts.push("agents may approve");
  if (others.length > 0)
    parts.push(
      others.length === 1
        ? "1 other browser"
        : `${others.length} other browsers`,
    );
  if (parts.length === 0) return null;
  const details = others.map(
    ({ id, name, created_at }) =>
      `${name}, device ${id}, signed in at ${created_at}. To end its session: hubctl dashboard --revoke ${id}`,
  );
  if (agentsMayApprove)
    details.unshift(
      "The setting agents_may_approve lets any agent give permissions.",
    );
  return { text: parts.join(", "), details };
}

/**
 * The evidence of who gave an answer, as the hub observed it.
 *
 * @param {import('./types.js').Schemas['Evidence']} evidence
 */
export function describeEvidence({
  device,
  device_name: name = "a browser",
  forward,
  pid,
  programs = [],
  terminal,
  session,
}) {
  if (device !== undefined) return `${name}, device ${device}`;
  if (forward !== undefined) return `a button of the forward ${forward}`;
  if (pid === undefined) return "an unknown program";
  return `process ${pid} (${programs.join(" < ")})${terminal ? ` on ${terminal}` : ""}${session ? ` in session ${session}` : ""}`;
}
