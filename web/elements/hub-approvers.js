/** The others who may answer in the person's place: other browsers that are signed in, and agents if the configuration lets them. */

import { h } from "./dom.js";
import { StoreElement } from "./store-element.js";
import { describeApprovers } from "../core/approvers.js";

/** How often the hub is asked, in milliseconds. */
const PERIOD = 30_000;

export class HubApprovers extends StoreElement {
  connectedCallback() {
    this.setAttribute("role", "status");
    this.hidden = true;
    this.watch(["info"], () => this.#show());
    this.every(PERIOD, () => this.#refresh());
  }

  async #refresh() {
    const { store } = this;
    if (!store.info || document.hidden) return;
    const answer = await store.api.get("/login/devices").catch(() => null);
    if (answer) store.devices = answer.devices;
    this.#show();
  }

  #show() {
    const { devices, info } = this.store;
    const approvers = describeApprovers(
      devices,
      info?.agents_may_approve === true,
    );
    this.hidden = !approvers;
    this.title = approvers?.details.join("\n") ?? "";
    this.replaceChildren(
      ...(approvers
        ? [
            h("span", { class: "dot", "aria-hidden": "true" }),
            h("span", {}, approvers.text),
          ]
        : []),
    );
  }
}

customElements.define("hub-approvers", HubApprovers);
