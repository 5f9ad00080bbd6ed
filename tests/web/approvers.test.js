import assert from "node:assert/strict";
import { test } from "node:test";

import {
  describeApprovers,
  describeEvidence,
} from "../../web/core/approvers.js";

const TS = "2026-01-10T12:00:00Z";

/** @param {string} id @param {boolean} [own] */
function device(id, own) {
  return {
    id,
    name: "Firefox 140 on Linux",
    created_at: TS,
    used_at: TS,
    expires_at: TS,
    ...(own && { own }),
  };
}

test("other browsers and agents that may approve are shown", () => {
  assert.equal(describeApprovers([device("a", true)], false), null);
  assert.equal(describeApprovers([], true)?.text, "agents may approve");
  const both = describeApprovers(
    [device("a", true), device("b"), device("c")],
    true,
  );
  assert.equal(both?.text, "agents may approve, 2 other browsers");
  assert.match(
    both?.details[1] ?? "",
    /device b, signed in at .* hubctl dashboard --revoke b/,
  );
  assert.equal(
    describeApprovers([device("b")], false)?.text,
    "1 other browser",
  );
  /** @type {import("../../web/core/approvers.js").Device} */
  const reader = { ...device("r"), access: "reads" };
  assert.equal(describeApprovers([reader], false), null);
});

test("an answer names its device, its forward or its process", () => {
  assert.equal(
    describeEvidence({ device: "a1", device_name: "Firefox" }),
    "Firefox, device a1",
  );
  assert.equal(
    describeEvidence({ forward: "phone" }),
    "a button of the forward phone",
  );
  assert.equal(
    describeEvidence({
      pid: 4,
      programs: ["hubctl", "bash"],
      terminal: "pts/1",
      session: "w1",
    }),
    "process 4 (hubctl < bash) on pts/1 in session w1",
  );
  assert.equal(describeEvidence({}), "an unknown program");
});
