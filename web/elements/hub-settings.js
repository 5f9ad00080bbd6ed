/** The person's notification preferences. The hub stores them, so they apply in every browser. */

import "./hub-editor.js";
import "./hub-push.js";
import { h, updateList } from "./dom.js";
import { closeButton, onlyReadsNote } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { ALERTS } from "../core/alerts.js";
import { isActive } from "../core/mutes.js";
import { isQuiet, minuteOfDay } from "../core/quiet-hours.js";
import { absolute } from "../core/time.js";
import { askPermission, permission } from "../hub/alerts.js";
import { Problem } from "../hub/problem.js";
import { playSound } from "../hub/sound.js";

/** @import { Alert } from '../core/alerts.js' */
/** @import { Mute, Preferences } from '../core/types.js' */

/** The default quiet hours. */
const DEFAULT_HOURS = { from: "22:00", to: "07:00" };

export class HubSettings extends StoreElement {
  /** @type {HTMLDialogElement|null} */
  #dialog = null;
  /** The queue of changes that are being saved, in order. */
  #saving = Promise.resolve();
  #pending = 0;

  #saved = h("p", { class: "saved", role: "status" });
  #error = h("p", { class: "field-error", role: "alert" });
  #push = /** @type {import('./hub-push.js').HubPush} */ (
    document.createElement("hub-push")
  );
  #browser = h("div", { class: "browser" });
  #mutes = h("ul", { class: "mutes" });
  #noMutes = h(
    "p",
    { class: "muted" },
    "No session is muted. To mute one, open its card. Urgent notifications are always shown.",
  );
  #on = h("input", {
    type: "checkbox",
    id: "quiet-on",
    onchange: () => this.#saveQuiet(),
  });
  #from = h("input", {
    type: "time",
    id: "quiet-from",
    required: true,
    onchange: () => this.#saveQuiet(),
  });
  #to = h("input", {
    type: "time",
    id: "quiet-to",
    required: true,
    onchange: () => this.#saveQuiet(),
  });
  #zone = h("input", {
    type: "text",
    id: "quiet-zone",
    list: "zones",
    required: true,
    spellcheck: "false",
    autocomplete: "off",
    onchange: () => this.#saveQuiet(),
  });
  #hours = h("p", { class: "hours muted" });
  #hoursError = h("p", { class: "field-error", role: "alert" });

  connectedCallback() {
    this.watch(["preferences"], () => this.#dialog?.open && this.#render());
    this.every(10_000, () => this.#dialog?.open && this.#updateHours());
  }

  /** Opens the dialog; closing it returns the focus to its former element. */
  open() {
    const dialog = this.#build();
    if (dialog.open) return;
    this.#saved.textContent = "";
    this.#push.refresh();
    this.#render();
    dialog.showModal();
  }

  #build() {
    if (this.#dialog) return this.#dialog;
    this.#push.store = this.store;
    this.#dialog = h(
      "dialog",
      { class: "settings", "aria-labelledby": "settings-title" },
      h(
        "header",
        {},
        h(
          "h2",
          { id: "settings-title", tabindex: "-1", autofocus: true },
          "Settings",
        ),
        this.#saved,
        closeButton(() => this.#dialog?.close()),
      ),
      this.#error,
      this.store.onlyReads && onlyReadsNote(),
      h(
        "section",
        { "aria-labelledby": "settings-alerts" },
        h("h3", { id: "settings-alerts" }, "Alerts"),
        this.#browser,
        this.#states(),
        h(
          "p",
          { class: "muted" },
          "Urgent notifications are always shown. No notification is shown while you look at this page.",
        ),
        this.#push,
        this.#sounds(),
      ),
      this.#quietHours(),
      h(
        "section",
        { "aria-labelledby": "settings-mutes" },
        h("h3", { id: "settings-mutes" }, "Muted"),
        this.#mutes,
        this.#noMutes,
      ),
      h(
        "section",
        { "aria-label": "Editor" },
        h("hub-editor", { store: this.store }),
      ),
    );
    this.append(this.#dialog);
    return this.#dialog;
  }

  /** The table with a row for each state of an agent, and columns for browser notification and sound. */
  #states() {
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, "When an agent is"),
      h("th", { scope: "col" }, "Notify me"),
      h("th", { scope: "col" }, "Sound"),
    );
    const row = (/** @type {typeof ALERTS[number]} */ alert) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row" },
          alert.name,
          h("span", { class: "muted" }, ` ${alert.text}`),
        ),
        h("td", {}, this.#box(alert, "notify")),
        h("td", {}, this.#box(alert, "sound")),
      );
    return h(
      "table",
      { class: "types" },
      h("thead", {}, head),
      h("tbody", {}, ...ALERTS.map(row)),
    );
  }

  /**
   * @param {typeof ALERTS[number]} alert
   * @param {'notify'|'sound'} way
   */
  #box({ state, name }, way) {
    const label = `${name}: ${way === "notify" ? "browser notification" : "sound"}`;
    const box = h("input", {
      type: "checkbox",
      "aria-label": label,
      "data-state": state,
      "data-way": way,
    });
    box.addEventListener("change", async () => {
      const on = box.checked;
      this.#save((now) => ({
        ...now,
        [way]: ALERTS.map((it) => it.state).filter((it) =>
          it === state ? on : now[way].includes(it),
        ),
      }));
      if (on && way === "sound") playSound(state);
      if (on && way === "notify") await askPermission();
      this.#updatePermission();
    });
    return h("label", {}, box);
  }

  #sounds() {
    const result = h("span", { role: "status" });
    const test = async () => {
      result.textContent = (await playSound("needs_you"))
        ? ""
        : "The browser blocks the sound of this page: allow it in the settings of the site.";
    };
    return h(
      "p",
      { class: "test" },
      h("button", { type: "button", onclick: test }, "Test the sound"),
      result,
    );
  }

  #quietHours() {
    const zones = Intl.supportedValuesOf("timeZone").map((zone) =>
      h("option", { value: zone }),
    );
    return h(
      "section",
      { "aria-labelledby": "settings-quiet" },
      h("h3", { id: "settings-quiet" }, "Quiet hours"),
      h(
        "p",
        {},
        h(
          "label",
          { class: "check" },
          this.#on,
          "No notification and no sound, unless it is urgent",
        ),
      ),
      h(
        "div",
        { class: "fields" },
        h("label", {}, h("span", {}, "From"), this.#from),
        h("label", {}, h("span", {}, "To"), this.#to),
        h("label", { class: "zone" }, h("span", {}, "Time zone"), this.#zone),
        h("datalist", { id: "zones" }, ...zones),
      ),
      this.#hoursError,
      this.#hours,
    );
  }

  #render() {
    const { store } = this;
    // While a change is being saved, an older state must not overwrite the person's choice.
    if (this.#pending > 0) return;
    const { quiet, mutes } = store.preferences;
    for (const box of this.querySelectorAll("input[data-way]")) {
      const { state, way } = /** @type {HTMLInputElement} */ (box).dataset;
      /** @type {HTMLInputElement} */ (box).checked = store.preferences[
        /** @type {'notify'|'sound'} */ (way)
      ].includes(/** @type {Alert} */ (state));
    }
    this.#on.checked = quiet !== null;
    for (const field of [this.#from, this.#to, this.#zone])
      field.disabled = quiet === null;
    const hours = quiet ?? {
      from: this.#from.value || DEFAULT_HOURS.from,
      to: this.#to.value || DEFAULT_HOURS.to,
      zone: this.#zone.value || ownZone(),
    };
    setUnlessFocused(this.#from, hours.from);
    setUnlessFocused(this.#to, hours.to);
    setUnlessFocused(this.#zone, hours.zone);
    this.#updateHours();
    this.#updatePermission();
    const live = mutes.filter((mute) => isActive(mute, store.now()));
    const had = this.#mutes.contains(document.activeElement);
    updateList(
      this.#mutes,
      live,
      keyOfMute,
      (mute) => this.#mute(mute),
      () => {},
    );
    // Removing the unmuted entry must not lose the focus.
    if (had && !this.#mutes.contains(document.activeElement))
      (
        this.#mutes.querySelector("button") ?? this.querySelector("h2")
      )?.focus();
    this.#noMutes.hidden = live.length > 0;
    if (!store.onlyReads) return;
    for (const control of this.querySelectorAll(
      "section > :not(hub-push) input, .mutes button",
    ))
      /** @type {HTMLInputElement} */ (control).disabled = true;
  }

  /** @param {Mute} mute */
  #mute(mute) {
    const target = mute.session
      ? `${this.#nameOf(mute)} in ${mute.project}`
      : `all of ${mute.project}`;
    const remove = () =>
      this.#save((now) => ({
        ...now,
        mutes: now.mutes.filter((it) => keyOfMute(it) !== keyOfMute(mute)),
      }));
    return h(
      "li",
      {},
      h("span", { class: "content" }, target),
      h(
        "span",
        { class: "muted" },
        mute.until ? `until ${absolute(mute.until)}` : "until you unmute it",
      ),
      h(
        "button",
        { type: "button", "aria-label": `Unmute ${target}`, onclick: remove },
        "Unmute",
      ),
    );
  }

  /** A mute names a session by its id. @param {Mute} mute */
  #nameOf({ project, session }) {
    return this.store.sessions.get(`${project}/${session}`)?.name ?? session;
  }

  /** Shows whether the quiet hours apply now, by the zone's clock. */
  #updateHours() {
    const { store } = this;
    const { quiet } = store.preferences;
    const minute = quiet ? minuteOfDay(quiet.zone, store.now()) : null;
    if (!quiet || minute === null) {
      this.#hours.textContent = "";
      return;
    }
    const clock = `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
    const now = isQuiet(store.preferences, store.now())
      ? `quiet until ${quiet.to}`
      : `quiet from ${quiet.from}`;
    this.#hours.textContent = `It is ${clock} in this time zone: ${now}.`;
  }

  /** Shows whether the browser allows notifications, and how to allow them. */
  #updatePermission() {
    const wanted = this.store.preferences.notify.length > 0;
    const state = permission();
    const allow = h(
      "button",
      {
        type: "button",
        onclick: async () => (await askPermission(), this.#updatePermission()),
      },
      "Allow notifications",
    );
    const text = {
      granted: "",
      default: wanted ? "This browser has not allowed notifications yet." : "",
      denied:
        "This browser blocks the notifications of this page. Click the icon left of the address, allow notifications, then reload the page.",
      missing:
        "This browser does not support notifications. The title and the icon still count the items that need you.",
    }[state];
    this.#browser.dataset.state = state;
    this.#browser.replaceChildren(
      ...(text
        ? [h("p", {}, text), ...(state === "default" ? [allow] : [])]
        : []),
    );
  }

  /** Saves the quiet hours once they are complete. */
  #saveQuiet() {
    for (const field of [this.#from, this.#to, this.#zone])
      field.disabled = !this.#on.checked;
    this.#hoursError.textContent = "";
    const quiet = {
      from: this.#from.value,
      to: this.#to.value,
      zone: this.#zone.value.trim(),
    };
    if (this.#on.checked && (!quiet.from || !quiet.to)) {
      this.#hoursError.textContent = "Not saved: enter both times.";
    } else if (this.#on.checked && quiet.from === quiet.to) {
      this.#hoursError.textContent =
        "Not saved: From and To are the same. To have no quiet hours, clear the checkbox.";
    } else if (this.#on.checked && minuteOfDay(quiet.zone, 0) === null) {
      this.#hoursError.textContent = `Not saved: unknown time zone “${quiet.zone}”. Use a name from the list, such as ${ownZone()}.`;
    } else {
      this.#save(
        (now) => ({ ...now, quiet: this.#on.checked ? quiet : null }),
        this.#hoursError,
      );
    }
  }

  /**
   * Saves a change after the previous ones, and shows success or the error.
   *
   * @param {(now: Preferences) => Preferences} change
   * @param {HTMLElement} [output]
   */
  #save(change, output = this.#error) {
    const { store } = this;
    this.#saved.textContent = "Saving…";
    const quiet = this.#on.checked;
    this.#pending += 1;
    this.#saving = this.#saving.then(async () => {
      let refused = "";
      try {
        await store.savePreferences(change(store.preferences));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        refused = `Not saved: ${error.message}. ${error.hint}`;
      } finally {
        this.#pending -= 1;
      }
      output.textContent = refused;
      this.#saved.textContent = refused ? "" : "Saved";
      // A refused value must not look saved. Only invalid hours stay in the fields, where the person can correct them.
      if (!refused || output === this.#error || !quiet) this.#render();
    });
  }
}

/** The browser's own time zone. */
function ownZone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/**
 * Shows the hub's value, unless the person is editing the field.
 *
 * @param {HTMLInputElement} field
 * @param {string} value
 */
function setUnlessFocused(field, value) {
  if (document.activeElement !== field) field.value = value;
}

/** @param {Mute} mute */
function keyOfMute({ project, session, until }) {
  return JSON.stringify([project, session ?? null, until ?? null]);
}

customElements.define("hub-settings", HubSettings);
