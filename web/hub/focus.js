/**
 * Whether one of the hub's tabs has the focus: that tab holds a lock, which the others can query, and a stream, by which
 * the hub knows it.
 */

import { Stream } from "./stream.js";

const LOCK = "hub-focus";

/**
 * Holds the lock and the stream while this tab has the focus. Both end with the tab, however it ends.
 *
 * @param {import('./api.js').Api} api
 * @param {AbortSignal} signal
 */
export function trackFocus(api, signal) {
  let release = () => {};
  const update = () => {
    release();
    if (signal.aborted || !document.hasFocus()) return;
    const stream = new Stream(
      api,
      { events: () => {}, connection: () => {} },
      () => "kinds=preferences&focused=true",
    );
    const held = new Promise((resolve) => {
      release = () => {
        stream.stop();
        resolve(undefined);
      };
    });
    navigator.locks.request(LOCK, { mode: "shared" }, () => held);
    stream.run(() => "");
  };
  addEventListener("focus", update, { signal });
  addEventListener("blur", update, { signal });
  signal.addEventListener("abort", update);
  update();
}

/** Whether the person is looking at one of the tabs. */
export async function isFocused() {
  const { held = [] } = await navigator.locks.query();
  return held.some(({ name }) => name === LOCK);
}
