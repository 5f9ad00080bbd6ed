/** A session in full: its phase and last words, a message to it, whether it can be woken, its listeners, mute and place. */

import './hub-compose.js';
import './hub-go.js';
import './hub-location.js';
import './hub-mute.js';
import { h, updateList } from './dom.js';
import { closeButton, runOnce, setProperty, setState, setText, stateBadge } from './parts.js';
import { contextOf } from './hub-question.js';
import { showMarkdown } from './rich-text.js';
import { StoreElement } from './store-element.js';
import { timeElement } from './time.js';
import { checkout, GROUPS } from '../core/board.js';
import { locationCommands, lookCommand } from '../core/commands.js';
import { progressOf } from '../core/progress.js';
import { toSearch } from '../core/filter.js';
import { wakeLabel } from '../core/sessions.js';
import { addressOf, setAddress } from './address.js';
import { setMarks } from '../hub/marks.js';

/** @import { Listener, Notification, Session } from '../core/types.js' */
/** @import { HubCompose } from './hub-compose.js' */
/** @import { HubLocation } from './hub-location.js' */
/** @import { HubMute } from './hub-mute.js' */

export class HubSession extends StoreElement {
  #key = '';
  /** @type {Session|null} */
  #session = null;
  #shown = '';
  #badge = stateBadge({ state: '', text: '' });
  #since = h('span', { class: 'muted' });
  #heading = h('h3', { tabindex: '-1' });
  #about = h('p', { class: 'muted about' });
  #activity = h('p', { class: 'activity' });
  #lastHeading = h('h4', {}, 'Last words');
  #last = h('div', { class: 'text' });
  #bar = h('progress');
  #percent = h('span');
  #progress = h('div', { class: 'progress', hidden: true }, this.#bar, this.#percent);
  #actions = h('div', { class: 'actions' });
  #compose = h('div');
  #facts = h('dl', { class: 'facts' });
  #listenersHeading = h('h4', {}, 'Listeners');
  #listeners = h('div', { class: 'listeners', role: 'list', 'aria-label': 'Listeners' });
  #mute = /** @type {HubMute} */ (document.createElement('hub-mute'));
  #location = /** @type {HubLocation} */ (document.createElement('hub-location'));
  #body = h('div', { class: 'body' }, this.#activity, this.#progress, this.#lastHeading, this.#last, this.#actions, this.#compose, this.#facts, this.#listenersHeading, this.#listeners, this.#mute, this.#location);

