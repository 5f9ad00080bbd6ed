import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser } from "../../web/core/sse.js";

const STREAM =
  ': hello\n\nretry: 1500\n\nid: e-1\nevent: notification\ndata: {"id":1}\n\nid: e-2\nevent: seen\ndata: {"ids":[1]}\n\n';
const EVENTS = [
  { id: "e-1", event: "notification", data: '{"id":1}' },
  { id: "e-2", event: "seen", data: '{"ids":[1]}' },
];

test("events are the same for any split into chunks", () => {
  for (const ends of [
    STREAM,
    STREAM.replaceAll("\n", "\r\n"),
    STREAM.replaceAll("\n", "\r"),
  ]) {
    for (let first = 0; first <= ends.length; first += 1) {
      for (const second of [
        first,
        Math.min(first + 1, ends.length),
        ends.length,
      ]) {
        const parser = new EventParser();
        const chunks = [
          ends.slice(0, first),
          ends.slice(first, second),
          ends.slice(second),
          "\n",
        ];
        assert.deepEqual(
          chunks.flatMap((chunk) => parser.push(chunk)),
          EVENTS,
          JSON.stringify(chunks),
        );
        assert.equal(parser.retry, 1500);
      }
    }
  }
});

test("an event without data is skipped, and the id stays the last one", () => {
  const parser = new EventParser();
  const events = parser.push(
    "id: 7\n\nevent: presence\ndata: {}\n\ndata: two\ndata: lines\n\n",
  );
  assert.deepEqual(events, [
    { id: "7", event: "presence", data: "{}" },
    { id: "7", event: "message", data: "two\nlines" },
  ]);
});

test("half an event is not an event yet", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.push('id: 1\ndata: {"id"'), []);
  assert.deepEqual(parser.push(":1}\n"), []);
  assert.equal(parser.push("\n").length, 1);
});
