/** A question or an approval, with the controls that settle it. */

import './hub-where.js';
import { h } from './dom.js';
import { long, once, plain, put, refusal, refuse, say, sends, stateBadge } from './parts.js';
import { setTime, timeElement } from './time.js';
import { waysThere } from '../core/commands.js';
import { isOver } from '../core/sessions.js';
import { requestOf } from '../core/tool.js';
import { Problem } from '../hub/api.js';

/**
 * @typedef {import('../core/needs.js').Need} Need
 * @typedef {import('../core/types.js').Question} Question
 * @typedef {import('./hub-where.js').HubWhere} HubWhere
 */

export class HubQuestion extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  /**
   * Resolves to whether this page settled the question, because two may answer at the same moment.
   *
   * @type {Promise<boolean>}
   */
  own = Promise.resolve(false);
  /** @type {Need|null} */
  #need = null;
  #head = h('header');
  #project = h('span', { class: 'project' });
  #time = timeElement('', () => this.store?.now() ?? Date.now());
  #text = h('p', { class: 'text' });
  #claimed = h('p', { class: 'muted', hidden: true });
  #answers = h('div', { class: 'answers', role: 'group', 'aria-label': 'Answer' });
  #field = h('textarea', { rows: 1 });
  #elsewhere = h('div', { class: 'elsewhere', hidden: true });
  #why = h('p');
  #where = /** @type {HubWhere} */ (document.createElement('hub-where'));
  #withdraw = h('button', { class: 'quiet small', title: 'Take the question back: nobody can answer it any more' }, 'Withdraw');
  #refused = refusal();

  /** The text that the person has typed and not sent. */
  get draft() {
    return this.#field.value;
  }

  /**
   * @param {Need} need
   * @param {string} place the project, short
   */
  show(need, place) {
    const question = need.question;
    if (!question) return;
    if (!this.#need) this.#build(need, question);
    this.#need = need;
    say(this.#project, place);
    setTime(this.#time, need.ts);
    if (this.#text.textContent !== need.text) long(this.#text, need.text);
    say(this.#text, need.text);
    put(this.#claimed, 'hidden', question.state !== 'claimed');
    say(this.#claimed, `${question.by ?? 'Somebody'} is on it.`);
    this.#deliver(need, question);
  }

  /**
   * Shows buttons only if an answer reaches the asker.
   *
   * @param {Need} need
   * @param {Question} question
   */
  #deliver({ session }, question) {
    const reaches = question.deliverable !== false;
    put(this.#answers, 'hidden', !reaches);
    put(this.#elsewhere, 'hidden', reaches);
    if (reaches) return;
    const where = question.where ?? session ?? {};
    say(this.#why, why(session));
    this.#where.show(where, waysThere(where, this.store?.about?.host));
  }

  /**
   * @param {Need} need
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
    this.#withdraw.addEventListener('click', () => this.#confirm());
    this.#withdraw.addEventListener('blur', () => this.#relax());
    const request = kind === 'approval' ? this.#request(question) : null;
    if (kind === 'approval') this.#approval();
    else this.#question(question);
    const offered = question.options ?? [];
    this.#elsewhere.append(
      offered.length > 0 ? h('ul', { class: 'offered', 'aria-label': 'Offered answers' }, ...offered.map((option) => h('li', {}, option))) : '',
      this.#why,
      this.#where,
    );
    this.replaceChildren(
      this.#head, this.#text, ...(request ? [request] : []), this.#claimed, this.#answers, this.#elsewhere, this.#refused,
    );
  }

  /**
   * The complete request to be approved.
   *
   * @param {Question} question
   */
  #request({ data }) {
    const request = requestOf(data);
    if (!request) return null;
    // The text repeats the request, shortened.
    this.#text.hidden = true;
    const what = request.tool || 'Request';
    return h(
      'div',
      { class: 'request' },
      request.tool && h('p', { class: 'tool' }, 'wants to use ', h('code', {}, ...plain(request.tool))),
      ...request.parts.map(({ name, text }) =>
        h(
          'div',
          { class: isShort(name, text) ? 'part short' : 'part' },
          isCommand(name) ? '' : h('span', { class: 'name' }, ...plain(name)),
          h('pre', isShort(name, text) ? {} : { tabindex: '0', role: 'region', 'aria-label': `${what} ${name}`.trim() }, ...plain(text)),
        ),
      ),
    );
  }

  /** @param {Question} question */
  #question({ options = [] }) {
    const send = () => this.#free();
    this.#field.ariaLabel = options.length > 0 ? 'Another answer' : 'Answer';
    this.#field.placeholder = options.length > 0 ? 'Another answer …' : 'Answer …';
    this.#field.setAttribute('aria-keyshortcuts', 'Control+Enter');
    sends(this.#field, send);
    this.#answers.append(
      ...(options.length > 0 ? [h('div', { class: 'options' }, ...options.map((option) => h('button', { onclick: () => this.#answer(option) }, option)))] : []),
      h('div', { class: 'free' }, this.#field, h('button', { class: options.length > 0 ? '' : 'primary', title: 'Answer (Ctrl+Enter)', onclick: send }, 'Answer')),
    );
  }

  #approval() {
    this.#field.ariaLabel = 'Reason';
    this.#field.placeholder = 'Reason, if you like …';
    this.#answers.append(
      h(
        'div',
        { class: 'free' },
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

  #free() {
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
  #confirm() {
    if (this.#withdraw.dataset.sure) return this.#settle('withdraw', {});
    this.#withdraw.dataset.sure = 'true';
    say(this.#withdraw, 'For good?');
  }

  #relax() {
    delete this.#withdraw.dataset.sure;
    say(this.#withdraw, 'Withdraw');
  }

  /**
   * @param {'answer'|'withdraw'} how
   * @param {{answer?: string}} body
   */
  #settle(how, body) {
    const { store } = this;
    const id = this.#need?.question?.id;
    if (!store || id === undefined) return;
    once(this, async () => {
      this.own = this.#post(store, id, how, body);
      await this.own;
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
      store.touch('questions');
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      refuse(this.#refused, error);
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
 * @param {Need['session']} session
 */
function why(session) {
  if (session && isOver(session)) return 'Who asked has ended: nobody hears an answer.';
  return 'It waits for an answer in its own terminal:';
}

customElements.define('hub-question', HubQuestion);
