/** Mutes or unmutes a sender for a time: a session, or any other name that publishes. */

import { h } from "./dom.js";
import { runOnce } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { timeElement } from "./time.js";
import { DURATIONS, muteFor, withMute, withoutMute } from "../core/mutes.js";

/** @import { Target } from '../core/mutes.js' */
/** @import { Preferences } from '../core/types.js' */

export class HubMute extends StoreElement {
  #shown = "";

  /** @param {Target} target */
  show(target) {
    const { store } = this;
    this.hidden ||= store.onlyReads;
    if (store.onlyReads) return;
    const mute = muteFor(store.preferences, target, store.now());
    const now = JSON.stringify([target.project, target.id, mute]);
    if (now === this.#shown) return;
    const focused = this.contains(document.activeElement);
    this.#shown = now;
    if (!mute) {
      const buttons = DURATIONS.map(({ span, text }) =>
        h(
          "button",
          {
            class: "small",
            "aria-label": `Snooze ${text}`,
            onclick: () =>
              this.#save(
                withMute(store.preferences, target, span, store.now()),
              ),
          },
          text,
        ),
      );
      this.replaceChildren(
        h("span", {}, "Snooze"),
        h("div", { role: "group", "aria-label": "Snooze" }, ...buttons),
      );
    } else {
      const left = mute.until
        ? [": ", timeElement(mute.until, () => store.now(), "left")]
        : [" until you unmute it"];
      const own = Boolean(mute.session);
      this.replaceChildren(
        h(
          "span",
          {},
          own ? "Muted" : "Its project is muted (see Settings)",
          ...left,
        ),
        own
          ? h(
              "button",
              {
                class: "small",
                onclick: () =>
                  this.#save(
                    withoutMute(store.preferences, target, store.now()),
                  ),
              },
              "Unmute",
            )
          : "",
      );
    }
    if (focused) this.querySelector("button")?.focus();
  }

  /** @param {Preferences} preferences */
  #save(preferences) {
    const { store } = this;
    runOnce(
      this,
      async () =>
        void (await store.attempt(() => store.savePreferences(preferences))),
    );
  }
}

customElements.define("hub-mute", HubMute);
