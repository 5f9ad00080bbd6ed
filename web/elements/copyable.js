/** A command that is copied with one click. */

import { h } from './dom.js';

/**
 * @param {string} text
 * @param {string} [label] what is copied, for those who hear it
 */
export function copyable(text, label = 'Copy the command') {
  const button = h('button', { class: 'quiet', 'aria-label': label, title: label }, 'Copy');
  const said = h('span', { class: 'visually-hidden', role: 'status' });
  button.addEventListener('click', async () => {
    const done = await copy(text);
    button.textContent = done ? 'Copied' : 'Press Ctrl+C';
    said.textContent = done ? 'copied' : '';
    if (!done) getSelection()?.selectAllChildren(code);
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  const code = h('code', {}, text);
  return h('div', { class: 'copyable' }, code, button, said);
}

/**
 * Copies a text; false where the browser does not let a page do so.
 *
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
