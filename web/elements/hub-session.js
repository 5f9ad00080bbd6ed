/** A session: its state and evidence, whether it can be woken, its workers; when open, its actions too. */

import './hub-compose.js';
import './hub-go.js';
import './hub-mute.js';
import './hub-location.js';
import { h, updateList } from './dom.js';
import { runOnce, setProperty, setState, setText, stateBadge } from './parts.js';
import { StoreElement } from './store-element.js';
import { setTime, timeElement } from './time.js';
import { locationCommands, lookCommand } from '../core/commands.js';
import { muteFor } from '../core/mutes.js';
import { questionText } from '../core/attention.js';
import { progressOf } from '../core/progress.js';
import { oneLine, stateLabel, wakeLabel } from '../core/sessions.js';

/** @import { Node } from '../core/sessions.js' */
/** @import { Listener, Session } from '../core/types.js' */
/** @import { HubLocation } from './hub-location.js' */
/** @import { HubMute } from './hub-mute.js' */

let serial = 0;

export class HubSession extends StoreElement {
  /** @type {Session|null} */
  #session = null;
  #id = `session-${++serial}`;
  #name = h('button', { class: 'name', 'aria-expanded': 'false', 'aria-controls': this.#id });
  #primary = h('span', { class: 'mark', title: 'Leads its project and reads the inbox primary' }, 'primary');
  #agent = h('span', { class: 'agent' });
  #state = stateBadge({ state: '', text: '' });
  #evidence = h('span');
  #since = h('span');
  #wake = h('span', { class: 'wake' });
  #pending = h('span', { class: 'pending', title: 'Notifications in its inbox that it has not acknowledged' });
  #listening = h('span', { title: 'Sessions that are notified of its next stop' });
  #muted = h('span', { title: 'Shows only its questions under Needs you, and no browser notifications' }, 'muted');
  #last = h('p', { class: 'last' });
  #bar = h('progress');
  #percent = h('span');
  #progress = h('div', { class: 'progress', hidden: true }, this.#bar, this.#percent);
  #details = h('div', { class: 'more', id: this.#id, hidden: true });
  #workers = h('div', { class: 'workers', role: 'list', hidden: true });

