/** One row of the feed: text, sender, time. Rows are reused for other notifications, so every part is set each time. */

import { h } from './dom.js';
import { setTime, timeElement } from './time.js';
import { sender } from '../core/said.js';

/**
 * @typedef {import('../core/rows.js').Row} Row
 * @typedef {import('../core/types.js').Notification} Notification
 */

/** The number of characters of a text that a row can show. */
const LONGEST = 400;
/** The maximum of ids that a row carries as an attribute. */
const MOST_IDS = 1000;

/** The word for a final status that the rest of the row does not show. @type {Partial<Record<string, string>>} */
const SETTLED = { superseded: 'replaced', withdrawn: 'withdrawn', expired: 'expired', evicted: 'evicted', dropped: 'dropped', answered: 'answered' };

export class HubRow extends HTMLElement {
  /** @type {Row|null} */
  row = null;
  #mark = h('button', { class: 'mark', tabindex: '-1' });
  #type = h('span', { class: 'type' });
  #from = h('span', { class: 'from' });
  #project = h('span', { class: 'project' });
  #title = h('b', {});
  #text = document.createTextNode('');
  #what = h('a', { class: 'what', tabindex: '-1' }, this.#title, this.#text);
  #flags = h('span', { class: 'flags' });
  /** @type {HTMLTimeElement|null} */
  #time = null;

  #build() {
    this.setAttribute('role', 'article');
    this.append(this.#mark, this.#type, h('span', { class: 'who' }, this.#from, this.#project), this.#what, this.#flags);
  }

  /**
   * @param {Row} row
   * @param {{index: number, setSize: number, open: number, now: () => number}} look
   */
  show(row, { index, setSize, open, now }) {
    const [said] = row.items;
    const unseen = row.items.some((item) => !item.seen);
    if (!this.row) this.#build();
    this.row = row;
    this.#attributes(row, unseen, index, setSize);
    this.toggleAttribute('data-open', row.items.some((item) => item.id === open));
    write(this.#type, said.type);
    write(this.#from, sender(said));
    this.#from.title = said.from;
    write(this.#project, place(said.project));
    this.#project.title = said.project;
    write(this.#title, said.title ?? '');
    const text = oneLine(said.msg);
    if (this.#text.data !== text) this.#text.data = text;
    this.#what.href = `?id=${said.id}`;
    write(this.#flags, flags(row));
    this.#mark.title = unseen ? 'Mark seen' : 'Mark not seen';
    this.#mark.setAttribute('aria-label', this.#mark.title);
    if (this.#time) setTime(this.#time, said.ts);
    else this.append((this.#time = timeElement(said.ts, now)));
  }

  /**
   * @param {Row} row
   * @param {boolean} unseen
   * @param {number} index
   * @param {number} setSize
   */
  #attributes(row, unseen, index, setSize) {
    const [said] = row.items;
    const ids = row.items.slice(0, MOST_IDS).map((item) => item.id);
    put(this, 'data-id', String(said.id));
    put(this, 'data-ids', ids.join(' '));
    put(this, 'data-type', said.type);
    put(this, 'data-priority', said.priority);
    put(this, 'data-status', said.status ?? '');
    put(this, 'aria-posinset', String(index + 1));
    put(this, 'aria-setsize', String(setSize));
    put(this, 'aria-label', label(row, unseen));
    this.toggleAttribute('data-unseen', unseen);
  }
}

/**
 * @param {Row} row
 * @param {boolean} unseen
 */
function label(row, unseen) {
  const [said] = row.items;
  const what = said.title ? `${said.title}: ${oneLine(said.msg)}` : oneLine(said.msg);
  return [unseen && 'Not seen', said.priority === 'urgent' && 'urgent', `${said.type} from ${sender(said)}`, flags(row), what]
    .filter(Boolean)
    .join(', ');
}

/** @param {Row} row */
function flags({ items, key }) {
  const [said] = items;
  const changed = key === undefined ? `×${items.length}` : `updated ×${items.length - 1}`;
  const urgent = said.priority === 'urgent' || said.priority === 'high' ? said.priority : '';
  return [urgent, items.length > 1 && changed, SETTLED[said.status ?? '']].filter(Boolean).join(' · ');
}

/** @param {string} msg */
function oneLine(msg) {
  return msg.slice(0, LONGEST).replace(/\s+/g, ' ').trim();
}

/**
 * The last part of a project's path.
 *
 * @param {string} project
 */
function place(project) {
  return project.slice(project.replace(/\/+$/, '').lastIndexOf('/') + 1);
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string} value
 */
function put(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

customElements.define('hub-row', HubRow);
