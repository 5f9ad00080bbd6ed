import assert from "node:assert/strict";
import { test } from "node:test";

import { describeCluster } from "../../web/core/cluster.js";

/** @typedef {import('../../web/core/cluster.js').Cluster} Cluster */

const node = { version: "0.1.0", seen_at: "2026-11-24T10:00:00Z" };
const cluster = /** @type {Cluster} */ ({
  name: "hub",
  node: "laptop",
  role: "standby",
  active: "server1",
  since: "2026-11-24T09:00:00Z",
  behind: 2,
  nodes: [
    { ...node, node: "server1", role: "active", head: 12 },
    { ...node, node: "server2", role: "standby", head: 9 },
    { ...node, node: "vm", role: "silent", head: 3 },
  ],
});

test("a cluster shows the active hub, who lags and who is silent", () => {
  const { text, details, isBroken } = describeCluster(cluster);
  assert.equal(text, "server1 is active");
  assert.equal(isBroken, false);
  assert.match(details[0], /^server1 is active since /);
  assert.deepEqual(details.slice(1, 4), [
    "laptop (this machine): standby, 2 behind",
    "server1: active",
    "server2: standby, 3 behind",
  ]);
  assert.match(details[4], /^vm: silent since /);
});

test("the active hub is never behind, also if its last report is older than another one", () => {
  const nodes = cluster.nodes.map((it) =>
    it.node === "vm" ? { ...it, role: "standby", head: 15 } : it,
  );
  assert.equal(
    describeCluster({ ...cluster, nodes }).details[2],
    "server1: active",
  );
});

test("a cluster without an active hub, with a fault or with a loss is broken", () => {
  for (const broken of [
    { active: undefined },
    { fault: "the disk" },
    { damage: "NATS lost 2 commits" },
  ]) {
    assert.equal(describeCluster({ ...cluster, ...broken }).isBroken, true);
  }
  assert.equal(
    describeCluster({ ...cluster, active: undefined }).text,
    "no hub is active",
  );
});
