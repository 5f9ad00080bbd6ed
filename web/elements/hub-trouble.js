/** A session in trouble: it failed, died at work, or fell silent. */

import './hub-compose.js';
import './hub-where.js';
import { h } from './dom.js';
import { plain, say, stateBadge } from './parts.js';
import { wayToLook, waysThere } from '../core/commands.js';
import { oneLine } from '../core/sessions.js';
import { setTime, timeElement } from '../core/time.js';
import { muted } from '../core/mutes.js';
import { Past } from '../hub/past.js';

/**
 * @typedef {import('../core/needs.js').Need} Need
 * @typedef {import('./hub-where.js').HubWhere} HubWhere
 */

export class HubTrouble extends HTMLElement {
  /** @type {import('../hub/store.js').Store|null} */
  store = null;
  /** @type {Need|null} */
  #need = null;
  #head = h('header');
  #text = h('p', { class: 'text' });
  #more = h('div', { class: 'more', hidden: true });

  /** Trouble has no draft worth keeping when it is over: the card of its session has one. */
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
    this.querySelector('.project')?.replaceChildren(place);
    setTime(/** @type {HTMLTimeElement} */ (this.#head.lastElementChild), need.ts);
    const text = textOf(need);
    if (this.#text.textContent !== text) this.#text.replaceChildren(...plain(text));
  }

  /** @param {Need} need */
  #build({ key, kind, name, project, ts, session, notification }) {
    const store = this.store;
    const title = h('h3', { id: `need-${key.replace(/\W/g, '-')}` }, name);
    this.setAttribute('aria-labelledby', title.id);
    this.#head.append(
      stateBadge({ state: kind, text: kind }),
      title,
      h('span', { class: 'project', title: project }),
      timeElement(ts, () => store?.now() ?? Date.now()),
    );
    const open = h('button', { class: 'quiet small', 'aria-expanded': 'false' }, session && kind !== 'gone' ? 'Message, where it runs' : 'Where it ran');
    open.addEventListener('click', () => this.#open(open));
    this.replaceChildren(
      this.#head,
      this.#text,
      h(
        'footer',
        {},
        kind === 'silent'
          ? h('button', { class: 'small', title: 'No notifications of it, and only its questions here', onclick: () => this.#mute() }, 'Mute for 1 h')
          : notification && h('button', { class: 'small', onclick: () => this.#seen(notification.id) }, 'Mark seen'),
        session && open,
      ),
      this.#more,
    );
  }

  /** @param {HTMLButtonElement} button */
  #open(button) {
    const { session, name, project, kind } = this.#need ?? {};
    if (!session || !name || !project) return;
    if (!this.#more.firstChild) {
      const where = /** @type {HubWhere} */ (document.createElement('hub-where'));
      where.show(session, [...waysThere(session, this.store?.about?.host), wayToLook(name, project)]);
      if (kind !== 'gone') this.#more.append(h(/** @type {any} */ ('hub-compose'), { store: this.store, session }));
      this.#more.append(where);
    }
    this.#more.hidden = !this.#more.hidden;
    button.ariaExpanded = String(!this.#more.hidden);
    say(button, this.#more.hidden ? (kind === 'gone' ? 'Where it ran' : 'Message, where it runs') : 'Less');
  }

  /** @param {number} id */
  #seen(id) {
    const { store } = this;
    if (!store) return;
    const name = this.#need?.name ?? '';
    store.attempt(async () => {
      await Past.of(store).mark(id, true);
      store.toast(`${name}’s error is marked as seen.`, { undo: () => store.attempt(() => Past.of(store).mark(id, false)) });
    });
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
  if (kind !== 'silent') return oneLine(text, name) === text ? text : upper(oneLine(text, name));
  const last = text ? ` Its last word: ${oneLine(text, name)}` : '';
  return `It works, and nothing was heard of it${session?.evidence ? ` since its ${session.evidence}` : ''}.${last}`;
}

/** @param {string} text */
function upper(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

customElements.define('hub-trouble', HubTrouble);
