import assert from "node:assert/strict";
import { test } from "node:test";

import { actionOf, caps, KEYS } from "../../web/core/keys.js";
import { VIEWS, viewOf } from "../../web/core/view.js";

test("each key has one meaning on the whole page, and digits are for options only", () => {
  const all = KEYS.flatMap(({ keys }) => keys);
  assert.deepEqual(all, [...new Set(all)]);
  const digits = KEYS.filter(({ keys }) => keys.some((key) => /\d/.test(key)));
  assert.deepEqual(
    digits.map(({ id }) => id),
    ["option"],
  );
  assert.deepEqual(caps("Shift+E"), ["Shift", "E"]);
});

test("each view has a key of its own after the one for views", () => {
  assert.deepEqual(
    VIEWS.map(({ key }) => key),
    ["q", "a", "f", "t"],
  );
});

test("an address names its view, or what one of them shows", () => {
  const view = (/** @type {string} */ search) =>
    viewOf(new URLSearchParams(search));
  assert.deepEqual(
    [
      "",
      "?need=7",
      "?agent=p/w1",
      "?id=7",
      "?types=error",
      "?view=time",
      "?view=agents&id=7",
      "?view=nothing",
    ].map(view),
    ["queue", "queue", "agents", "feed", "feed", "time", "agents", "queue"],
  );
});

test("a key acts outside of fields only, and never together with the keys of the browser", () => {
  const press = {
    key: "e",
    shiftKey: false,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
  };
  assert.equal(actionOf(press, false), "done");
  assert.equal(
    actionOf({ ...press, key: "A", shiftKey: true }, false),
    "always",
  );
  assert.equal(actionOf({ ...press, key: "?", shiftKey: true }, false), "help");
  assert.equal(actionOf({ ...press, key: "2" }, false), "option");
  assert.equal(actionOf(press, true), null);
  assert.equal(actionOf({ ...press, key: "Escape" }, true), "close");
  assert.equal(actionOf({ ...press, ctrlKey: true }, false), null);
});
