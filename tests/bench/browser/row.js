/** A row of hub-bench, appended to the file $HUB_BENCH_ROWS as JSON, or else printed. */

import { appendFileSync } from "node:fs";

/**
 * @param {string} name
 * @param {number[]} values ms; none where nothing took long
 */
export function row(name, values) {
  const line = JSON.stringify({ name, values: values.length ? values : [0] });
  const file = process.env.HUB_BENCH_ROWS;
  if (file) appendFileSync(file, `${line}\n`);
  else console.log(line);
}
