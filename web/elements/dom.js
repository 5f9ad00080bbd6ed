/**
 * Builds elements. Text is always set as text: external data is never parsed as HTML, and its direction marks are shown
 * instead of taking effect.
 */

import { showDirection } from "../core/tool.js";

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * An element with properties and children. `class`, `data-*`, `aria-*`, `role`, `for`, `href`, `title`… become
 * attributes; `on…` functions become listeners; null, undefined and false are left out.
 *
 * @template {keyof HTMLElementTagNameMap | `hub-${string}`} T
 * @param {T} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child|Child[])} children
 * @returns {T extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[T] : HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  set(element, props);
  element.append(...nodes(children));
  return /** @type {any} */ (element);
}

/**
 * As {@link h}, for SVG.
 *
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child|Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, props);
  element.append(...nodes(children));
  return element;
}

/**
 * Sets properties as {@link h} does.
 *
 * @param {Element} element
 * @param {Record<string, any>} props
 */
export function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (
      ["value", "checked", "store", "session", "question", "item"].includes(
        name,
      )
    ) {
      Object.assign(element, { [name]: value });
    } else {
      element.setAttribute(name, showDirection(String(value)));
    }
  }
}

/**
 * Makes `parent` contain exactly one element for each item, in this order. Existing elements are kept, so that focus,
 * selection and typed text survive an update.
 *
 * @template T
 * @template {HTMLElement} E
 * @param {HTMLElement} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => E} create
 * @param {(element: E, item: T) => void} update
 */
export function updateList(parent, items, key, create, update) {
  const old = new Map(
    [...parent.children].map((child) => [
      /** @type {HTMLElement} */ (child).dataset.key,
      /** @type {E} */ (child),
    ]),
  );
  const names = new Set(items.map(key));
  // Removal comes first, because an element that is moved to another's place loses the focus.
  for (const [name, element] of old)
    if (!names.has(name ?? "")) element.remove();
  /** @type {Element|null} */
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = old.get(name);
    if (!element) {
      element = create(item);
      element.dataset.key = name;
    }
    update(element, item);
    if (element === next) {
      next = next.nextElementSibling;
    } else {
      parent.insertBefore(element, next);
    }
  }
}

/** The time that a message stays, in ms; a refusal and a draft stay until they are closed. */
const DURATION = 10_000;

/**
 * Closes a message after a while, but not while it has the pointer or the focus.
 *
 * @param {HTMLElement} line
 * @param {() => void} close
 */
export function closeLater(line, close) {
  const late = () =>
    line.matches(":hover, :focus-within")
      ? setTimeout(late, DURATION)
      : close();
  setTimeout(late, DURATION);
}

/**
 * @param {(Child|Child[])[]} children
 * @returns {(Node|string)[]}
 */
function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) =>
      child instanceof Node ? child : showDirection(String(child)),
    );
}