  connectedCallback() {
    if (this.firstChild) return;
    this.setAttribute('role', 'region');
    this.setAttribute('aria-label', 'Agent');
    this.#mute.store = this.store;
    const close = () => this.dispatchEvent(new CustomEvent('close'));
    this.append(
      h('header', {}, h('button', { class: 'ghost back', onclick: close }, '‹ Agents'), this.#badge, this.#since, closeButton(close)),
      h('div', { class: 'scroll' }, this.#heading, this.#about, this.#body),
    );
  }

  /**
   * @param {string} key `project/id`
   * @param {Session} [session] undefined if it is not known, or not yet
   */
  show(key, session) {
    if (key !== this.#key) {
      this.#key = key;
      this.#session = null;
      this.#shown = '';
      this.#compose.replaceChildren();
      this.#heading.parentElement?.scrollTo(0, 0);
    }
    this.#body.hidden = !session;
    if (!session) {
      setText(this.#heading, this.store.ready ? 'This agent has ended, or never existed' : 'Loading…');
      for (const part of [this.#about, this.#since]) part.replaceChildren();
      return setState(this.#badge, { state: 'gone', text: '' });
    }
    if (!this.#session) this.#compose.replaceChildren(h('hub-compose', { store: this.store, session }), h('hub-go', { store: this.store, session }));
    this.#session = session;
    if (this.dataset.id !== session.id) this.dataset.id = session.id;
    this.#showPhase(session);
    this.#showLast(session);
    this.#showFacts(session);
    this.#update(session);
  }

  focusHeading() {
    this.#heading.focus();
  }

  /** @param {Session} session */
  #showPhase(session) {
    const { phase } = session;
    const title = GROUPS.find(({ name }) => name === phase.name)?.title ?? 'Ended';
    setState(this.#badge, { state: phase.name, text: title });
    if (this.#since.dataset.at !== phase.since) {
      this.#since.dataset.at = phase.since;
      this.#since.replaceChildren('for ', timeElement(phase.since, () => this.store.now()));
    }
    setText(this.#heading, session.name);
    setProperty(this.#heading, 'title', session.title ?? session.id);
    const branch = checkout(session);
    setText(this.#about, [session.agent, session.primary && 'primary', session.parent && `worker of ${session.parent}`, branch && `branch ${branch}`, session.project].filter(Boolean).join(' · '));
    const tool = phase.tool ? `${phase.tool.name} ${phase.tool.on ?? ''}` : phase.name === 'working' || phase.name === 'blocked' ? phase.text ?? '' : '';
    setText(this.#activity, tool.trim());
    setProperty(this.#activity, 'hidden', tool.trim() === '');
  }

  /** Shows the last message, its progress, and the person's mark on it. @param {Session} session */
  #showLast(session) {
    const report = session.last === undefined ? null : this.store.notification(session.last);
    const shown = JSON.stringify([report?.id, report?.seen, session.phase.need]);
    for (const part of [this.#lastHeading, this.#last]) setProperty(part, 'hidden', !report);
    this.#showProgress(report);
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (report) showMarkdown(this.#last, Object(report.data).said || report.msg, { store: this.store, context: contextOf(this.store, session) });
    this.#actions.replaceChildren(...this.#doneButton(session.phase.need), ...(report ? this.#buttons(session, report) : []));
  }

  /** Ends what the session needs. @param {string} [need] its id */
  #doneButton(need) {
    if (need === undefined) return [];
    const { store } = this;
    return [h('button', { class: 'small', onclick: () => store.attempt(() => store.api.post(`/needs/${need}/done`)) }, 'Done')];
  }

  /**
   * @param {Session} session
   * @param {Notification} report
   */
  #buttons(session, report) {
    const { store } = this;
    const filter = () => {
      setAddress(toSearch({ project: session.project, session: session.id }, addressOf('feed')));
    };
    return [
      h('button', { class: 'ghost small', onclick: () => setMarks(store, [report.id], !report.seen) }, report.seen ? 'Mark unread' : 'Mark read'),
      h('button', { class: 'ghost small', onclick: filter }, 'Show in the feed'),
    ];
  }

  /** @param {Notification|null|undefined} report */
  #showProgress(report) {
    const progress = progressOf(report ?? null);
    setProperty(this.#progress, 'hidden', !progress);
    if (!progress) return;
    setProperty(this.#bar, 'max', progress.max);
    setProperty(this.#bar, 'value', progress.value);
    setProperty(this.#bar, 'ariaLabel', `Progress of ${this.#session?.name}`);
    setText(this.#percent, progress.text);
  }

  /** @param {Session} session */
  #showFacts(session) {
    const { text, means } = wakeLabel(session, this.store.waiters.get(this.#key));
    /** @type {[string, string][]} */
    const facts = [
      ['Messages', session.unreachable ? `${text}: ${session.unreachable}` : `${text}. ${means}`],
      ['Pending', session.pending > 0 ? `${session.pending} pending` : ''],
      ['State', [session.state, session.evidence, session.silent ? 'no report for ten minutes' : ''].filter(Boolean).join(', ')],
      ['Id', session.id === session.name ? '' : session.id],
      ['Also called', (session.aliases ?? []).join(', ')],
    ];
    const present = facts.filter(([, value]) => value !== '');
    updateList(this.#facts, present, ([name]) => name, ([name]) => h('div', {}, h('dt', {}, name), h('dd')), (line, [, value]) => setText(/** @type {Element} */ (line.lastElementChild), value));
  }

  /** @param {Session} session */
  #update(session) {
    const { store } = this;
    const listeners = session.listeners ?? [];
    for (const part of [this.#listenersHeading, this.#listeners]) setProperty(part, 'hidden', listeners.length === 0);
    updateList(this.#listeners, listeners, ({ caller, until }) => `${caller} ${until ?? ''}`, (listener) => this.#listener(listener), () => {});
    const compose = /** @type {HubCompose} */ (this.#compose.firstElementChild);
    compose.session = session;
    compose.hidden = session.phase.name === 'gone';
    this.#mute.show({ project: session.project, id: session.id });
    const commands = [...locationCommands(session, store.info?.host), lookCommand(session.name, session.project)];
    this.#location.show(session, commands);
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
        store.sessions.set(this.#key, { ...session, listeners: others });
        store.changed('sessions');
        this.#heading.focus();
      });
    });
  }
}

customElements.define('hub-session', HubSession);
