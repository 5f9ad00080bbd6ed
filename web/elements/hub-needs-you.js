/** The sessions and questions that need the person now, oldest first. */

import './hub-question.js';
import './hub-need.js';
import { copy } from './copyable.js';
import { h, updateList } from './dom.js';
import { setProperty } from './parts.js';
import { StoreElement } from './store-element.js';
import { cards, emptyText, isOnItsWay, isOpenQuestion, settlementText } from '../core/attention.js';
import { actionOf } from '../core/keys.js';
import { outboxOf } from '../hub/outbox.js';
import { sessionFinder, shortPaths, summarize } from '../core/sessions.js';

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { HubQuestion } from './hub-question.js' */
/** @import { HubNeed } from './hub-need.js' */

/** For this time after an item moved up, a click was probably meant for another item, in ms. */
const MISCLICK_WINDOW = 350;
/** The interval at which the state of answers on their way is requested, in ms. */
const POLL = 2000;
/** The time to wait for the text of an answer before the answer is reported without it, in ms. */
const ANSWER_TIMEOUT = 1000;

/** @typedef {{name: string, id: number, busy: boolean, draft: string}} SettledQuestion A removed question, with the person's focus and draft. */

export class HubNeedsYou extends StoreElement {
  #list = h('div', { class: 'attention-items', role: 'list' });
  #none = h('p', { class: 'no-items', tabindex: '-1', hidden: true });
  #settled = h('div', { class: 'settled', role: 'status' });
  #announcement = h('p', { class: 'visually-hidden', role: 'status' });
  /** @type {SettledQuestion[]} */
  #unannounced = [];
  /** The items that are shown now. @type {AttentionItem[]|null} */
  #shown = null;
  /** The items that moved up, and the time. */
  #moved = { keys: new Set(['']), at: -Infinity };
  /** The time when the focus was last moved to another card. */
  #focusMoved = -Infinity;

