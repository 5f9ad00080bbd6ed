/** A session: its state and evidence, whether it can be woken, its workers; when open, its actions too. */

import './hub-compose.js';
import './hub-mute.js';
import './hub-where.js';
import { h, keyed } from './dom.js';
import { once, put, say, setState, stateBadge } from './parts.js';
import { setTime, timeElement } from './time.js';
import { wayToLook, waysThere } from '../core/commands.js';
import { muteOf } from '../core/mutes.js';
import { textOf } from '../core/needs.js';
import { progressOf } from '../core/progress.js';
import { oneLine, stateOf, wakeOf } from '../core/sessions.js';

/**
 * @typedef {import('../core/types.js').Session} Session
 * @typedef {import('../core/types.js').Listener} Listener
 * @typedef {import('../core/sessions.js').Node} Node
 * @typedef {import('./hub-mute.js').HubMute} HubMute
 * @typedef {import('./hub-where.js').HubWhere} HubWhere
 */

let serial = 0;

export class HubSession extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  /** @type {Session|null} */
  #session = null;
  #id = `session-${++serial}`;
  #name = h('button', { class: 'name', 'aria-expanded': 'false', 'aria-controls': this.#id });
  #primary = h('span', { class: 'mark', title: 'It leads its project: what is for nobody else goes to it' }, 'primary');
  #agent = h('span', { class: 'agent' });
  #state = stateBadge({ state: '', text: '' });
  #evidence = h('span', { class: 'evidence' });
  #since = h('span');
  #wake = h('span', { class: 'wake' });
  #pending = h('span', { class: 'pending', title: 'Notifications in its inbox that it has not read' });
  #listening = h('span', { title: 'Who is told of its next stop' });
  #muted = h('span', { title: 'No notifications of it, and only its questions under Needs you' }, 'muted');
  #last = h('p', { class: 'last' });
  #bar = h('progress');
  #percent = h('span');
  #progress = h('div', { class: 'progress', hidden: true }, this.#bar, this.#percent);
  #more = h('div', { class: 'more', id: this.#id, hidden: true });
  #workers = h('div', { class: 'workers', role: 'list', hidden: true });

  connectedCallback() {
    if (this.firstChild) return;
    this.#name.addEventListener('click', () => this.#open());
    this.append(
      h(
        'div',
        { class: 'card' },
        h('div', { class: 'line' }, this.#name, this.#primary, this.#agent, this.#wake, this.#state),
        h('div', { class: 'line facts' }, h('span', { class: 'told' }, this.#evidence, this.#since), this.#muted, this.#listening, this.#pending),
        this.#last,
        this.#progress,
        this.#more,
      ),
      this.#workers,
    );
  }

  /** @param {Node} node */
  show({ session, workers }) {
    const { store } = this;
    if (!store) return;
    this.#session = session;
    if (this.dataset.id !== session.id) this.dataset.id = session.id;
    say(this.#name, session.name);
    put(this.#name, 'title', session.title ?? session.id);
    put(this.#primary, 'hidden', !session.primary);
    say(this.#agent, session.agent ?? '');
    setState(this.#state, stateOf(session));
    this.#tell(session);
    this.#facts(session);
    this.#said(session);
    if (!this.#more.hidden) this.#update(session);
    put(this.#workers, 'hidden', workers.length === 0);
    put(this.#workers, 'ariaLabel', `Workers of ${session.name}`);
    keyed(this.#workers, workers, keyOf, () => HubSession.of(store), (element, worker) => element.show(worker));
  }

  /** @param {import('../hub/store.js').Store} store */
  static of(store) {
    const element = new HubSession();
    element.store = store;
    element.role = 'listitem';
    return element;
  }

  /**
   * Shows the evidence for the state, and its time.
   *
   * @param {Session} session
   */
  #tell({ silent, evidence, since, last_seen: seen }) {
    const at = silent ? seen ?? since : since ?? seen;
    say(this.#evidence, silent ? 'nothing heard for ' : evidence ? `${evidence}, ` : 'seen ');
    if (!at) return this.#since.replaceChildren();
    const time = this.#since.querySelector('time');
    const form = silent ? 'age' : 'ago';
    if (time?.dataset.form === form) setTime(time, at);
    else this.#since.replaceChildren(timeElement(at, () => this.store?.now() ?? Date.now(), form));
  }

  /** @param {Session} session */
  #facts(session) {
    const { store } = this;
    if (!store) return;
    const { text, means } = wakeOf(session, store.waiters.get(`${session.project}/${session.id}`));
    if (this.#wake.dataset.wake !== session.wake) this.#wake.dataset.wake = session.wake;
    put(this.#wake, 'title', means);
    say(this.#wake, text);
    put(this.#pending, 'hidden', session.pending === 0);
    say(this.#pending, `${session.pending} pending`);
    const listeners = session.listeners?.length ?? 0;
    put(this.#listening, 'hidden', listeners === 0);
    say(this.#listening, listeners === 1 ? '1 listener' : `${listeners} listeners`);
    put(this.#muted, 'hidden', !muteOf(store.preferences, session, store.now()));
  }

  /**
   * Shows the session's last message and its progress.
   *
   * @param {Session} session
   */
  #said({ last, name, title }) {
    const { store } = this;
    if (!store) return;
    const told = last === undefined ? null : store.notification(last);
    const text = told ? oneLine(textOf(told), name) : title ?? '';
    say(this.#last, text);
    put(this.#last, 'title', told?.msg ?? '');
    put(this.#last, 'hidden', text === '');
    const progress = progressOf(told);
    put(this.#progress, 'hidden', !progress);
    if (!progress) return;
    put(this.#bar, 'max', progress.max);
    put(this.#bar, 'value', progress.value);
    put(this.#bar, 'ariaLabel', `Progress of ${name}`);
    say(this.#percent, progress.text);
  }

  #open() {
    this.#more.hidden = !this.#more.hidden;
    this.#name.ariaExpanded = String(!this.#more.hidden);
    if (this.#more.hidden || !this.#session) return;
    if (!this.#more.firstChild) this.#build(this.#session);
    this.#update(this.#session);
  }

  /** @param {Session} session */
  #build(session) {
    const { store } = this;
    this.#more.append(
      h(/** @type {any} */ ('hub-compose'), { store, session }),
      h('div', { class: 'listeners', role: 'list', 'aria-label': 'Listeners' }),
      h(/** @type {any} */ ('hub-mute'), { store }),
      h('hub-where'),
    );
  }

  /** @param {Session} session */
  #update(session) {
    const list = /** @type {HTMLElement} */ (this.#more.querySelector('.listeners'));
    const listeners = session.listeners ?? [];
    put(list, 'hidden', listeners.length === 0);
    keyed(list, listeners, ({ caller, until }) => `${caller} ${until ?? ''}`, (listener) => this.#listener(listener), () => {});
    const compose = /** @type {import('./hub-compose.js').HubCompose} */ (this.#more.querySelector('hub-compose'));
    compose.session = session;
    /** @type {HubMute} */ (this.#more.querySelector('hub-mute')).show(session);
    const ways = [...waysThere(session, this.store?.about?.host), wayToLook(session.name, session.project)];
    /** @type {HubWhere} */ (this.#more.querySelector('hub-where')).show(session, ways);
  }

  /** @param {Listener} listener */
  #listener({ caller, until }) {
    const now = () => this.store?.now() ?? Date.now();
    const line = h(
      'div',
      { role: 'listitem' },
      h('span', {}, h('strong', {}, caller), ' hears of its next stop', until && ', or that none came: ', until && timeElement(until, now, 'left')),
      h('button', { class: 'small', 'aria-label': `Cancel the listener of ${caller}`, onclick: () => this.#cancel(line, caller) }, 'Cancel'),
    );
    return line;
  }

  /**
   * @param {HTMLElement} line
   * @param {string} caller
   */
  #cancel(line, caller) {
    const { store } = this;
    const session = this.#session;
    if (!store || !session) return;
    const path = `/sessions/${encodeURIComponent(session.id)}/listeners/${encodeURIComponent(caller)}?project=${encodeURIComponent(session.project)}`;
    once(line, async () => {
      await store.attempt(async () => {
        await store.api.delete(path);
        const others = session.listeners?.filter((listener) => listener.caller !== caller);
        store.sessions.set(`${session.project}/${session.id}`, { ...session, listeners: others });
        store.touch('sessions');
        this.#name.focus();
      });
    });
  }
}

/** @param {Node} node */
export function keyOf({ session }) {
  return session.id;
}

customElements.define('hub-session', HubSession);
