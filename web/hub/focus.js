/** Whether one of the hub's tabs has the focus: that tab holds a lock, and the others can query it. */

const LOCK = 'hub-focus';

/**
 * Holds the lock while this tab has the focus.
 *
 * @param {AbortSignal} signal
 */
export function trackFocus(signal) {
  let release = () => {};
  const update = () => {
    release();
    if (signal.aborted || !document.hasFocus()) return;
    const held = new Promise((resolve) => (release = () => resolve(undefined)));
    navigator.locks.request(LOCK, { mode: 'shared' }, () => held);
  };
  addEventListener('focus', update, { signal });
  addEventListener('blur', update, { signal });
  signal.addEventListener('abort', update);
  update();
}

/** Whether the person is looking at one of the tabs. */
export async function isFocused() {
  const { held = [] } = await navigator.locks.query();
  return held.some(({ name }) => name === LOCK);
}