  connectedCallback() {
    if (!this.firstChild) {
      this.append(this.#settled, this.#announcement, this.#list, this.#none);
      this.#list.addEventListener('click', (event) => this.#ignoreMisclick(event), { capture: true });
      this.#list.addEventListener('answer', (event) => this.#focusNext(/** @type {HTMLElement} */ (event.target)));
    }
    document.addEventListener('keydown', (event) => this.#handleKey(event), { signal: this.removed });
    this.every(POLL, () => this.#refreshSettling());
    this.watch(['questions', 'needs', 'sessions', 'feed', 'preferences', 'info'], () => this.#render());
  }

  #render() {
    const { store } = this;
    if (!store.ready) return;
    const outbox = outboxOf(store);
    const now = cards(store, (id) => outbox.isRecent(id));
    const before = this.#shown ?? now;
    const removed = before.filter(({ key }) => !now.some((item) => item.key === key));
    this.#announceChanges(now, before, removed);
    const moveFocus = removed.length > 0 ? this.#focusMove(now, before) : null;
    if (removed.length > 0) this.#moved = { keys: new Set(before.slice(before.indexOf(removed[0])).map(({ key }) => key)), at: performance.now() };
    this.#update(now);
    moveFocus?.();
    this.#shown = now;
    this.#announceAll(false);
  }

  /** @param {AttentionItem[]} now */
  #update(now) {
    const { store } = this;
    const titles = shortPaths(now.map(({ project }) => project));
    updateList(this.#list, now, ({ key }) => key, (item) => this.#createElement(item), (element, item) => element.show(item, titles.get(item.project) ?? item.project));
    setProperty(this.#none, 'hidden', now.length > 0);
    if (now.length > 0) return;
    const { strong, more } = emptyText(store.sessions.values(), summarize(store.sessions.values()));
    this.#none.replaceChildren(h('strong', {}, strong), ` ${more}`);
  }

  /**
   * @param {AttentionItem} item
   * @returns {HubQuestion|HubNeed}
   */
  #createElement(item) {
    const tag = item.question ? 'hub-question' : 'hub-need';
    const element = /** @type {HubQuestion|HubNeed} */ (document.createElement(tag));
    element.store = this.store;
    element.role = 'listitem';
    element.tabIndex = -1;
    element.dataset.kind = item.kind;
    if (item.question) element.dataset.id = String(item.question.id);
    return element;
  }

  /**
   * Returns a function that moves the focus out of a removed element: to the next element, else to the previous one, else
   * to the sentence of an empty list; null if the focus is elsewhere.
   *
   * @param {AttentionItem[]} now
   * @param {AttentionItem[]} before
   */
  #focusMove(now, before) {
    const element = /** @type {HTMLElement|null} */ (document.activeElement?.closest('[role=listitem][data-kind]'));
    if (!element || !this.#list.contains(element)) return null;
    const at = before.findIndex(({ key }) => key === element.dataset.key);
    const stays = (/** @type {AttentionItem} */ { key }) => now.some((item) => item.key === key);
    if (at < 0 || stays(before[at])) return null;
    const next = before.slice(at).find(stays) ?? before.slice(0, at).findLast(stays);
    return () => this.#focus(next ? this.#find(next.key) : undefined);
  }

  /** @param {HTMLElement} [card] absent: the sentence of an empty list */
  #focus(card) {
    this.#focusMoved = performance.now();
    (card ?? this.#none).focus();
  }

  /** After an answer, moves the focus to the next card that can be answered, else to a previous one. @param {HTMLElement} card */
  #focusNext(card) {
    const all = /** @type {HTMLElement[]} */ ([...this.#list.children]);
    const at = all.indexOf(card);
    const outbox = outboxOf(this.store);
    const isOpen = (/** @type {HTMLElement} */ { dataset: { id } }) => {
      const question = this.store.questions.get(Number(id));
      return question !== undefined && isOpenQuestion(question) && !outbox.held(question.id);
    };
    const next = all.slice(at + 1).find(isOpen) ?? all.slice(0, at).find(isOpen);
    this.#focus(next ?? card);
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const card = /** @type {HubQuestion|HubNeed|null} */ (target.closest('hub-question, hub-need'));
    const outside = !this.contains(target) && !card;
    if (event.defaultPrevented || (outside && target !== document.body) || this.offsetParent === null) return;
    const action = actionOf(event, target.closest('input:not([type=checkbox], [type=radio]), textarea, select') !== null, 'Needs you') ?? (event.key === 'u' ? actionOf(event, target.closest('input, textarea, select') !== null) : null);
    if (action && this.#perform(action, event, card)) event.preventDefault();
  }

  /**
   * @param {string} action
   * @param {KeyboardEvent} event
   * @param {HubQuestion|HubNeed|null} card
   * @returns {boolean} whether the key was used
   */
  #perform(action, event, card) {
    if (action === 'up' || action === 'down') return this.#step(action === 'down' ? 1 : -1, card);
    if (action === 'undo') return this.#undo();
    const closes = action === 'done' || action === 'snooze';
    if (!card || closes !== (card.localName === 'hub-need')) return false;
    const question = /** @type {HubQuestion} */ (card);
    // Enter and Space press the focused button.
    if (action === 'send' && event.target !== card && /** @type {HTMLElement} */ (event.target).matches('button, a, summary')) return false;
    // A key that was pressed for another card, or is held down, decides nothing.
    if (event.repeat || performance.now() - this.#focusMoved < MISCLICK_WINDOW) return true;
    if (closes) /** @type {HubNeed} */ (card).close(action);
    else if (action === 'option') question.choose(Number(event.key));
    else question.press(/** @type {'approve'|'deny'|'send'} */ (action));
    return true;
  }

  /**
   * Moves the focus to the next or previous card.
   *
   * @param {1|-1} by
   * @param {HTMLElement|null} card
   */
  #step(by, card) {
    const all = /** @type {HTMLElement[]} */ ([...this.#list.children]);
    if (card && !this.#list.contains(card)) return false;
    const at = card ? all.indexOf(card) + by : 0;
    all[Math.min(Math.max(at, 0), all.length - 1)]?.focus();
    return all.length > 0;
  }

  /** Takes back the newest answer that is held back. */
  #undo() {
    const id = outboxOf(this.store).last;
    if (id === undefined) return false;
    const card = /** @type {HubQuestion|undefined} */ ([...this.#list.children].find((child) => /** @type {HTMLElement} */ (child).dataset.id === String(id)));
    if (card) card.undo();
    else outboxOf(this.store).undo(id);
    return true;
  }

  /** Requests the state of answers that the agents do not have yet: not every step causes an event. */
  #refreshSettling() {
    for (const question of this.store.questions.values()) {
      if (isOnItsWay(question)) this.store.refreshQuestion(question.id).catch(() => {});
    }
  }

  /** @param {string} key */
  #find(key) {
    return /** @type {HTMLElement|undefined} */ ([...this.#list.children].find((child) => /** @type {HTMLElement} */ (child).dataset.key === key));
  }

  /**
   * Announces new items, and questions that were settled elsewhere.
   *
   * @param {AttentionItem[]} now
   * @param {AttentionItem[]} before
   * @param {AttentionItem[]} removed
   */
  #announceChanges(now, before, removed) {
    const added = now.filter(({ key }) => !before.some((item) => item.key === key));
    if (added.length > 0) this.#announcement.textContent = added.map(({ name, kind }) => `${name}: ${kind}.`).join(' ');
    for (const { question, name, key } of removed) {
      const element = /** @type {HubQuestion|undefined} */ (this.#find(key));
      if (!question || !element) continue;
      const settled = { name, id: question.id, busy: element.contains(document.activeElement), draft: element.draft.trim() };
      element.settledHere.then((own) => own || this.#announceLater(settled));
    }
  }

  /** @param {SettledQuestion} settled */
  #announceLater(settled) {
    this.#unannounced.push(settled);
    this.#announceAll(false);
    setTimeout(() => this.#announceAll(true), ANSWER_TIMEOUT);
  }

  /**
   * Reports who settled which question. The fact that a question is answered is known before the text of the answer.
   *
   * @param {boolean} late whether to report it without the answer
   */
  #announceAll(late) {
    const { store } = this;
    if (this.#unannounced.length === 0) return;
    const find = sessionFinder(store.sessions.values());
    this.#unannounced = this.#unannounced.filter((settled) => {
      const question = store.questions.get(settled.id);
      if (!late && question?.state === 'answered' && question.answer === undefined) return true;
      const by = question?.by && (find(question.project, question.by)?.name ?? question.by);
      this.#announceSettled(settlementText(settled.name, question && { ...question, by }), settled);
      return false;
    });
  }

  /**
   * Announces the text to screen readers; it is also visible if the person was about to answer.
   *
   * @param {string} text
   * @param {SettledQuestion} settled
   */
  #announceSettled(text, { busy, draft }) {
    const close = () => line.remove();
    const line = h(
      'p',
      { class: busy || draft ? '' : 'visually-hidden' },
      h('span', {}, text),
      draft && h('button', { class: 'small', title: draft, onclick: () => copy(draft) }, 'Copy what you typed'),
      (busy || draft) && h('button', { class: 'ghost small', 'aria-label': 'Close', onclick: close }, '×'),
    );
    this.#settled.append(line);
    while (this.#settled.children.length > 3) this.#settled.firstElementChild?.remove();
  }

  /**
   * Stops a pointer click that was aimed at an element that has just moved away.
   *
   * @param {MouseEvent} event
   */
  #ignoreMisclick(event) {
    const element = /** @type {Element} */ (event.target).closest('[data-key]');
    const { keys, at } = this.#moved;
    // A click by keyboard cannot miss its target.
    if (event.detail === 0 || performance.now() - at > MISCLICK_WINDOW || !keys.has(/** @type {HTMLElement|null} */ (element)?.dataset.key ?? '')) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

customElements.define('hub-needs-you', HubNeedsYou);
