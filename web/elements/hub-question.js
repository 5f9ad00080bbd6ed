/** A question or an approval, with the controls that settle it, and the way of its answer. */

import './hub-location.js';
import { answerControls } from './answer-controls.js';
import { h } from './dom.js';
import { goFrom } from './hub-go.js';
import { errorLine, setProperty, setText, showError, stateBadge } from './parts.js';
import { showMarkdown } from './rich-text.js';
import { StoreElement } from './store-element.js';
import { setTime, timeElement } from './time.js';
import { requestElement } from './tool-request.js';
import { isOpenQuestion, settlementText } from '../core/attention.js';
import { aboutOf } from '../core/board.js';
import { locationCommands } from '../core/commands.js';
import { isEnded } from '../core/sessions.js';
import { showDirection } from '../core/tool.js';
import { outboxOf } from '../hub/outbox.js';

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Context } from '../core/links.js' */
/** @import { Question } from '../core/types.js' */
/** @import { Controls } from './answer-controls.js' */
/** @import { HubLocation } from './hub-location.js' */

/** The steps of an answer in words. */
const STEPS = /** @type {const} */ ([['stored', 'stored'], ['delivered', 'delivered to the session'], ['taken', 'taken']]);

export class HubQuestion extends StoreElement {
  /** @type {AttentionItem|null} */
  #item = null;
  #head = h('header');
  #project = h('span', { class: 'project' });
  #time = timeElement('', () => this.store.now());
  #about = h('p', { class: 'about muted' });
  /** Whether the controls contain the text. */
  #repeatsText = false;
  #text = h('div', { class: 'text' });
  #request = h('div', { class: 'what' });
  #claim = h('p', { class: 'muted', hidden: true });
  /** @type {Controls|null} */
  #controls = null;
  #left = timeElement('', () => this.store.now(), 'left');
  #deadline = h('p', { class: 'deadline muted', hidden: true }, 'Answer here or in its terminal: ', this.#left);
  #content = h('div', { class: 'answers', role: 'group' });
  #answers = h('div', { class: 'answers', role: 'group' });
  #go = h('div', { class: 'go' });
  #heldText = h('span', {});
  #undo = h('button', { onclick: () => this.undo() }, 'Undo');
  #now = h('button', { class: 'ghost', onclick: () => this.#sendNow() }, 'Send now');
  #held = h('div', { class: 'held', role: 'status', hidden: true }, this.#heldText, this.#undo, this.#now);
  #result = h('div', { class: 'result', role: 'status', hidden: true });
  #shownResult = '';
  #elsewhere = h('div', { class: 'elsewhere', hidden: true });
  #reason = h('p');
  #location = /** @type {HubLocation} */ (document.createElement('hub-location'));
  #withdraw = h('button', { class: 'ghost small', title: 'Withdraws the question: it can no longer be answered' }, 'Withdraw');
  #error = errorLine();

  /** The text that the person has typed and not sent. */
  get draft() {
    return this.#controls?.draft() ?? '';
  }

