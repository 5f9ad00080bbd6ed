/** A list from the newest (highest id) to the oldest, which grows at both ends without moving its items. */

/**
 * @template {{id: number}} T
 */
export class SortedList {
  /** The newer half, oldest first. @type {T[]} */
  #newer = [];
  /** The older half, newest first. @type {T[]} */
  #older = [];

  get length() {
    return this.#newer.length + this.#older.length;
  }

  /** The newest. @returns {T|undefined} */
  get newest() {
    return this.at(0);
  }

  /** The oldest. @returns {T|undefined} */
  get oldest() {
    return this.at(this.length - 1);
  }

  /**
   * @param {number} index 0 is the newest
   * @returns {T|undefined}
   */
  at(index) {
    const newer = this.#newer.length;
    return index < newer
      ? this.#newer[newer - 1 - index]
      : this.#older[index - newer];
  }

  /**
   * The index of the first item whose id is at most `id`; if the list contains `id`, the index of that item.
   *
   * @param {number} id
   * @returns {number}
   */
  indexOf(id) {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (/** @type {T} */ (this.at(middle)).id > id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Inserts an item in the order of ids; cheap at both ends.
   *
   * @param {T} item
   */
  add(item) {
    const newest = this.newest;
    const oldest = this.oldest;
    if (!newest || item.id > newest.id) this.#newer.push(item);
    else if (!oldest || item.id < oldest.id) this.#older.push(item);
    else this.#insert(this.indexOf(item.id), item);
  }

  /**
   * @param {number} index
   * @param {T} item
   */
  #insert(index, item) {
    const newer = this.#newer.length;
    if (index <= newer) this.#newer.splice(newer - index, 0, item);
    else this.#older.splice(index - newer, 0, item);
  }

  /** @param {number} index */
  remove(index) {
    const newer = this.#newer.length;
    if (index < newer) this.#newer.splice(newer - 1 - index, 1);
    else this.#older.splice(index - newer, 1);
  }

  /** From the newest to the oldest. @returns {Generator<T, void>} */
  *[Symbol.iterator]() {
    for (let index = 0; index < this.length; index += 1)
      yield /** @type {T} */ (this.at(index));
  }
}
