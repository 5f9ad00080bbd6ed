/** The difference of two texts by lines, as a person reads a patch. */

/** @typedef {{sign: ' '|'-'|'+'|'…', text: string}} DiffLine */

/** The number of unchanged lines that are shown before and after a change. */
const CONTEXT = 3;
/** A larger comparison (lines times lines) is not made; then all old lines are shown as removed. */
const MAX_CELLS = 4_000_000;

/**
 * The lines of both texts: removed lines above the added ones of the same place, with a few unchanged lines around.
 *
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function diffLines(before, after) {
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start])
    start += 1;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  )
    end += 1;
  const same = (/** @type {string} */ text) =>
    /** @type {DiffLine} */ ({ sign: " ", text });
  return fold([
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ]);
}

/** The lines of a text; the line feed at its end begins no line. @param {string} text */
function linesOf(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/**
 * The changed part, by the longest common subsequence of its lines.
 *
 * @param {string[]} a
 * @param {string[]} b
 * @returns {DiffLine[]}
 */
function middle(a, b) {
  const removed = (/** @type {string[]} */ lines) =>
    lines.map((text) => /** @type {DiffLine} */ ({ sign: "-", text }));
  const added = (/** @type {string[]} */ lines) =>
    lines.map((text) => /** @type {DiffLine} */ ({ sign: "+", text }));
  if (a.length * b.length > MAX_CELLS) return [...removed(a), ...added(b)];
  const length = commonLengths(a, b);
  const width = b.length + 1;
  /** @type {DiffLine[]} */
  const found = [];
  let [i, j, doneA, doneB] = [0, 0, 0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      found.push(...removed(a.slice(doneA, i)), ...added(b.slice(doneB, j)), {
        sign: " ",
        text: a[i],
      });
      i += 1;
      j += 1;
      [doneA, doneB] = [i, j];
    } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return [...found, ...removed(a.slice(doneA)), ...added(b.slice(doneB))];
}

/**
 * The length of the longest common subsequence of each pair of ends, by rows.
 *
 * @param {string[]} a
 * @param {string[]} b
 */
function commonLengths(a, b) {
  const width = b.length + 1;
  const length = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      length[at] =
        a[i] === b[j]
          ? length[at + width + 1] + 1
          : Math.max(length[at + width], length[at + 1]);
    }
  }
  return length;
}

/**
 * Replaces unchanged lines far from a change with one that counts them.
 *
 * @param {DiffLine[]} lines
 * @returns {DiffLine[]}
 */
function fold(lines) {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ sign }, at) => {
    if (sign !== " ") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  /** @type {DiffLine[]} */
  const found = [];
  for (let at = 0; at < lines.length; at += 1) {
    let end = at;
    while (end < lines.length && !near[end]) end += 1;
    // A line that stands for a single one would save nothing.
    if (end - at > 1) {
      found.push({ sign: "…", text: `${end - at} unchanged lines` });
      at = end - 1;
    } else found.push(lines[at]);
  }
  return found;
}
