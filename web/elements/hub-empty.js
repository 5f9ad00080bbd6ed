/** The page of a hub without notifications: the first steps, with this hub's own paths. */

import { h } from './dom.js';
import { copyable } from './copyable.js';
import { StoreElement } from './store-element.js';
import { cronLine, firstCommand } from '../core/commands.js';

export class HubEmpty extends StoreElement {
  connectedCallback() {
    this.hidden = true;
    this.watch(['feed', 'sessions', 'needs', 'info'], () => this.#render());
  }

  #render() {
    const { store } = this;
    this.hidden = !store.ready || store.feed.size > 0 || store.sessions.size > 0 || store.needs.length > 0;
    if (this.hidden) {
      this.replaceChildren();
    } else if (!this.firstChild) {
      this.append(this.#introduction());
    }
  }

  #introduction() {
    const hub = { origin: location.origin, stateDir: this.store.info?.state_dir ?? null };
    return h(
      'section',
      { class: 'introduction', 'aria-labelledby': 'introduction-title' },
      h('h2', { id: 'introduction-title' }, 'No agents and no notifications yet'),
      h('p', { class: 'summary' }, 'Agents appear here by themselves once their hooks are installed, and any program can publish notifications. Four ways to begin:'),
      h(
        'ol',
        {},
        step('Get notified by your agents', 'Their hooks report questions, waits, failures and completed work. Install them once, then start an agent as usual.', 'hubctl hooks install claude', 'Copy the hooks command', ' Also ', h('code', {}, 'codex'), ', ', h('code', {}, 'gemini'), ', ', h('code', {}, 'opencode'), ' and others.'),
        h('li', {}, h('h3', {}, 'See how a question works'), h('p', {}, 'It waits in the queue like one of an agent, until you answer it.'), h('button', { onclick: () => this.#ask() }, 'Send me a test question')),
        step('Publish a notification', 'Paste this into a terminal. It appears on this page.', firstCommand(hub), 'Copy the curl command'),
        step('Get notified about a job', 'Add this line with ', cronLine(hub), 'Copy the cron line', h('code', {}, 'crontab -e'), '. Replace ', h('code', {}, 'backup'), ' with your own command.'),
      ),
    );
  }

  #ask() {
    const question = { from: 'test', to: 'person', type: 'question', msg: 'This is a test. Which answer shall reach the agent?', options: ['This one', 'That one'] };
    return this.store.attempt(() => this.store.api.post('/notify', question));
  }
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} command
 * @param {string} label
 * @param {...(string|Node)} more
 */
function step(name, text, command, label, ...more) {
  return h('li', {}, h('h3', {}, name), h('p', {}, text, ...more), copyable(command, label));
}

customElements.define('hub-empty', HubEmpty);
