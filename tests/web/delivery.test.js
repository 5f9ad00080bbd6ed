import assert from "node:assert/strict";
import { test } from "node:test";

import { describeStep } from "../../web/core/delivery.js";

test("each step of a delivery is a sentence", () => {
  assert.deepEqual(
    describeStep({ state: "stored", at: "", inbox: "primary" }),
    { text: "Stored for primary", why: "" },
  );
  assert.equal(
    describeStep({ state: "superseded", at: "", by: "47" }).text,
    "Replaced by #47",
  );
  assert.match(
    describeStep({ state: "emitted", at: "", inbox: "w", way: "rewake" }).why,
    /woke/,
  );
  assert.equal(
    describeStep({
      state: "unreachable",
      inbox: "w",
      way: "pane",
      why: "its pane is in copy mode",
    }).why,
    "its pane is in copy mode",
  );
  assert.deepEqual(
    describeStep({
      state: "held",
      inbox: "w",
      limit: "5 wakes a minute by ci",
    }),
    { text: "Held back from w", why: "limit: 5 wakes a minute by ci" },
  );
  assert.equal(
    describeStep(/** @type {any} */ ({ state: "new in a later hub" })).text,
    "new in a later hub",
  );
});
