/** The sessions and questions that need the person now, oldest first. */

import './hub-question.js';
import './hub-trouble.js';
import { copy } from './copyable.js';
import { h, keyed } from './dom.js';
import { put } from './parts.js';
import { needs, settlement } from '../core/needs.js';
import { finder, shortPaths, summary } from '../core/sessions.js';

/**
 * @typedef {import('../core/needs.js').Need} Need
 * @typedef {import('./hub-question.js').HubQuestion} HubQuestion
 * @typedef {import('./hub-trouble.js').HubTrouble} HubTrouble
 */

/** The time after an item moved up during which a click was probably meant for another item, in ms. */
const STRAY = 350;
/** The time to wait for the text of an answer before the answer is reported without it, in ms. */
const PATIENCE = 1000;

/** @typedef {{name: string, id: number, busy: boolean, draft: string}} Left A removed question, with the person's focus and draft. */

export class HubNeedsYou extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  #list = h('div', { class: 'needs', role: 'list' });
  #calm = h('p', { class: 'calm', tabindex: '-1', hidden: true });
  #settled = h('div', { class: 'settled', role: 'status' });
  #news = h('p', { class: 'visually-hidden', role: 'status' });
  /** @type {Left[]} */
  #untold = [];
  /** The items that are shown now. @type {Need[]|null} */
  #shown = null;
  /** The items that moved up, and the time. */
  #moved = { keys: new Set(['']), at: -Infinity };
  #stop = () => {};

  connectedCallback() {
    const store = this.store;
    if (!store) return;
    if (!this.firstChild) {
      this.append(this.#settled, this.#news, this.#list, this.#calm);
      this.#list.addEventListener('click', (event) => this.#guard(event), { capture: true });
    }
    this.#stop = store.watch(['questions', 'sessions', 'feed', 'preferences', 'about'], () => this.#render());
  }

  disconnectedCallback() {
    this.#stop();
  }

  #render() {
    const { store } = this;
    if (!store?.ready) return;
    const now = needs(store);
    const before = this.#shown ?? now;
    const left = before.filter(({ key }) => !now.some((need) => need.key === key));
    this.#notice(now, before, left);
    const heir = left.length > 0 ? this.#heir(now, before) : null;
    if (left.length > 0) this.#moved = { keys: new Set(before.slice(before.indexOf(left[0])).map(({ key }) => key)), at: performance.now() };
    this.#update(now);
    heir?.();
    this.#shown = now;
    this.#tellAll(false);
  }

  /** @param {Need[]} now */
  #update(now) {
    const { store } = this;
    if (!store) return;
    const places = shortPaths(now.map(({ project }) => project));
    keyed(this.#list, now, ({ key }) => key, (need) => this.#item(need), (item, need) => item.show(need, places.get(need.project) ?? need.project));
    put(this.#calm, 'hidden', now.length > 0);
    if (now.length === 0) this.#calm.replaceChildren(h('strong', {}, 'Nobody needs you.'), ` ${summary(store.sessions.values())}`);
  }

  /**
   * @param {Need} need
   * @returns {HubQuestion|HubTrouble}
   */
  #item(need) {
    const tag = need.question ? 'hub-question' : 'hub-trouble';
    const item = /** @type {HubQuestion|HubTrouble} */ (document.createElement(tag));
    item.store = this.store;
    item.role = 'listitem';
    item.tabIndex = -1;
    item.dataset.kind = need.kind;
    if (need.question) item.dataset.id = String(need.question.id);
    return item;
  }

  /**
   * Moves the focus out of a removed item: to the next item, else to the previous one, else to the sentence that no one
   * needs the person.
   *
   * @param {Need[]} now
   * @param {Need[]} before
   */
  #heir(now, before) {
    const item = /** @type {HTMLElement|null} */ (document.activeElement?.closest('[role=listitem][data-kind]'));
    if (!item || !this.#list.contains(item)) return null;
    const at = before.findIndex(({ key }) => key === item.dataset.key);
    const stays = (/** @type {Need} */ { key }) => now.some((need) => need.key === key);
    if (at < 0 || stays(before[at])) return null;
    const next = before.slice(at).find(stays) ?? before.slice(0, at).findLast(stays);
    return () => (next ? this.#find(next.key) ?? this.#calm : this.#calm).focus();
  }

  /** @param {string} key */
  #find(key) {
    return /** @type {HTMLElement|undefined} */ ([...this.#list.children].find((child) => /** @type {HTMLElement} */ (child).dataset.key === key));
  }

  /**
   * Announces new items, and questions that were settled elsewhere.
   *
   * @param {Need[]} now
   * @param {Need[]} before
   * @param {Need[]} left
   */
  #notice(now, before, left) {
    const come = now.filter(({ key }) => !before.some((need) => need.key === key));
    if (come.length > 0) this.#news.textContent = come.map(({ name, kind }) => `${name}: ${kind}.`).join(' ');
    for (const { question, name, key } of left) {
      const item = /** @type {HubQuestion|undefined} */ (this.#find(key));
      if (!question || !item) continue;
      const left = { name, id: question.id, busy: item.contains(document.activeElement), draft: item.draft.trim() };
      item.own.then((own) => own || this.#tellSoon(left));
    }
  }

  /** @param {Left} left */
  #tellSoon(left) {
    this.#untold.push(left);
    this.#tellAll(false);
    setTimeout(() => this.#tellAll(true), PATIENCE);
  }

  /**
   * Reports who settled which question. The fact that a question is answered is known before the text of the answer.
   *
   * @param {boolean} late whether to report it without the answer
   */
  #tellAll(late) {
    const { store } = this;
    if (!store || this.#untold.length === 0) return;
    const find = finder(store.sessions.values());
    this.#untold = this.#untold.filter((left) => {
      const question = store.questions.get(left.id);
      if (!late && question?.state === 'answered' && question.answer === undefined) return true;
      const by = question?.by && (find(question.project, question.by)?.name ?? question.by);
      this.#tell(settlement(left.name, question && { ...question, by }), left);
      return false;
    });
  }

  /**
   * Announces the text to screen readers; it is also visible if the person was about to answer.
   *
   * @param {string} text
   * @param {Left} left
   */
  #tell(text, { busy, draft }) {
    const close = () => line.remove();
    const line = h(
      'p',
      { class: busy || draft ? '' : 'visually-hidden' },
      h('span', {}, text),
      draft && h('button', { class: 'small', title: draft, onclick: () => copy(draft) }, 'Copy what you typed'),
      (busy || draft) && h('button', { class: 'quiet small', 'aria-label': 'Close', onclick: close }, '×'),
    );
    this.#settled.append(line);
    while (this.#settled.children.length > 3) this.#settled.firstElementChild?.remove();
  }

  /**
   * Stops a pointer click that was aimed at an item that has just moved away.
   *
   * @param {MouseEvent} event
   */
  #guard(event) {
    const item = /** @type {Element} */ (event.target).closest('[data-key]');
    const { keys, at } = this.#moved;
    // A click by keyboard cannot miss its target.
    if (event.detail === 0 || performance.now() - at > STRAY || !keys.has(/** @type {HTMLElement|null} */ (item)?.dataset.key ?? '')) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

customElements.define('hub-needs-you', HubNeedsYou);
