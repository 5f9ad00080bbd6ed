/** The cluster of hubs, for a hub that is in one: which one is active, and what is wrong. */

import { h } from "./dom.js";
import { StoreElement } from "./store-element.js";
import { describeCluster } from "../core/cluster.js";

/** How often the hub is asked, in milliseconds. */
const PERIOD = 10_000;

export class HubCluster extends StoreElement {
  connectedCallback() {
    this.setAttribute("role", "status");
    this.hidden = true;
    this.watch(["info"], () => this.#show(this.store.info?.cluster));
    this.every(PERIOD, () => this.#refresh());
  }

  async #refresh() {
    if (!this.store.info?.cluster || document.hidden) return;
    const hub = await this.store.api.get("/hub").catch(() => null);
    if (hub) this.#show(hub.cluster);
  }

  /** @param {import('../core/cluster.js').Cluster|undefined} cluster */
  #show(cluster) {
    this.hidden = !cluster;
    if (!cluster) return;
    const { text, details, isBroken } = describeCluster(cluster);
    this.dataset.state = isBroken ? "retrying" : "live";
    this.title = details.join("\n");
    this.replaceChildren(
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("span", {}, text),
    );
  }
}

customElements.define("hub-cluster", HubCluster);
