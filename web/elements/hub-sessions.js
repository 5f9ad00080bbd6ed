/** All live sessions by project; ended sessions are folded. */

import { HubSession, keyOf } from './hub-session.js';
import { h, updateList } from './dom.js';
import { setProperty, setState, setText, stateBadge } from './parts.js';
import { StoreElement } from './store-element.js';
import { setTime, timeElement } from './time.js';
import { groupByProject, isEnded, listEnded, shortPaths, stateLabel } from '../core/sessions.js';

/** @import { Group } from '../core/sessions.js' */
/** @import { Session } from '../core/types.js' */

/** The number of ended sessions that are shown; the others are counted. */
const SHOWN = 100;

export class HubSessions extends StoreElement {
  #groups = h('div', { class: 'groups' });
  #none = h('p', { class: 'muted', hidden: true }, 'No session is running. Sessions with hooks register themselves: hubctl hooks install claude.');
  #count = h('summary');
  #endedList = h('div', { role: 'list', class: 'ended-list' });
  #older = h('p', { class: 'muted' });
  #fold = h('details', { class: 'ended', hidden: true, ontoggle: () => this.#renderEnded() }, this.#count, this.#endedList, this.#older);

  connectedCallback() {
    if (!this.firstChild) this.append(this.#none, this.#groups, this.#fold);
    this.watch(['sessions', 'feed', 'waiters', 'preferences', 'info'], () => this.#render());
  }

  #render() {
    const { store } = this;
    if (!store.ready) return;
    const found = groupByProject(store.sessions.values());
    setProperty(this.#none, 'hidden', found.length > 0);
    updateList(this.#groups, found, ({ project }) => project, () => this.#group(), (element, group) => this.#updateGroup(element, group));
    this.#renderEnded();
  }

  #group() {
    const heading = h('h3');
    return h('div', { class: 'group' }, h('header', {}, heading, h('span', { class: 'muted' })), h('div', { class: 'panel', role: 'list' }));
  }

  /**
   * @param {HTMLElement} element
   * @param {Group} group
   */
  #updateGroup(element, { project, title, count, nodes }) {
    const { store } = this;
    const [header, list] = /** @type {any} */ (element.children);
    const [heading, counted] = header.children;
    setProperty(heading, 'title', project);
    setText(heading, title);
    setText(counted, count === 1 ? '1 session' : `${count} sessions`);
    setProperty(list, 'ariaLabel', `Sessions of ${title}`);
    updateList(list, nodes, keyOf, () => HubSession.create(store), (card, node) => card.show(node));
  }

  #renderEnded() {
    const { store } = this;
    const all = [...store.endedSessions.values(), ...store.sessions.values()];
    const count = all.filter(isEnded).length;
    setProperty(this.#fold, 'hidden', count === 0);
    setText(this.#count, `${count} ended`);
    if (!this.#fold.open) return;
    const over = listEnded(all);
    const shown = over.slice(0, SHOWN);
    const titles = shortPaths(shown.map(({ project }) => project));
    updateList(
      this.#endedList,
      shown,
      (session) => `${session.project}/${session.id}`,
      (session) => this.#line(session),
      (line, session) => this.#updateLine(line, session, titles.get(session.project) ?? session.project),
    );
    setText(this.#older, over.length > SHOWN ? `${over.length - SHOWN} older sessions are not shown.` : '');
  }

  /** @param {Session} session */
  #line(session) {
    const at = session.since ?? session.last_seen ?? '';
    return h(
      'div',
      { role: 'listitem' },
      h('span', { class: 'name' }),
      h('span', { class: 'muted project' }),
      stateBadge(stateLabel(session)),
      timeElement(at, () => this.store.now(), 'ago'),
    );
  }

  /**
   * @param {HTMLElement} line
   * @param {Session} session
   * @param {string} title
   */
  #updateLine(line, session, title) {
    const [name, project, state, time] = /** @type {any} */ (line.children);
    setText(name, session.name);
    setText(project, title);
    setProperty(project, 'title', session.project);
    setState(state, stateLabel(session));
    setTime(time, session.since ?? session.last_seen ?? '');
  }
}

customElements.define('hub-sessions', HubSessions);
