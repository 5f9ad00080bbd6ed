/** A question or an approval, with the controls that settle it. */

import './hub-location.js';
import { h } from './dom.js';
import { errorLine, onCtrlEnter, revealHidden, runOnce, setProperty, setScrollable, setText, showError, stateBadge } from './parts.js';
import { StoreElement } from './store-element.js';
import { setTime, timeElement } from './time.js';
import { locationCommands } from '../core/commands.js';
import { isEnded } from '../core/sessions.js';
import { parseRequest } from '../core/tool.js';
import { Problem } from '../hub/problem.js';

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Question } from '../core/types.js' */
/** @import { HubLocation } from './hub-location.js' */

export class HubQuestion extends StoreElement {
  /**
   * Resolves to whether this page settled the question, because two may answer at the same moment.
   *
   * @type {Promise<boolean>}
   */
  settledHere = Promise.resolve(false);
  /** @type {AttentionItem|null} */
  #item = null;
  #head = h('header');
  #project = h('span', { class: 'project' });
  #time = timeElement('', () => this.store.now());
  #text = h('p', { class: 'text' });
  #claim = h('p', { class: 'muted', hidden: true });
  #answers = h('div', { class: 'answers', role: 'group', 'aria-label': 'Answer' });
  #field = h('textarea', { rows: 1 });
  #elsewhere = h('div', { class: 'elsewhere', hidden: true });
  #reason = h('p');
  #location = /** @type {HubLocation} */ (document.createElement('hub-location'));
  #withdraw = h('button', { class: 'ghost small', title: 'Withdraws the question: it can no longer be answered' }, 'Withdraw');
  #error = errorLine();

  /** The text that the person has typed and not sent. */
  get draft() {
    return this.#field.value;
  }

