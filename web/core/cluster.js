/** The description of the cluster of hubs. */

import { absolute } from "./time.js";

/** @typedef {import('./types.js').Schemas['ClusterInfo']} Cluster */

/**
 * Describes which hub is active and which ones lag.
 *
 * @param {Cluster} cluster
 * @returns {{text: string, details: string[], isBroken: boolean}}
 */
export function describeCluster({
  active,
  since,
  node,
  role,
  behind,
  fault,
  damage,
  nodes,
}) {
  const newest = Math.max(0, ...nodes.map(({ head }) => head));
  const others = nodes.map((it) => {
    if (it.role === "silent")
      return `${it.node}: silent since ${absolute(it.seen_at)}`;
    // The last report of the active one may be older than those of the others, but it is never behind them.
    return `${it.node}: ${it.role}${lag(it.role === "active" ? 0 : newest - it.head)}`;
  });
  const details = [
    active
      ? `${active} is active${since ? ` since ${absolute(since)}` : ""}`
      : "No hub is active: nothing can be sent or answered",
    `${node} (this machine): ${role}${lag(behind)}`,
    ...others,
    ...(fault ? [`This hub stopped: ${fault}`] : []),
    ...(damage ? [damage] : []),
  ];
  return {
    text: active ? `${active} is active` : "no hub is active",
    details,
    isBroken: !active || Boolean(fault ?? damage),
  };
}

/** @param {number} records */
function lag(records) {
  return records > 0 ? `, ${records} behind` : "";
}
