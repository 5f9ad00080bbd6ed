/** The page's work for one arrival, without a browser. */

import { test } from "node:test";

import { Feed } from "../../../web/core/feed.js";
import { row } from "./row.js";

test("an arrival into 100,000, with four views open", () => {
  const feed = new Feed();
  const notification = (/** @type {number} */ id, /** @type {any} */ more) =>
    /** @type {any} */ ({
      id,
      ts: "2026-01-01T00:00:00Z",
      from: "worker",
      type: "message",
      priority: "default",
      project: "app",
      msg: `message ${id % 50}`,
      ...more,
    });
  const long = Array.from({ length: 100_000 }, (_, index) =>
    notification(index + 1, index % 10 === 0 && { key: `key ${index % 500}` }),
  );
  for (let end = long.length; end > 0; end -= 500)
    feed.add(long.slice(end - 500, end));
  for (const filter of [
    {},
    { q: "message 7" },
    { project: "none" },
    { unseen: true },
  ])
    feed.rows(filter);
  const times = [];
  for (let id = 100_001; id <= 100_501; id += 1) {
    const before = performance.now();
    feed.add([notification(id, id % 2 && { key: `key ${id % 500}` })]);
    feed.rows();
    times.push(performance.now() - before);
  }
  row("an arrival into 100,000 rows", times);
});