  /**
   * @param {AttentionItem} item
   * @param {string} projectTitle
   */
  show(item, projectTitle) {
    const question = item.question;
    if (!question) return;
    if (!this.#item) this.#build(item, question);
    this.#item = item;
    setText(this.#project, projectTitle);
    setTime(this.#time, item.ts);
    if (this.#text.textContent !== item.text) setScrollable(this.#text, item.text);
    setText(this.#text, item.text);
    setProperty(this.#claim, 'hidden', question.state !== 'claimed');
    setText(this.#claim, `${question.by ?? 'Another session'} has claimed it.`);
    this.#updateControls(item, question);
  }

  /**
   * Shows buttons only if an answer reaches the asker.
   *
   * @param {AttentionItem} item
   * @param {Question} question
   */
  #updateControls({ session }, question) {
    const reaches = question.deliverable !== false;
    setProperty(this.#answers, 'hidden', !reaches);
    setProperty(this.#elsewhere, 'hidden', reaches);
    if (reaches) return;
    const location = question.where ?? session ?? {};
    setText(this.#reason, reasonFor(session));
    this.#location.show(location, locationCommands(location, this.store.info?.host));
  }

  /**
   * @param {AttentionItem} item
   * @param {Question} question
   */
  #build({ kind, name, project }, question) {
    const title = h('h3', { id: `need-${question.id}` }, name);
    this.setAttribute('aria-labelledby', title.id);
    this.#project.title = project;
    this.#head.append(
      stateBadge({ state: kind, text: kind }),
      title,
      this.#project,
      this.#time,
      this.#withdraw,
    );
    this.#withdraw.addEventListener('click', () => this.#withdrawOnConfirm());
    this.#withdraw.addEventListener('blur', () => this.#resetWithdraw());
    const request = kind === 'approval' ? this.#requestElement(question) : null;
    if (kind === 'approval') this.#buildDecision();
    else this.#buildAnswer(question);
    const offered = question.options ?? [];
    this.#elsewhere.append(
      offered.length > 0 ? h('ul', { class: 'offered', 'aria-label': 'Offered answers' }, ...offered.map((option) => h('li', {}, option))) : '',
      this.#reason,
      this.#location,
    );
    this.replaceChildren(
      this.#head, this.#text, ...(request ? [request] : []), this.#claim, this.#answers, this.#elsewhere, this.#error,
    );
  }

  /**
   * The complete request to be approved.
   *
   * @param {Question} question
   */
  #requestElement({ data }) {
    const request = parseRequest(data);
    if (!request) return null;
    // The text repeats the request, shortened.
    this.#text.hidden = true;
    const tool = request.tool || 'Request';
    return h(
      'div',
      { class: 'request' },
      request.tool && h('p', { class: 'tool' }, 'wants to use ', h('code', {}, ...revealHidden(request.tool))),
      ...request.parts.map(({ name, text }) =>
        h(
          'div',
          { class: isShort(name, text) ? 'part short' : 'part' },
          isCommand(name) ? '' : h('span', { class: 'name' }, ...revealHidden(name)),
          h('pre', isShort(name, text) ? {} : { tabindex: '0', role: 'region', 'aria-label': `${tool} ${name}`.trim() }, ...revealHidden(text)),
        ),
      ),
    );
  }

  /** @param {Question} question */
  #buildAnswer({ options = [] }) {
    const send = () => this.#sendText();
    this.#field.ariaLabel = options.length > 0 ? 'Another answer' : 'Answer';
    this.#field.placeholder = options.length > 0 ? 'Another answer …' : 'Answer …';
    this.#field.setAttribute('aria-keyshortcuts', 'Control+Enter');
    onCtrlEnter(this.#field, send);
    this.#answers.append(
      ...(options.length > 0 ? [h('div', { class: 'options' }, ...options.map((option) => h('button', { onclick: () => this.#answer(option) }, option)))] : []),
      h('div', { class: 'free-text' }, this.#field, h('button', { class: options.length > 0 ? '' : 'primary', title: 'Answer (Ctrl+Enter)', onclick: send }, 'Answer')),
    );
  }

  #buildDecision() {
    this.#field.ariaLabel = 'Reason';
    this.#field.placeholder = 'Reason (optional) …';
    this.#answers.append(
      h(
        'div',
        { class: 'free-text' },
        this.#field,
        h(
          'div',
          {},
          h('button', { onclick: () => this.#decide('deny') }, 'Deny'),
          h('button', { class: 'primary', onclick: () => this.#decide('allow') }, 'Approve'),
        ),
      ),
    );
  }

  #sendText() {
    const answer = this.#field.value.trim();
    if (answer) this.#answer(answer);
    else this.#field.focus();
  }

  /** @param {'allow'|'deny'} word */
  #decide(word) {
    const reason = this.#field.value.trim();
    this.#answer(reason ? `${word}: ${reason}` : word);
  }

  /** @param {string} answer */
  #answer(answer) {
    this.#settle('answer', { answer });
  }

  /** Withdrawing needs two presses, because it cannot be undone. */
  #withdrawOnConfirm() {
    if (this.#withdraw.dataset.sure) return this.#settle('withdraw', {});
    this.#withdraw.dataset.sure = 'true';
    setText(this.#withdraw, 'Really withdraw');
  }

  #resetWithdraw() {
    delete this.#withdraw.dataset.sure;
    setText(this.#withdraw, 'Withdraw');
  }

  /**
   * @param {'answer'|'withdraw'} how
   * @param {{answer?: string}} body
   */
  #settle(how, body) {
    const { store } = this;
    const id = this.#item?.question?.id;
    if (id === undefined) return;
    runOnce(this, async () => {
      this.settledHere = this.#post(store, id, how, body);
      await this.settledHere;
    });
  }

  /**
   * @param {import('../hub/store.js').Store} store
   * @param {number} id
   * @param {string} how
   * @param {{answer?: string}} body
   * @returns {Promise<boolean>} whether the hub accepted it
   */
  async #post(store, id, how, body) {
    try {
      store.questions.set(id, await store.api.post(`/questions/${id}/${how}`, body));
      store.changed('questions');
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      showError(this.#error, error);
      if (error.status === 409) store.refreshQuestion(id).catch(() => {});
      return false;
    }
  }
}

/** Whether a part is the command to be run, which is shown without a name. @param {string} name */
function isCommand(name) {
  return ['', 'command', 'cmd'].includes(name);
}

/** Whether a part is short enough to stand beside its name. @param {string} name @param {string} text */
function isShort(name, text) {
  return !isCommand(name) && text.length <= 40 && !text.includes('\n');
}

/**
 * The reason why there are no buttons.
 *
 * @param {AttentionItem['session']} session
 */
function reasonFor(session) {
  if (session && isEnded(session)) return 'The asker has ended: an answer cannot be delivered.';
  return 'Answer it in its own terminal:';
}

customElements.define('hub-question', HubQuestion);
