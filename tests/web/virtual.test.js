import assert from "node:assert/strict";
import { test } from "node:test";
import {
  anchoredScrollTop,
  MAX_ROWS,
  scrollTopToReveal,
  visibleRange,
} from "../../web/core/virtual.js";

const VIEWPORT = { top: 0, height: 440, row: 44, count: 100_000 };

test("the rows in sight are drawn, and a few beyond", () => {
  assert.deepEqual(visibleRange(VIEWPORT), { first: 0, last: 19 });
  const { first, last } = visibleRange({ ...VIEWPORT, top: 44_010 });
  assert.ok(first < 1000 && last > 1011);
  assert.ok(first > 980 && last < 1030);
});

test("never more than some rows are drawn, however high the page", () => {
  for (let height = 0; height < 40_000; height += 137) {
    for (const top of [0, 1, 44_000, 4_399_999]) {
      const { first, last } = visibleRange({ ...VIEWPORT, top, height });
      assert.ok(last - first <= MAX_ROWS, `${height} ${top}`);
      assert.ok(first * 44 <= top, `the first in sight at ${height} ${top}`);
    }
  }
});

test("every row in sight is drawn, at each place, also on a high screen", () => {
  for (const height of [440, 3840, 7680]) {
    for (let top = 0; top < 4000; top += 13) {
      const { first, last } = visibleRange({ ...VIEWPORT, top, height });
      assert.ok(
        first * 44 <= top && last * 44 >= Math.min(top + height, 4_400_000),
        `${top} of ${height}`,
      );
    }
  }
});

test("an empty list draws nothing, and neither does the space beyond an end", () => {
  assert.deepEqual(visibleRange({ ...VIEWPORT, count: 0 }), {
    first: 0,
    last: 0,
  });
  assert.deepEqual(visibleRange({ ...VIEWPORT, count: 3 }), {
    first: 0,
    last: 3,
  });
  assert.deepEqual(visibleRange({ ...VIEWPORT, top: -50, count: 3 }), {
    first: 0,
    last: 3,
  });
  assert.equal(visibleRange({ ...VIEWPORT, top: 9e9 }).last, VIEWPORT.count);
});

test("a row is brought into sight by the least movement", () => {
  assert.equal(scrollTopToReveal({ ...VIEWPORT, top: 440 }, 12), 440);
  assert.equal(scrollTopToReveal({ ...VIEWPORT, top: 440 }, 5), 220);
  assert.equal(scrollTopToReveal({ ...VIEWPORT, top: 440 }, 30), 31 * 44 - 440);
  assert.equal(scrollTopToReveal({ ...VIEWPORT, top: 440 }, -1), 0);
});

test("the row being read stays in place when rows are added above it", () => {
  assert.equal(anchoredScrollTop(1000, 44, 22, 25, false), 1000 + 3 * 44);
  assert.equal(anchoredScrollTop(1000, 44, 22, 21, false), 1000 - 44);
});

test("at the top new rows appear, unless a row there is being read", () => {
  assert.equal(anchoredScrollTop(0, 44, 0, 3, false), 0);
  assert.equal(anchoredScrollTop(0, 44, 0, 3, true), 132);
});
