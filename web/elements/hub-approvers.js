/** The others who may answer in the person's place: other browsers that are signed in, and agents if the configuration lets them. */

import { h } from './dom.js';
import { StoreElement } from './store-element.js';
import { describeApprovers } from '../core/approvers.js';

/** How often the hub is asked, in milliseconds. */
const PERIOD = 30_000;

export class HubApprovers extends StoreElement {
  connectedCallback() {
    this.setAttribute('role', 'status');
    this.hidden = true;
    // After the page is live, because nothing waits for this.
    this.watch(['connection'], () => this.store.connection.state === 'live' && this.#refresh());
    this.every(PERIOD, () => this.#refresh());
  }

  async #refresh() {
    if (!this.store.info || document.hidden) return;
    const answer = await this.store.api.get('/login/devices').catch(() => null);
    if (answer) this.#show(describeApprovers(answer.devices, this.store.info?.agents_may_approve === true));
  }

  /** @param {{text: string, details: string[]}|null} approvers */
  #show(approvers) {
    this.hidden = !approvers;
    this.title = approvers?.details.join('\n') ?? '';
    this.replaceChildren(...(approvers ? [h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', {}, approvers.text)] : []));
  }
}

customElements.define('hub-approvers', HubApprovers);
