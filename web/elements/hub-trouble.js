/** A session in trouble: it failed, died at work, or fell silent. */

import './hub-compose.js';
import './hub-location.js';
import { h } from './dom.js';
import { revealHidden, setProperty, setScrollable, setText, stateBadge } from './parts.js';
import { contextOf } from './hub-question.js';
import { linked } from './rich-text.js';
import { StoreElement } from './store-element.js';
import { setTime, timeElement } from './time.js';
import { locationCommands, lookCommand } from '../core/commands.js';
import { oneLine } from '../core/sessions.js';
import { showDirection } from '../core/tool.js';
import { withMute } from '../core/mutes.js';
import { setMarks } from '../hub/marks.js';

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Session } from '../core/types.js' */
/** @import { HubLocation } from './hub-location.js' */

export class HubTrouble extends StoreElement {
  /** @type {AttentionItem|null} */
  #item = null;
  #head = h('header');
  #project = h('span', { class: 'project' });
  #text = h('p', { class: 'text' });
  #shownText = '';
  #time = timeElement('', () => this.store.now());
  #until = timeElement('', () => this.store.now(), 'left');
  #wait = h('p', { class: 'muted', hidden: true }, 'It may go on: ', this.#until);
  #muteButton = h('button', { class: 'small', title: 'Shows only its questions here, and no browser notifications', onclick: () => this.#mute() }, 'Mute for 1 h');
  #readButton = h('button', { class: 'small', onclick: () => this.#markSeen(this.#item?.notification?.id ?? 0) }, 'Mark read');
  #compose = h('div', { class: 'more', hidden: true });
  #location = h('div', { class: 'more', hidden: true });

  /** Never a draft: the card of the session keeps its own. */
  get draft() {
    return '';
  }

  /**
   * @param {AttentionItem} item
   * @param {string} projectTitle
   */
  show(item, projectTitle) {
    if (!this.#item) this.#build(item);
    this.#item = item;
    setText(this.#project, projectTitle);
    setTime(this.#time, item.ts);
    setProperty(this.#wait, 'hidden', item.until === undefined);
    if (item.until !== undefined) setTime(this.#until, item.until);
    // A mark does not end a failure that the session itself has to overcome.
    const canRead = item.kind !== 'silent' && item.notification !== undefined && !item.notification.seen;
    setProperty(this.#readButton, 'hidden', !canRead);
    setProperty(this.#muteButton, 'hidden', canRead);
    const text = itemText(item);
    if (this.#shownText === text) return;
    this.#shownText = text;
    setScrollable(this.#text, text);
    this.#text.replaceChildren(...(item.title ? [h('strong', {}, ...revealHidden(item.title)), '\n'] : []), ...linked(text, contextOf(this.store, item.session)));
  }

  /** @param {AttentionItem} item */
  #build({ kind, name, project, session }) {
    const title = h('h3', {}, name);
    this.ariaLabel = `${kind} of ${name}`;
    this.#muteButton.ariaLabel = `Mute for 1 h, ${name}`;
    this.#readButton.ariaLabel = `Mark read, ${name}`;
    this.#project.title = showDirection(project);
    this.#head.append(
      stateBadge({ state: kind, text: kind }),
      title,
      this.#project,
      this.#time,
    );
    this.replaceChildren(
      this.#head,
      this.#text,
      this.#wait,
      h(
        'footer',
        {},
        this.#muteButton,
        this.#readButton,
        session && kind !== 'gone' && this.#disclosure('Message', this.#compose, () => h('hub-compose', { store: this.store, session })),
        session && this.#disclosure('Location', this.#location, () => this.#buildLocation(session, project)),
      ),
      this.#compose,
      this.#location,
    );
  }

  /**
   * A button that shows and hides an element, which is created when it is first shown.
   *
   * @param {string} text
   * @param {HTMLElement} element
   * @param {() => HTMLElement} create
   */
  #disclosure(text, element, create) {
    const button = h('button', { class: 'ghost small', 'aria-label': `${text}, ${this.#head.querySelector('h3')?.textContent}`, 'aria-expanded': 'false' }, text);
    button.addEventListener('click', () => {
      if (!element.firstChild) element.append(create());
      element.hidden = !element.hidden;
      button.ariaExpanded = String(!element.hidden);
    });
    return button;
  }

  /**
   * @param {Session} session
   * @param {string} project
   */
  #buildLocation(session, project) {
    const location = /** @type {HubLocation} */ (document.createElement('hub-location'));
    location.show(session, [...locationCommands(session, this.store.info?.host), lookCommand(session.name, project)]);
    return location;
  }

  /** @param {number} id */
  async #markSeen(id) {
    const { store } = this;
    const name = this.#item?.name ?? '';
    if (await setMarks(store, [id], true)) {
      store.toast(`${name}’s error is marked as read.`, { undo: () => setMarks(store, [id], false) });
    }
  }

  #mute() {
    const { store } = this;
    const session = this.#item?.session;
    if (!session) return;
    const before = store.preferences;
    store.attempt(async () => {
      await store.savePreferences(withMute(before, session, 'hour', store.now()));
      store.toast(`${session.name} is muted for 1 h.`, { undo: () => store.attempt(() => store.savePreferences(before)) });
    });
  }
}

/** @param {AttentionItem} item */
function itemText({ kind, text, name, session }) {
  const line = oneLine(text, name);
  if (kind !== 'silent') return line === text ? text : capitalize(line);
  const since = [line && `“${line}”`, session?.evidence && `(${session.evidence})`].filter(Boolean).join(' ');
  return `Still working, without a report since ${since || 'it began'}.`;
}

/** @param {string} text */
function capitalize(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

customElements.define('hub-trouble', HubTrouble);
