/** The switch that the person sees first: whether this browser notifies them. */

import { h } from "./dom.js";
import { StoreElement } from "./store-element.js";
import { DEFAULT_ALERTS } from "../core/alerts.js";
import { askPermission, permission } from "../hub/alerts.js";
import { canPush, subscribe } from "../hub/push.js";

/** Set once the person has decided in this browser; afterwards the switch is in the settings. */
const DECIDED = "hub.notify";

export class HubNotify extends StoreElement {
  #text = h("p", { role: "status" });
  #turnOn = h(
    "button",
    {
      class: "primary",
      role: "switch",
      "aria-checked": "false",
      onclick: () => this.#ask(),
    },
    "Notify me when an agent needs me",
  );
  #later = h(
    "button",
    { class: "ghost", onclick: () => this.#decide() },
    "Not now",
  );

  connectedCallback() {
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Notifications of this browser");
    this.replaceChildren(this.#turnOn, this.#later, this.#text);
    this.watch(["preferences", "info", "connection"], () => this.#render());
  }

  #render() {
    const { store } = this;
    const isOn =
      permission() === "granted" && store.preferences.notify.length > 0;
    this.hidden =
      !store.ready ||
      isOn ||
      permission() === "missing" ||
      localStorage.getItem(DECIDED) !== null;
  }

  async #ask() {
    const answer = await askPermission();
    if (answer === "granted") return this.#enable();
    if (answer === "denied") {
      this.#text.textContent =
        "This browser blocks notifications of this page. Click the icon left of the address, allow notifications, then reload the page.";
    }
  }

  async #enable() {
    const { store } = this;
    const { notify } = store.preferences;
    const saved =
      store.onlyReads ||
      (await store.attempt(() =>
        store.savePreferences({
          ...store.preferences,
          notify: notify.length > 0 ? notify : DEFAULT_ALERTS,
        }),
      ));
    if (!saved) return;
    // The page of a phone is seldom open.
    if (store.access !== undefined && canPush())
      await store.attempt(() => subscribe(store.api));
    store.toast(
      store.preferences.notify.length > 0
        ? "This browser notifies you now. The settings say when."
        : "Nothing notifies you yet: choose what does in the settings of a device that answers.",
    );
    this.#decide();
  }

  #decide() {
    localStorage.setItem(DECIDED, "decided");
    this.#render();
  }
}

customElements.define("hub-notify", HubNotify);
