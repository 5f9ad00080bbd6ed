/** Small parts that several elements are made of. */

import { h } from './dom.js';
import { pieces } from '../core/tool.js';

/** @typedef {import('../hub/api.js').Problem} Problem */

/**
 * Sets a text, only if it is another: what a screen reader or a selection is at stays.
 *
 * @param {Element} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Sets a property that is also an attribute, only if it is another: the page is not laid out anew for nothing.
 *
 * @template {Element} E
 * @template {keyof E} K
 * @param {E} element
 * @param {K} name
 * @param {E[K]} value
 */
export function put(element, name, value) {
  if (element[name] !== value) element[name] = value;
}

/**
 * A state: a word on its colour.
 *
 * @param {{state: string, text: string}} shown
 */
export function stateBadge({ state, text }) {
  return h('span', { class: 'state', 'data-state': state }, text);
}

/**
 * Makes a badge of {@link stateBadge} show another state.
 *
 * @param {HTMLElement} badge
 * @param {{state: string, text: string}} shown
 */
export function setState(badge, { state, text }) {
  if (badge.dataset.state !== state) badge.dataset.state = state;
  say(badge, text);
}

/**
 * A text in which nothing hides: invisible and direction-changing characters are shown by their code points.
 *
 * @param {string} text
 */
export function plain(text) {
  return pieces(text).map((piece) =>
    piece.hidden ? h('mark', { class: 'hidden-character', title: 'a character that is not seen' }, piece.text) : piece.text,
  );
}

/**
 * Makes the place of a long text one that can be scrolled, by keyboard too.
 *
 * @param {HTMLElement} place
 * @param {string} text
 */
export function long(place, text) {
  const isLong = text.length > 600 || text.split('\n').length > 12;
  place.classList.toggle('long', isLong);
  if (isLong) place.tabIndex = 0;
  else place.removeAttribute('tabindex');
}

/** A place for what the hub refused, said aloud when it comes. */
export function refusal() {
  return h('p', { class: 'refused', role: 'alert', hidden: true });
}

/**
 * Shows a refusal and what to do about it; hides it again with null.
 *
 * @param {HTMLElement} place
 * @param {Problem|null} problem
 */
export function refuse(place, problem) {
  place.hidden = problem === null;
  place.replaceChildren(...(problem ? [sentence(problem.message), ' ', h('span', { class: 'hint' }, sentence(problem.hint))] : []));
}

/** @param {string} text */
function sentence(text) {
  if (!text) return '';
  const begun = text[0].toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/**
 * Does something for a button: meanwhile it says so and does not do it twice. It is not disabled, which would take the focus
 * from whoever pressed it.
 *
 * @param {HTMLElement} scope holds the buttons that belong together
 * @param {() => Promise<void>} doing
 */
export async function once(scope, doing) {
  if (scope.ariaBusy === 'true') return;
  scope.ariaBusy = 'true';
  try {
    await doing();
  } finally {
    scope.ariaBusy = 'false';
  }
}

/**
 * Makes Ctrl+Enter (⌘ Enter) in a field send it.
 *
 * @param {HTMLElement} field
 * @param {() => void} send
 */
export function sends(field, send) {
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    send();
  });
}
