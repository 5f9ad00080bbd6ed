/** One notification in full: its text, data, thread, delivery and actions. */

import { copy } from './copyable.js';
import { commands, data, facts, options, related, timeline } from './details-parts.js';
import { h } from './dom.js';
import { once, plain, say, sends, setState, stateBadge } from './parts.js';
import { timeElement } from './time.js';
import { Problem } from '../hub/api.js';
import { mark } from '../hub/marks.js';
import { sender, thread } from '../core/said.js';
import { finder } from '../core/sessions.js';

/**
 * @typedef {import('../core/types.js').Notification} Notification
 * @typedef {import('../core/types.js').Step} Step
 */

/** The time within which a second press confirms, in ms. */
const SURE = 4000;

export class HubDetails extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  #id = 0;
  /** The notifications of its row, newest first. @type {Notification[]} */
  #items = [];
  #moved = -1;
  #drawn = '';
  /** The id of the notification whose thread was requested. */
  #fetched = 0;
  #badge = stateBadge({ state: '', text: '' });
  #heading = h('h3', { tabindex: '-1' });
  #number = h('span', { class: 'number muted' });
  #time = h('span', {});
  #text = h('p', { class: 'text' });
  #options = h('div', {});
  #actions = h('div', { class: 'actions' });
  #reply = h('form', { class: 'reply', hidden: true });
  #facts = h('div', {});
  #around = h('div', { class: 'around' });
  #data = h('div', {});
  #trace = h('section', {});
  #parts = [this.#options, this.#actions, this.#facts, this.#around, this.#data];
  #body = h('div', { class: 'body' }, this.#text, this.#options, this.#actions, this.#reply, this.#facts, this.#around, this.#data, this.#trace);

  connectedCallback() {
    if (this.firstChild) return;
    this.setAttribute('role', 'region');
    this.setAttribute('aria-label', 'Details');
    const close = () => this.dispatchEvent(new CustomEvent('close'));
    this.append(
      h(
        'header',
        {},
        h('button', { class: 'quiet back', onclick: close }, '‹ Feed'),
        this.#badge,
        this.#number,
        this.#time,
        h('button', { class: 'quiet close', 'aria-label': 'Close', title: 'Close (Esc)', onclick: close }, '×'),
      ),
      h('div', { class: 'scroll' }, this.#heading, this.#body),
    );
    this.#around.addEventListener('click', (event) => this.#follow(event));
  }

  /**
   * @param {number} id 0 for none
   * @param {Notification[]} items of its row, newest first
   */
  show(id, items) {
    this.hidden = id === 0;
    this.#items = items;
    if (id !== this.#id) {
      this.#id = id;
      this.#begin();
    }
    if (id && this.store?.ready && this.#fetched !== id) this.#fetch(id);
    this.#refresh();
  }

  #begin() {
    this.#drawn = '';
    this.#moved = -1;
    this.#reply.hidden = true;
    this.#heading.parentElement?.scrollTo(0, 0);
    for (const part of [this.#heading, this.#time, this.#text, ...this.#parts, this.#trace]) part.replaceChildren();
    say(this.#number, this.#id ? `#${this.#id}` : '');
    setState(this.#badge, { state: '', text: '' });
  }

  /** Scrolls to the beginning of the details. */
  enter() {
    this.#heading.focus();
  }

  /** Updates the changed parts. */
  #refresh() {
    const said = this.#said;
    if (!said || !this.store) return;
    const { id, seen, status } = said;
    const question = this.store.questions.get(id)?.state;
    const drawn = JSON.stringify([id, seen, status, question, this.#items.length, this.store.feed.repliesVersion]);
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      this.#draw(said);
    }
    const moved = this.store.feed.moves(id);
    if (moved !== this.#moved) {
      this.#moved = moved;
      this.#traceOf(id);
    }
  }

  /** Opens the field for a reply. */
  reply() {
    const said = this.#said;
    if (!said || !this.#repliable(said)) return;
    if (this.#reply.hidden) this.#replyTo(said);
    this.#reply.hidden = false;
    this.#reply.querySelector('textarea')?.focus();
  }

  get #said() {
    return this.store?.feed.get(this.#id);
  }

  /** @param {Notification} said */
  #draw(said) {
    const store = this.store;
    if (!store) return;
    const now = () => store.now();
    setState(this.#badge, { state: said.type, text: said.type });
    say(this.#number, `#${said.id}${said.status ? ` · ${said.status}` : ''}`);
    this.#time.replaceChildren(timeElement(said.ts, now, 'ago'));
    this.#heading.replaceChildren(...plain(said.title ?? `From ${sender(said)}`));
    this.#text.replaceChildren(...plain(said.msg));
    this.#options.replaceChildren(...some(options(said)));
    this.#actions.replaceChildren(...this.#buttons(said));
    this.#facts.replaceChildren(facts(said, (part) => this.dispatchEvent(new CustomEvent('narrow', { detail: part }))));
    const known = { get: (/** @type {number} */ id) => store.feed.get(id), replies: (/** @type {number} */ id) => store.feed.replies(id) };
    const all = thread(said, known);
    const title = this.#items[0]?.key === undefined ? 'Said again and again' : 'Earlier versions';
    this.#around.replaceChildren(
      ...some(related('Thread', all, said.id, now), related(title, this.#items.slice(0, 100), said.id, now)),
    );
    this.#data.replaceChildren(...some(data(said), commands(said, store.about?.state_dir ?? '$STATE_DIR')));
  }

  /** @param {Notification} said */
  #buttons(said) {
    const store = this.store;
    const pending = said.status === 'pending' || said.status === undefined;
    const withdraw = h('button', { class: 'quiet', onclick: () => this.#withdraw(withdraw, said) }, 'Withdraw');
    const link = h('button', { class: 'quiet', onclick: () => this.#link(link, said) }, 'Copy link');
    return some(
      this.#repliable(said) && h('button', { 'aria-keyshortcuts': 'r', title: 'Reply (r)', onclick: () => this.reply() }, 'Reply'),
      h('button', { class: 'quiet', 'aria-keyshortcuts': 'e', title: 'e', onclick: () => store && mark(store, [said.id], !said.seen) }, said.seen ? 'Mark not seen' : 'Mark seen'),
      pending && withdraw,
      link,
    );
  }

  /** An approval is answered in the list of needs, where it is shown in full. @param {Notification} said */
  #repliable({ id, type }) {
    const state = this.store?.questions.get(id)?.state;
    return type !== 'approval' || (state !== 'open' && state !== 'claimed');
  }

  /** @param {Notification} said */
  #replyTo(said) {
    const state = this.store?.questions.get(said.id)?.state;
    const answer = said.type === 'question' && (state === 'open' || state === 'claimed');
    const to = said.from === 'person' ? (said.to ?? 'primary') : said.from;
    const label = answer ? `Answer to ${to}` : `Reply to ${to}`;
    const field = h('textarea', { rows: 3, 'aria-label': label, placeholder: `${label} …`, 'aria-keyshortcuts': 'Control+Enter' });
    const cancel = () => {
      this.#reply.hidden = true;
      this.enter();
    };
    const send = () => once(this.#reply, async () => {
      if (!field.value.trim()) return field.focus();
      const post = { msg: field.value, from: 'person', to, project: said.project, reply_to: said.id, type: answer ? 'answer' : 'message' };
      if (await this.store?.attempt(() => this.#send(post))) cancel();
    });
    sends(field, send);
    field.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      cancel();
    });
    this.#reply.replaceChildren(
      field,
      h('button', { class: 'primary', type: 'button', title: 'Send (Ctrl+Enter)', onclick: send }, answer ? 'Answer' : 'Send'),
      h('button', { class: 'quiet', type: 'button', onclick: cancel }, 'Cancel'),
    );
  }

  /** @param {object} post */
  async #send(post) {
    const { woken, hint } = await this.store?.api.post('/notify', post);
    const who = woken > 0 ? `Sent; it woke ${woken === 1 ? 'one waiter' : `${woken} waiters`}.` : 'Sent; nobody was woken.';
    this.store?.toast(hint ? `${who} Hint: ${hint}.` : who);
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {Notification} said
   */
  async #withdraw(button, said) {
    if (!button.dataset.sure) {
      button.dataset.sure = 'asked';
      button.textContent = 'Really withdraw';
      setTimeout(() => {
        delete button.dataset.sure;
        button.textContent = 'Withdraw';
      }, SURE);
      return;
    }
    await this.store?.attempt(async () => {
      const { withdrawn } = await this.store?.api.delete(`/notifications/${said.id}`);
      this.store?.toast(withdrawn.length > 0 ? `Withdrawn #${said.id}.` : 'Nothing of it was pending any more.');
      this.#traceOf(said.id);
    });
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {Notification} said
   */
  async #link(button, said) {
    const done = await copy(`${location.origin}/?id=${said.id}`);
    button.textContent = done ? 'Copied' : 'Copy it from the address';
    setTimeout(() => (button.textContent = 'Copy link'), 2000);
  }

  /** @param {Event} event */
  #follow(event) {
    const mouse = /** @type {MouseEvent} */ (event);
    const link = /** @type {HTMLElement} */ (event.target).closest('a');
    if (!link || mouse.ctrlKey || mouse.metaKey || mouse.shiftKey) return;
    event.preventDefault();
    this.dispatchEvent(new CustomEvent('follow', { detail: Number(link.dataset.id) }));
  }

  /**
   * Requests the whole thread, which may begin before the loaded part of the feed.
   *
   * @param {number} id
   */
  async #fetch(id) {
    const store = this.store;
    this.#fetched = id;
    try {
      for (let after = ''; ; ) {
        const page = await store?.api.get(`/notifications?thread=${id}${after}`);
        store?.feed.add(page.notifications);
        store?.touch('feed');
        if (!page.partial || id !== this.#id) break;
        after = `&after=${page.next}`;
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (id !== this.#id || this.#said) return;
      this.#heading.textContent = `#${id}: ${error.message}`;
      this.#text.textContent = error.hint;
      for (const part of this.#parts) part.replaceChildren();
      setState(this.#badge, { state: 'ended', text: 'gone' });
    }
  }

  /** @param {number} id */
  async #traceOf(id) {
    /** @type {Step[]} */
    const steps = [];
    try {
      for (let after = ''; ; ) {
        /** @type {import('../core/types.js').Schemas['Trace']} */
        const trace = await this.store?.api.get(`/notifications/${id}/trace${after}`);
        steps.push(...trace.steps);
        if (!trace.next || id !== this.#id) break;
        after = `?after=${trace.next}`;
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return;
    }
    const find = finder(this.store?.sessions.values() ?? []);
    const named = steps.map((step) => ({ ...step, inbox: (step.inbox && step.project && find(step.project, step.inbox)?.name) || step.inbox }));
    if (id === this.#id) this.#trace.replaceChildren(h('h3', {}, 'Delivery'), timeline(named));
  }
}

/**
 * @template T
 * @param {...(T|null|false|undefined)} list
 * @returns {T[]}
 */
function some(...list) {
  return /** @type {T[]} */ (list.filter((one) => one !== null && one !== false && one !== undefined));
}

customElements.define('hub-details', HubDetails);
