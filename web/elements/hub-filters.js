/** The feed's filter controls. The element fires `filter` when the person changes them, and stores nothing itself. */

import { h, set } from "./dom.js";
import { isEmpty, normalize } from "../core/filter.js";
import { KINDS, kindText } from "../core/types.js";

/** @import { Filter } from '../core/filter.js' */
/** @import { Kind, Priority } from '../core/types.js' */

/**
 * @typedef {object} Change the detail of the event `filter`
 * @property {Filter} filter
 * @property {boolean} typing whether the person is still typing
 */

export class HubFilters extends HTMLElement {
  /** @type {Filter} */
  #filter = {};
  #search = h("input", {
    type: "search",
    placeholder: "Search",
    "aria-label": "Search sender, title and text",
    "aria-keyshortcuts": "/",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => this.#change({ q: this.#search.value }, true),
  });
  #types = KINDS.map((kind) =>
    h(
      "button",
      {
        class: "chip",
        "data-type": kind,
        "aria-pressed": "false",
        onclick: () => this.#toggle(kind),
      },
      kindText(kind),
    ),
  );
  #priority = h(
    "select",
    {
      "aria-label": "Priority",
      onchange: () =>
        this.#change({
          priority: /** @type {Priority} */ (this.#priority.value),
        }),
    },
    h("option", { value: "" }, "Any priority"),
    h("option", { value: "normal" }, "Normal and above"),
    h("option", { value: "high" }, "High and urgent"),
    h("option", { value: "urgent" }, "Urgent"),
  );
  #project = h("select", {
    "aria-label": "Project",
    onchange: () => this.#change({ project: this.#project.value }),
  });
  #session = h("select", {
    "aria-label": "Session",
    onchange: () => this.#change({ session: this.#session.value }),
  });
  #unseen = h(
    "button",
    {
      class: "chip unseen",
      "aria-pressed": "false",
      onclick: () => this.#change({ unseen: !this.#filter.unseen }),
    },
    "Unread",
  );
  #more = h(
    "button",
    {
      class: "ghost more",
      "aria-expanded": "false",
      onclick: () => this.#unfold(),
    },
    "Filters",
  );
  #clear = h(
    "button",
    { class: "chip clear", onclick: () => this.#emit({}, false) },
    "Clear",
  );
  /** @type {string} */
  #choices = "";

  connectedCallback() {
    if (this.firstChild) return;
    this.setAttribute("role", "search");
    this.setAttribute("aria-label", "Feed");
    this.append(
      this.#search,
      this.#more,
      h(
        "div",
        { class: "selects" },
        this.#priority,
        this.#project,
        this.#session,
      ),
      h(
        "div",
        { class: "chips", role: "group", "aria-label": "Types and marks" },
        ...this.#types,
        this.#unseen,
        this.#clear,
      ),
    );
    this.setChoices([], []);
  }

  /**
   * Shows a filter; it does not change a text that is being typed.
   *
   * @param {Filter} filter
   */
  show(filter) {
    this.#filter = normalize(filter);
    const {
      types = [],
      priority = "",
      project = "",
      session = "",
      q = "",
      unseen = false,
    } = this.#filter;
    if (this.#search.value.trim() !== q) this.#search.value = q;
    for (const chip of this.#types)
      setPressed(chip, types.includes(/** @type {Kind} */ (chip.dataset.type)));
    setPressed(this.#unseen, unseen);
    this.#priority.value = priority;
    selectValue(this.#project, project, project);
    selectValue(this.#session, session, session);
    const folded =
      types.length +
      Number(Boolean(priority)) +
      Number(Boolean(project)) +
      Number(Boolean(session));
    this.#more.textContent = folded > 0 ? `Filters (${folded})` : "Filters";
    this.#clear.hidden = isEmpty(this.#filter);
    for (const select of [this.#priority, this.#project, this.#session])
      select.toggleAttribute("data-set", select.value !== "");
  }

  /**
   * Sets the projects and sessions that can be chosen.
   *
   * @param {string[]} projects
   * @param {string[]} sessions
   */
  setChoices(projects, sessions) {
    const offered = JSON.stringify([projects, sessions]);
    if (offered === this.#choices) return;
    this.#choices = offered;
    setOptions(this.#project, "Any project", projects);
    setOptions(this.#session, "Any session", sessions);
    this.show(this.#filter);
  }

  /** @param {Kind} kind */
  #toggle(kind) {
    const { types = [] } = this.#filter;
    this.#change({
      types: types.includes(kind)
        ? types.filter((one) => one !== kind)
        : [...types, kind],
    });
  }

  #unfold() {
    const open = this.toggleAttribute("data-open");
    this.#more.setAttribute("aria-expanded", String(open));
  }

  /**
   * @param {Filter} part
   * @param {boolean} [typing]
   */
  #change(part, typing = false) {
    this.#emit({ ...this.#filter, ...part }, typing);
  }

  /**
   * @param {Filter} filter
   * @param {boolean} typing
   */
  #emit(filter, typing) {
    this.show(filter);
    /** @type {CustomEvent<Change>} */
    const event = new CustomEvent("filter", {
      detail: { filter: this.#filter, typing },
    });
    this.dispatchEvent(event);
  }
}

/**
 * @param {HTMLElement} button
 * @param {boolean} pressed
 */
function setPressed(button, pressed) {
  button.setAttribute("aria-pressed", String(pressed));
}

/**
 * @param {HTMLSelectElement} select
 * @param {string} any
 * @param {string[]} names
 */
function setOptions(select, any, names) {
  select.replaceChildren(
    h("option", { value: "" }, any),
    ...names.map((name) =>
      h("option", { value: name, title: name }, shortName(name)),
    ),
  );
}

/**
 * Selects a value, adding it if it is missing, because a link may name a session or project that no longer exists.
 *
 * @param {HTMLSelectElement} select
 * @param {string} value
 * @param {string} name
 */
function selectValue(select, value, name) {
  if (value && ![...select.options].some((option) => option.value === value)) {
    select.append(h("option", { value, title: name }, shortName(name)));
  }
  select.value = value;
  set(select, { title: name || select.options[0].text });
}

/** @param {string} name */
function shortName(name) {
  return name.includes("/")
    ? name.split("/").filter(Boolean).slice(-2).join("/")
    : name;
}

customElements.define("hub-filters", HubFilters);