  /** Resolves to whether this page settled the question. */
  get settledHere() {
    return outboxOf(this.store).settledHere(this.#item?.question?.id ?? 0);
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
    setProperty(this.#claim, 'hidden', question.state !== 'claimed');
    setText(this.#claim, `${question.by ?? 'Another session'} has claimed it.`);
    // The request of a permission begins with what it wants.
    setText(this.#about, aboutOf(item.session, item.kind === 'approval' ? undefined : item.need?.title));
    this.#update(item, question);
    if (!this.#text.hidden) this.#showText(item);
  }

  /** @param {AttentionItem} item */
  #showText({ text, session }) {
    showMarkdown(this.#text, text, { store: this.store, context: contextOf(this.store, session) });
  }

  /**
   * Shows buttons only if an answer reaches the asker.
   *
   * @param {AttentionItem} item
   * @param {Question} question
   */
  #update({ session, name }, question) {
    const outbox = outboxOf(this.store);
    const held = outbox.held(question.id);
    const isOpen = isOpenQuestion(question);
    const reaches = question.deliverable !== false && question.delivery !== 'terminal';
    const isSending = outbox.isSending(question.id);
    const takes = isOpen && reaches && !held && !isSending;
    // A focused control that disappears would leave the focus nowhere.
    if (!takes && [this.#content, this.#answers].some((part) => part.contains(document.activeElement))) this.focus();
    for (const part of [this.#content, this.#answers]) setProperty(part, 'hidden', !takes);
    if (this.#repeatsText) setProperty(this.#text, 'hidden', takes);
    setProperty(this.#deadline, 'hidden', !takes || question.held_until === undefined);
    if (question.held_until !== undefined) setTime(this.#left, question.held_until);
    setProperty(this.#held, 'hidden', !held && !(isSending && isOpen));
    for (const button of [this.#undo, this.#now]) setProperty(button, 'hidden', !held);
    setText(this.#heldText, held ? `${held.label.length > 80 ? `${held.label.slice(0, 80)}…` : held.label} – will be sent` : 'Sending …');
    setProperty(this.#elsewhere, 'hidden', !isOpen || reaches);
    setProperty(this.#withdraw, 'hidden', !isOpen || held !== undefined);
    this.#showResult(question, name);
    showError(this.#error, outbox.problem(question.id));
    if (reaches) return;
    const location = question.where ?? session ?? {};
    setText(this.#reason, reasonFor(session));
    this.#location.show(location, locationCommands(location, this.store.info?.host));
  }

  /**
   * The way of the answer, step by step.
   *
   * @param {Question} question
   * @param {string} name
   */
  #showResult(question, name) {
    const isSettled = !isOpenQuestion(question);
    setProperty(this.#result, 'hidden', !isSettled);
    const shown = JSON.stringify([question.state, question.delivery, question.answer, question.by]);
    if (!isSettled || this.#shownResult === shown) return;
    this.#shownResult = shown;
    const at = STEPS.findIndex(([step]) => step === question.delivery);
    const said = question.state === 'answered' && question.by === 'person' ? `Answered: ${question.answer ?? ''}` : settlementText(name, question);
    this.#result.replaceChildren(
      h('p', { class: 'said' }, said),
      at >= 0 ? h('ol', { class: 'way', 'aria-label': `The answer to ${name}` }, ...STEPS.map(([, words], n) => h('li', { class: n <= at ? 'done' : '', 'aria-current': n === at && 'step' }, words))) : '',
      question.delivery === 'terminal' ? h('p', {}, 'It did not reach the session, which waits in its terminal.') : '',
    );
  }

  /**
   * @param {AttentionItem} item
   * @param {Question} question
   */
  #build(item, question) {
    const { kind, name, project } = item;
    const isPlan = question.type === 'question' && question.controls[0]?.type === 'verdict';
    const title = h('h3', {}, name);
    this.ariaLabel = `${kind} of ${name}`;
    this.#project.title = showDirection(project);
    this.#content.ariaLabel = `Choices of ${name}`;
    this.#answers.ariaLabel = `Answer ${name}`;
    this.#undo.ariaLabel = `Undo the answer to ${name}`;
    this.#now.ariaLabel = `Send now, ${name}`;
    this.#withdraw.ariaLabel = `Withdraw, ${name}`;
    this.#head.append(stateBadge({ state: kind, text: isPlan ? 'plan' : kind }), title, this.#project, this.#time, this.#withdraw);
    this.#withdraw.addEventListener('click', () => this.#withdrawOnConfirm());
    this.#withdraw.addEventListener('blur', () => this.#resetWithdraw());
    const choices = question.controls.filter((it) => it.type === 'choice');
    this.#repeatsText = choices.some(({ header }) => header) || choices.length > 1;
    this.#buildWhat(isPlan, question, item);
    this.#controls = answerControls(question.controls, isPlan, name, (answer, label) => this.#answer(answer, label));
    this.#content.append(...(this.#controls.content ? [this.#controls.content] : []));
    this.#answers.append(this.#deadline, this.#controls.bar);
    if (item.session) this.#go.append(h('hub-go', { store: this.store, session: item.session }));
    const offered = choices.flatMap(({ options }) => options.map(({ label }) => label));
    this.#elsewhere.append(
      offered.length > 0 ? h('ul', { class: 'offered', 'aria-label': `Offered answers, ${name}` }, ...offered.map((option) => h('li', {}, option))) : '',
      this.#reason,
      this.#location,
    );
    const bar = h('div', { class: 'bar' }, this.#error, this.#answers, this.#held, this.#result, this.#go);
    this.replaceChildren(this.#head, this.#about, this.#text, this.#request, this.#claim, this.#content, this.#elsewhere, bar);
  }

  /**
   * Shows the request of an approval, or a plan.
   *
   * @param {boolean} isPlan
   * @param {Question} question
   * @param {AttentionItem} item
   */
  #buildWhat(isPlan, question, { name, session }) {
    const { store } = this;
    const context = contextOf(store, session);
    if (question.request) {
      // The text repeats the request.
      this.#text.hidden = true;
      this.#request.append(requestElement(question.request, { name, cwd: session?.cwd, context }));
    }
    if (isPlan) {
      this.#text.hidden = true;
      const plan = h('div', { class: 'plan text', role: 'group', 'aria-label': `Plan of ${name}` });
      showMarkdown(plan, question.text, { store, context });
      this.#request.append(plan);
    }
  }

  /**
   * @param {import('./answer-controls.js').Answer} answer
   * @param {string} label
   */
  #answer(answer, label) {
    const question = this.#item?.question;
    if (!question || !isOpenQuestion(question)) return;
    outboxOf(this.store).hold(question, answer, label);
    this.dispatchEvent(new Event('settling', { bubbles: true }));
  }

  /** Takes a held answer back; the controls have kept it. */
  undo() {
    outboxOf(this.store).undo(this.#item?.question?.id ?? 0);
    this.focus();
  }

  #sendNow() {
    if (this.#held.contains(document.activeElement)) this.focus();
    outboxOf(this.store).send(this.#item?.question?.id ?? 0);
  }

  /**
   * Performs the action of a key.
   *
   * @param {string} action its id
   * @param {string} key
   * @returns {boolean} whether there was something to do
   */
  act(action, key) {
    const acts = this.#answers.hidden ? {} : this.#controls?.keys;
    const choose = this.#answers.hidden ? undefined : this.#controls?.choose;
    if (action === 'pane') return goFrom(this);
    if (action === 'option') choose?.(Number(key));
    else acts?.[action]?.();
    return action === 'option' ? choose !== undefined : acts?.[action] !== undefined;
  }

  /** Withdrawing needs two presses, because it cannot be undone. */
  #withdrawOnConfirm() {
    const id = this.#item?.question?.id;
    if (this.#withdraw.dataset.sure && id !== undefined) {
      outboxOf(this.store).settle(id, 'withdraw', {});
      return;
    }
    this.#withdraw.dataset.sure = 'true';
    this.#withdraw.ariaLabel = `Really withdraw, ${this.#item?.name}`;
    setText(this.#withdraw, 'Really withdraw');
  }

  #resetWithdraw() {
    delete this.#withdraw.dataset.sure;
    this.#withdraw.ariaLabel = `Withdraw, ${this.#item?.name}`;
    setText(this.#withdraw, 'Withdraw');
  }
}

/**
 * The places of the files and the repository of a session: paths are links only on the hub’s own machine.
 *
 * @param {import('../hub/store.js').Store} store
 * @param {AttentionItem['session']} session
 * @returns {Context}
 */
export function contextOf(store, session) {
  const isHere = session?.host === undefined || session.host === store.info?.host;
  return { cwd: isHere ? session?.cwd : undefined, repository: session?.repository, editor: store.preferences.editor };
}

/**
 * The reason why there are no buttons.
 *
 * @param {AttentionItem['session']} session
 */
function reasonFor(session) {
  if (session && isEnded(session)) return 'The asker has ended: an answer cannot be delivered.';
  return 'It waits in its own terminal, and the hub cannot deliver an answer there. Answer it at:';
}

customElements.define('hub-question', HubQuestion);
