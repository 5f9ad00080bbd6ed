import assert from "node:assert/strict";
import { test } from "node:test";

import {
  muteEnd,
  muteFor,
  withMute,
  withoutMute,
} from "../../web/core/mutes.js";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const it = { project: "/src/hub", id: "w1" };
/** @type {import('../../web/core/types.js').Preferences} */
const none = { quiet: null, mutes: [], notify: ["question"], sound: [] };

test("a mute of an hour ends in an hour, a permanent one never", () => {
  assert.equal(muteEnd("hour", NOW), "2026-11-22T13:00:00.000Z");
  assert.equal(muteEnd("good", NOW), undefined);
});

test("until tomorrow is the next day's morning of the reader, also late in the evening", () => {
  for (const hour of [0, 7, 9, 23]) {
    const now = new Date(2026, 10, 22, hour, 30).getTime();
    const end = new Date(muteEnd("tomorrow", now) ?? "");
    assert.deepEqual(
      [end.getDate(), end.getHours(), end.getMinutes()],
      [23, 8, 0],
    );
  }
});

test("muting leaves everything else as it is, and replaces the same session's mute", () => {
  const other = { project: "/src/app" };
  const once = withMute({ ...none, mutes: [other] }, it, "good", NOW);
  const twice = withMute(once, it, "hour", NOW);
  assert.deepEqual(twice, {
    ...none,
    mutes: [
      other,
      { project: "/src/hub", session: "w1", until: "2026-11-22T13:00:00.000Z" },
    ],
  });
});

test("a mute applies to its session, or to all of its project, until it ends", () => {
  const preferences = withMute(none, it, "hour", NOW);
  assert.ok(muteFor(preferences, it, NOW));
  assert.equal(muteFor(preferences, it, NOW + 3_600_000), undefined);
  assert.equal(muteFor(preferences, { ...it, id: "w2" }, NOW), undefined);
  assert.ok(muteFor({ mutes: [{ project: "/src/hub" }] }, it, NOW));
});

test("unmuting takes away the session's own mute and what has ended", () => {
  const preferences = {
    ...none,
    mutes: [
      { project: "/src/hub", session: "w1" },
      { project: "/src/app", until: "2026-01-01T00:00:00Z" },
      { project: "/src/hub" },
    ],
  };
  assert.deepEqual(withoutMute(preferences, it, NOW).mutes, [
    { project: "/src/hub" },
  ]);
});
