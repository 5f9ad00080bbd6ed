/** The location of a session, and the commands that lead there. */

import { copyable } from './copyable.js';
import { h } from './dom.js';

/**
 * @typedef {import('../core/types.js').Place} Place
 * @typedef {import('../core/commands.js').Command} Command
 */

export class HubWhere extends HTMLElement {
  #shown = '';

  /**
   * @param {Place} place
   * @param {Command[]} commands
   */
  show(place, commands) {
    // Unchanged content is not redrawn, so that a selection survives.
    const now = JSON.stringify([place, commands]);
    if (now === this.#shown) return;
    this.#shown = now;
    const { host, cwd, pane } = place;
    const facts = [['host', host], ['directory', cwd], ['pane', pane]].filter(([, value]) => value);
    this.replaceChildren(
      h('dl', {}, ...facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))),
      ...commands.map(({ what, line }) => h('div', { class: 'way' }, h('span', {}, what), copyable(line, `Copy: ${what}`))),
    );
  }
}

customElements.define('hub-where', HubWhere);
