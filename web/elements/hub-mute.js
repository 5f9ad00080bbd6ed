/** Mutes or unmutes a session. */

import { h } from './dom.js';
import { runOnce } from './parts.js';
import { StoreElement } from './store-element.js';
import { timeElement } from './time.js';
import { DURATIONS, muteFor, withMute, withoutMute } from '../core/mutes.js';

/** @import { Preferences, Session } from '../core/types.js' */

export class HubMute extends StoreElement {
  #shown = '';

  /** @param {Session} session */
  show(session) {
    const { store } = this;
    const mute = muteFor(store.preferences, session, store.now());
    const now = JSON.stringify(mute ?? null);
    if (now === this.#shown) return;
    const focused = this.contains(document.activeElement);
    this.#shown = now;
    if (!mute) {
      const buttons = DURATIONS.map(({ span, text }) =>
        h('button', { class: 'small', onclick: () => this.#save(withMute(store.preferences, session, span, store.now())) }, text),
      );
      this.replaceChildren(h('span', { id: `mute-${session.id}` }, 'Mute'), h('div', { role: 'group', 'aria-label': 'Mute' }, ...buttons));
    } else {
      const left = mute.until ? [': ', timeElement(mute.until, () => store.now(), 'left')] : [' forever'];
      const own = Boolean(mute.session);
      this.replaceChildren(
        h('span', {}, own ? 'Muted' : 'Its project is muted (see Settings)', ...left),
        own ? h('button', { class: 'small', onclick: () => this.#save(withoutMute(store.preferences, session, store.now())) }, 'Unmute') : '',
      );
    }
    if (focused) this.querySelector('button')?.focus();
  }

  /** @param {Preferences} preferences */
  #save(preferences) {
    const { store } = this;
    runOnce(this, async () => void (await store.attempt(() => store.savePreferences(preferences))));
  }
}

customElements.define('hub-mute', HubMute);