  connectedCallback() {
    if (this.firstChild) return;
    this.#name.addEventListener('click', () => this.#toggle());
    this.append(
      h(
        'div',
        { class: 'card' },
        h('div', { class: 'line' }, this.#name, this.#primary, this.#agent, this.#wake, this.#state),
        h('div', { class: 'line facts' }, h('span', { class: 'report' }, this.#evidence, this.#since), this.#muted, this.#listening, this.#pending),
        this.#last,
        this.#progress,
        this.#details,
      ),
      this.#workers,
    );
  }

  /** @param {Node} node */
  show({ session, workers }) {
    const { store } = this;
    this.#session = session;
    if (this.dataset.id !== session.id) this.dataset.id = session.id;
    setText(this.#name, session.name);
    setProperty(this.#name, 'title', session.title ?? session.id);
    setProperty(this.#primary, 'hidden', !session.primary);
    setText(this.#agent, session.agent ?? '');
    setState(this.#state, stateLabel(session));
    this.#showEvidence(session);
    this.#showFacts(session);
    this.#showLast(session);
    if (!this.#details.hidden) this.#updateDetails(session);
    setProperty(this.#workers, 'hidden', workers.length === 0);
    setProperty(this.#workers, 'ariaLabel', `Workers of ${session.name}`);
    updateList(this.#workers, workers, keyOf, () => HubSession.create(store), (element, worker) => element.show(worker));
  }

  /** @param {import('../hub/store.js').Store} store */
  static create(store) {
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
  #showEvidence({ silent, evidence, since, last_seen: seen }) {
    const at = silent ? seen ?? since : since ?? seen;
    setText(this.#evidence, silent ? 'no report for ' : evidence ? `${evidence}, ` : 'seen ');
    if (!at) return this.#since.replaceChildren();
    const time = this.#since.querySelector('time');
    const form = silent ? 'age' : 'ago';
    if (time?.dataset.form === form) setTime(time, at);
    else this.#since.replaceChildren(timeElement(at, () => this.store.now(), form));
  }

  /** @param {Session} session */
  #showFacts(session) {
    const { store } = this;
    const { text, means } = wakeLabel(session, store.waiters.get(`${session.project}/${session.id}`));
    if (this.#wake.dataset.wake !== session.wake) this.#wake.dataset.wake = session.wake;
    setProperty(this.#wake, 'title', means);
    setText(this.#wake, text);
    setProperty(this.#pending, 'hidden', session.pending === 0);
    setText(this.#pending, `${session.pending} pending`);
    const listeners = session.listeners?.length ?? 0;
    setProperty(this.#listening, 'hidden', listeners === 0);
    setText(this.#listening, listeners === 1 ? '1 listener' : `${listeners} listeners`);
    setProperty(this.#muted, 'hidden', !muteFor(store.preferences, session, store.now()));
  }

  /**
   * Shows the session's last message and its progress.
   *
   * @param {Session} session
   */
  #showLast({ last, name, title }) {
    const { store } = this;
    const report = last === undefined ? null : store.notification(last);
    const text = report ? oneLine(questionText(report), name) : title ?? '';
    setText(this.#last, text);
    setProperty(this.#last, 'title', report?.msg ?? '');
    setProperty(this.#last, 'hidden', text === '');
    const progress = progressOf(report);
    setProperty(this.#progress, 'hidden', !progress);
    if (!progress) return;
    setProperty(this.#bar, 'max', progress.max);
    setProperty(this.#bar, 'value', progress.value);
    setProperty(this.#bar, 'ariaLabel', `Progress of ${name}`);
    setText(this.#percent, progress.text);
  }

  #toggle() {
    this.#details.hidden = !this.#details.hidden;
    this.#name.ariaExpanded = String(!this.#details.hidden);
    if (this.#details.hidden || !this.#session) return;
    if (!this.#details.firstChild) this.#build(this.#session);
    this.#updateDetails(this.#session);
  }

  /** @param {Session} session */
  #build(session) {
    const { store } = this;
    this.#details.append(
      h('hub-compose', { store, session }),
      h('div', { class: 'listeners', role: 'list', 'aria-label': 'Listeners' }),
      h('hub-mute', { store }),
      h('hub-go', { store, session }),
      h('hub-location'),
    );
  }

  /** @param {Session} session */
  #updateDetails(session) {
    const list = /** @type {HTMLElement} */ (this.#details.querySelector('.listeners'));
    const listeners = session.listeners ?? [];
    setProperty(list, 'hidden', listeners.length === 0);
    updateList(list, listeners, ({ caller, until }) => `${caller} ${until ?? ''}`, (listener) => this.#listener(listener), () => {});
    const compose = /** @type {import('./hub-compose.js').HubCompose} */ (this.#details.querySelector('hub-compose'));
    compose.session = session;
    /** @type {HubMute} */ (this.#details.querySelector('hub-mute')).show(session);
    const commands = [...locationCommands(session, this.store.info?.host), lookCommand(session.name, session.project)];
    /** @type {HubLocation} */ (this.#details.querySelector('hub-location')).show(session, commands);
  }

  /** @param {Listener} listener */
  #listener({ caller, until }) {
    const now = () => this.store.now();
    const line = h(
      'div',
      { role: 'listitem' },
      h('span', {}, h('strong', {}, caller), ' is notified of its next stop', until && ', or at the deadline: ', until && timeElement(until, now, 'left')),
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
    if (!session) return;
    const path = `/sessions/${encodeURIComponent(session.id)}/listeners/${encodeURIComponent(caller)}?project=${encodeURIComponent(session.project)}`;
    runOnce(line, async () => {
      await store.attempt(async () => {
        await store.api.delete(path);
        const others = session.listeners?.filter((listener) => listener.caller !== caller);
        store.sessions.set(`${session.project}/${session.id}`, { ...session, listeners: others });
        store.changed('sessions');
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
