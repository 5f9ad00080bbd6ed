/** What a screen reader announces of the queue: new needs, and needs that were settled elsewhere while the person was at them. */

import { copy } from './copyable.js';
import { h } from './dom.js';
import { StoreElement } from './store-element.js';
import { isOpenQuestion, settlementText } from '../core/attention.js';
import { sessionFinder } from '../core/sessions.js';

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { HubNeed } from './hub-need.js' */
/** @import { HubQuestion } from './hub-question.js' */

/** The time to wait for the text of an answer before the answer is reported without it, in ms. */
const ANSWER_TIMEOUT = 1000;

/** @typedef {{name: string, id: number, busy: boolean, draft: string}} Settled A need that is gone, with the person's focus and draft. */

export class HubSettled extends StoreElement {
  #lines = h('div', { class: 'settled', role: 'status' });
  #announcement = h('p', { class: 'visually-hidden', role: 'status' });
  /** @type {Settled[]} */
  #unannounced = [];
  /** The needs so far. @type {AttentionItem[]|null} */
  #known = null;

  connectedCallback() {
    if (!this.firstChild) this.append(this.#lines, this.#announcement);
  }

  /**
   * Announces new needs, and those that are gone without an act of this page.
   *
   * @param {AttentionItem[]} now
   * @param {AttentionItem[]} sent
   * @param {(key: string) => HubQuestion|HubNeed|undefined} cardOf
   */
  compare(now, sent, cardOf) {
    // An answer that is still held here settles nothing yet; one on its way to the agent does.
    const all = [...now, ...sent.filter(({ question }) => isOpenQuestion(question))];
    const before = this.#known ?? all;
    const isIn = (/** @type {AttentionItem[]} */ items) => (/** @type {AttentionItem} */ { key }) => items.some((item) => item.key === key);
    const added = all.filter((item) => !isIn(before)(item));
    if (added.length > 0) this.#announcement.textContent = added.map(({ name, kind }) => `${name}: ${kind}.`).join(' ');
    for (const item of before.filter((one) => !isIn(all)(one))) this.#note(item, cardOf(item.key));
    this.#known = all;
    this.#announceAll(false);
  }

  /**
   * @param {AttentionItem} item that is gone
   * @param {HubQuestion|HubNeed} [card]
   */
  #note({ name, question }, card) {
    const settled = { name, id: question?.id ?? 0, busy: card?.contains(document.activeElement) ?? false, draft: card?.draft.trim() ?? '' };
    if (!question) return void (settled.draft && this.#announce(settlementText(name), settled));
    card?.settledHere.then((own) => own || this.#announceLater(settled));
  }

  /** @param {Settled} settled */
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
      this.#announce(settlementText(settled.name, question && { ...question, by }), settled);
      return false;
    });
  }

  /**
   * Announces the text to screen readers; it is also visible if the person was about to answer.
   *
   * @param {string} text
   * @param {Settled} settled
   */
  #announce(text, { busy, draft }) {
    const close = () => line.remove();
    const line = h(
      'p',
      { class: busy || draft ? '' : 'visually-hidden' },
      h('span', {}, text),
      draft && h('button', { class: 'small', title: draft, onclick: () => copy(draft) }, 'Copy what you typed'),
      (busy || draft) && h('button', { class: 'ghost small', 'aria-label': 'Close', onclick: close }, '×'),
    );
    this.#lines.append(line);
    while (this.#lines.children.length > 3) this.#lines.firstElementChild?.remove();
  }
}

customElements.define('hub-settled', HubSettled);
