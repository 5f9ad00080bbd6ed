/** The base of the elements that render from the store. */

/** @import { Part, Store } from '../hub/store.js' */

export class StoreElement extends HTMLElement {
  /** The page's data; it is set before the element is connected. @type {Store} */
  store = /** @type {any} */ (null);
  #removed = new AbortController();

  /** Aborted when the element is removed from the page. */
  get removed() {
    return this.#removed.signal;
  }

  /**
   * Calls `render` now and whenever one of these parts changes, until the element is removed.
   *
   * @param {Part[]} parts
   * @param {() => void} render
   */
  watch(parts, render) {
    this.removed.addEventListener("abort", this.store.watch(parts, render));
  }

  /**
   * Calls `action` at this interval until the element is removed.
   *
   * @param {number} ms
   * @param {() => void} action
   */
  every(ms, action) {
    const timer = setInterval(action, ms);
    this.removed.addEventListener("abort", () => clearInterval(timer));
  }

  disconnectedCallback() {
    this.#removed.abort();
    this.#removed = new AbortController();
  }
}
