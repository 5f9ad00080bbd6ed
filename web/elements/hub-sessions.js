/** All live sessions by project; ended sessions are folded. */

import { HubSession, keyOf } from './hub-session.js';
import { h, keyed } from './dom.js';
import { put, say, setState, stateBadge } from './parts.js';
import { setTime, timeElement } from './time.js';
import { ended, groups, isOver, shortPaths, stateOf } from '../core/sessions.js';

/**
 * @typedef {import('../core/types.js').Session} Session
 * @typedef {import('../core/sessions.js').Group} Group
 */

/** The number of ended sessions that are shown; the others are counted. */
const SHOWN = 100;

export class HubSessions extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  #groups = h('div', { class: 'groups' });
  #none = h('p', { class: 'muted', hidden: true }, 'No session runs. Those with hooks appear by themselves: hubctl hooks install claude.');
  #count = h('summary');
  #over = h('div', { role: 'list', class: 'over' });
  #older = h('p', { class: 'muted' });
  #fold = h('details', { class: 'ended', hidden: true, ontoggle: () => this.#ended() }, this.#count, this.#over, this.#older);
  #stop = () => {};

  connectedCallback() {
    const store = this.store;
    if (!store) return;
    if (!this.firstChild) this.append(this.#none, this.#groups, this.#fold);
    this.#stop = store.watch(['sessions', 'feed', 'waiters', 'preferences', 'about'], () => this.#render());
  }

  disconnectedCallback() {
    this.#stop();
  }

  #render() {
    const { store } = this;
    if (!store?.ready) return;
    const found = groups(store.sessions.values());
    put(this.#none, 'hidden', found.length > 0);
    keyed(this.#groups, found, ({ project }) => project, () => this.#group(), (element, group) => this.#fill(element, group));
    this.#ended();
  }

  #group() {
    const heading = h('h3');
    return h('div', { class: 'group' }, h('header', {}, heading, h('span', { class: 'muted' })), h('div', { class: 'panel', role: 'list' }));
  }

  /**
   * @param {HTMLElement} element
   * @param {Group} group
   */
  #fill(element, { project, title, count, nodes }) {
    const { store } = this;
    const [header, list] = /** @type {any} */ (element.children);
    const [heading, counted] = header.children;
    put(heading, 'title', project);
    say(heading, title);
    say(counted, count === 1 ? '1 session' : `${count} sessions`);
    put(list, 'ariaLabel', `Sessions of ${title}`);
    if (store) keyed(list, nodes, keyOf, () => HubSession.of(store), (card, node) => card.show(node));
  }

  #ended() {
    const { store } = this;
    if (!store) return;
    const all = [...store.endedSessions.values(), ...store.sessions.values()];
    const count = all.filter(isOver).length;
    put(this.#fold, 'hidden', count === 0);
    say(this.#count, `${count} ended`);
    if (!this.#fold.open) return;
    const over = ended(all);
    const shown = over.slice(0, SHOWN);
    const titles = shortPaths(shown.map(({ project }) => project));
    keyed(
      this.#over,
      shown,
      (session) => `${session.project}/${session.id}`,
      (session) => this.#line(session),
      (line, session) => this.#renew(line, session, titles.get(session.project) ?? session.project),
    );
    say(this.#older, over.length > SHOWN ? `And ${over.length - SHOWN} before.` : '');
  }

  /** @param {Session} session */
  #line(session) {
    const at = session.since ?? session.last_seen ?? '';
    return h(
      'div',
      { role: 'listitem' },
      h('span', { class: 'name' }),
      h('span', { class: 'muted project' }),
      stateBadge(stateOf(session)),
      timeElement(at, () => this.store?.now() ?? Date.now(), 'ago'),
    );
  }

  /**
   * @param {HTMLElement} line
   * @param {Session} session
   * @param {string} title
   */
  #renew(line, session, title) {
    const [name, project, state, time] = /** @type {any} */ (line.children);
    say(name, session.name);
    say(project, title);
    put(project, 'title', session.project);
    setState(state, stateOf(session));
    setTime(time, session.since ?? session.last_seen ?? '');
  }
}

customElements.define('hub-sessions', HubSessions);
