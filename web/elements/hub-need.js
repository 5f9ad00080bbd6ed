/** What a session needs, or an urgent message: until the person says that it is done, or puts it off. */

import './hub-compose.js';
import './hub-location.js';
import { h } from './dom.js';
import { setProperty, setScrollable, setText, stateBadge } from './parts.js';
import { contextOf } from './hub-question.js';
import { showMarkdown } from './rich-text.js';
import { StoreElement } from './store-element.js';
import { setTime, timeElement } from './time.js';
import { locationCommands, lookCommand } from '../core/commands.js';
import { showDirection } from '../core/tool.js';

/** @import { AttentionItem } from '../core/attention.js' */
/** @import { Session } from '../core/types.js' */
/** @import { HubLocation } from './hub-location.js' */

/** How each kind is shown: the state that gives the colour, and the word. @type {Record<string, {state: string, text: string}>} */
const KINDS = {
  turn: { state: 'your_turn', text: 'your turn' },
  error: { state: 'error', text: 'error' },
  died: { state: 'gone', text: 'died' },
  limit: { state: 'silent', text: 'limit' },
  silent: { state: 'silent', text: 'silent' },
  urgent: { state: 'error', text: 'urgent' },
};
/** For how long a need is put off, in ms. */
const SNOOZE = 3_600_000;

export class HubNeed extends StoreElement {
  /** @type {AttentionItem|null} */
  #item = null;
  #head = h('header');
  #project = h('span', { class: 'project' });
  #text = h('div', { class: 'text' });
  #time = timeElement('', () => this.store.now());
  #until = timeElement('', () => this.store.now(), 'left');
  #wait = h('p', { class: 'muted', hidden: true }, 'It may go on: ', this.#until);
  #doneButton = h('button', { class: 'small', title: 'Ends it until the session reports something else', onclick: () => this.close('done') }, 'Done');
  #snoozeButton = h('button', { class: 'ghost small', title: 'Shows it again in an hour, unless the session goes on', onclick: () => this.close('snooze') }, 'Snooze 1 h');
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
    const until = item.need?.until;
    setProperty(this.#wait, 'hidden', until === undefined);
    if (until !== undefined) setTime(this.#until, until);
    setProperty(this.#snoozeButton, 'hidden', item.kind === 'urgent');
    const text = capitalize(item.text);
    setScrollable(this.#text, text);
    showMarkdown(this.#text, text, { store: this.store, context: contextOf(this.store, item.session) });
  }

  /** @param {AttentionItem} item */
  #build({ kind, name, project, session }) {
    const title = h('h3', {}, name);
    this.ariaLabel = `${KINDS[kind].text} of ${name}`;
    this.#doneButton.ariaLabel = `Done, ${name}`;
    this.#snoozeButton.ariaLabel = `Snooze 1 h, ${name}`;
    this.#project.title = showDirection(project);
    this.#head.append(
      stateBadge(KINDS[kind]),
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
        this.#doneButton,
        this.#snoozeButton,
        session && kind !== 'died' && this.#disclosure('Message', this.#compose, () => h('hub-compose', { store: this.store, session })),
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

  /**
   * Ends the need, or puts it off.
   *
   * @param {'done'|'snooze'} how
   */
  close(how) {
    const { store } = this;
    const { need, name = '' } = this.#item ?? {};
    if (!need || (how === 'snooze' && need.kind === 'urgent')) return;
    const body = how === 'snooze' ? { until: new Date(store.now() + SNOOZE).toISOString() } : undefined;
    const path = `/needs/${need.id}`;
    store.attempt(async () => {
      await store.api.post(`${path}/${how}`, body);
      // An acknowledged message does not come back.
      const undo = need.kind === 'urgent' ? undefined : () => store.attempt(() => store.api.delete(`${path}/done`));
      store.toast(how === 'done' ? `${name}: done.` : `${name} is put off for 1 h.`, { undo });
    });
  }
}

/** @param {string} text */
function capitalize(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

customElements.define('hub-need', HubNeed);
