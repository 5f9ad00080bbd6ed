/** The setting of the person's editor, which links to paths open. */

import { h } from "./dom.js";
import { setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { DEFAULT_EDITOR, editorProblem } from "../core/editor.js";
import { Problem } from "../hub/problem.js";

export class HubEditor extends StoreElement {
  #field = h("input", {
    type: "text",
    id: "editor-link",
    placeholder: DEFAULT_EDITOR,
    maxlength: "300",
    spellcheck: "false",
    autocomplete: "off",
    "aria-describedby": "editor-help",
    onchange: () => this.#save(),
  });
  #result = h("p", { class: "field-error", role: "alert" });

  connectedCallback() {
    this.replaceChildren(
      h("h3", {}, h("label", { for: "editor-link" }, "Editor")),
      this.#field,
      h(
        "p",
        { class: "muted", id: "editor-help" },
        "The link that opens a path, with {path} and {line}.",
      ),
      this.#result,
    );
    this.watch(["preferences"], () => {
      if (document.activeElement !== this.#field)
        this.#field.value = this.store.preferences.editor ?? "";
    });
  }

  async #save() {
    const { store } = this;
    const template = this.#field.value.trim();
    const problem = template ? editorProblem(template) : "";
    setText(this.#result, problem);
    if (problem) return;
    try {
      await store.savePreferences({
        ...store.preferences,
        editor: template || undefined,
      });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setText(this.#result, `Not saved: ${error.message}. ${error.hint}`);
    }
  }
}

customElements.define("hub-editor", HubEditor);
