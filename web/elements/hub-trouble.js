/** A session in trouble: it failed, died at work, or fell silent. */

import './hub-compose.js';
import './hub-where.js';
import { h } from './dom.js';
import { long, plain, say, stateBadge } from './parts.js';
import { setTime, timeElement } from './time.js';
import { wayToLook, waysThere } from '../core/commands.js';
import { oneLine } from '../core/sessions.js';
import { muted } from '../core/mutes.js';
import { mark } from '../hub/marks.js';

/**
 * @typedef {import('../core/needs.js').Need} Need
 * @typedef {import('../core/types.js').Session} Session
 * @typedef {import('./hub-where.js').HubWhere} HubWhere
 */

export class HubTrouble extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  /** @type {Need|null} */
  #need = null;
  #head = h('header');
  #project = h('span', { class: 'project' });
  #text = h('p', { class: 'text' });
  #said = '';
  #time = timeElement('', () => this.store?.now() ?? Date.now());
  #compose = h('div', { class: 'more', hidden: true });
  #where = h('div', { class: 'more', hidden: true });

  /** Never a draft: the card of the session keeps its own. */
  get draft() {
    return '';
  }

  /**
   * @param {Need} need
   * @param {string} place the project, short
   */
  show(need, place) {
    if (!this.#need) this.#build(need);
    this.#need = need;
    say(this.#project, place);
    setTime(this.#time, need.ts);
    const text = textOf(need);
    if (this.#said === text) return;
    this.#said = text;
    long(this.#text, text);
    this.#text.replaceChildren(...(need.title ? [h('strong', {}, ...plain(need.title)), '\n'] : []), ...plain(text));
  }

  /** @param {Need} need */
  #build({ key, kind, name, project, session, notification }) {
    const title = h('h3', { id: `need-${key.replace(/\W/g, '-')}` }, name);
    this.setAttribute('aria-labelledby', title.id);
    this.#project.title = project;
    this.#head.append(
      stateBadge({ state: kind, text: kind }),
      title,
      this.#project,
      this.#time,
    );
    this.replaceChildren(
      this.#head,
      this.#text,
      h(
        'footer',
        {},
        kind === 'silent'
          ? h('button', { class: 'small', title: 'No notifications of it, and only its questions here', onclick: () => this.#mute() }, 'Mute for 1 h')
          : notification && h('button', { class: 'small', onclick: () => this.#seen(notification.id) }, 'Mark seen'),
        session && kind !== 'gone' && this.#opener('Message', this.#compose, () => h(/** @type {any} */ ('hub-compose'), { store: this.store, session })),
        session && this.#opener(kind === 'gone' ? 'Where it ran' : 'Where it runs', this.#where, () => this.#place(session, project)),
      ),
      this.#compose,
      this.#where,
    );
  }

  /**
   * A button that shows and hides an element, which is created when it is first shown.
   *
   * @param {string} text
   * @param {HTMLElement} what
   * @param {() => HTMLElement} make
   */
  #opener(text, what, make) {
    const button = h('button', { class: 'quiet small', 'aria-expanded': 'false' }, text);
    button.addEventListener('click', () => {
      if (!what.firstChild) what.append(make());
      what.hidden = !what.hidden;
      button.ariaExpanded = String(!what.hidden);
    });
    return button;
  }

  /**
   * @param {Session} session
   * @param {string} project
   */
  #place(session, project) {
    const where = /** @type {HubWhere} */ (document.createElement('hub-where'));
    where.show(session, [...waysThere(session, this.store?.about?.host), wayToLook(session.name, project)]);
    return where;
  }

  /** @param {number} id */
  async #seen(id) {
    const { store } = this;
    const name = this.#need?.name ?? '';
    if (store && (await mark(store, [id], true))) {
      store.toast(`${name}’s error is marked as seen.`, { undo: () => mark(store, [id], false) });
    }
  }

  #mute() {
    const { store } = this;
    const session = this.#need?.session;
    if (!store || !session) return;
    const before = store.preferences;
    store.attempt(async () => {
      await store.savePreferences(muted(before, session, 'hour', store.now()));
      store.toast(`${session.name} is muted for 1 h.`, { undo: () => store.attempt(() => store.savePreferences(before)) });
    });
  }
}

/** @param {Need} need */
function textOf({ kind, text, name, session }) {
  const line = oneLine(text, name);
  if (kind !== 'silent') return line === text ? text : upper(line);
  const since = [line && `“${line}”`, session?.evidence && `(${session.evidence})`].filter(Boolean).join(' ');
  return `At work, but not a word since ${since || 'it began'}.`;
}

/** @param {string} text */
function upper(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

customElements.define('hub-trouble', HubTrouble);
