/** Alerts the person outside the page: title, icon, browser notifications, sound. */

import { alertFor, alertForRest, iconState, iconUrl, isSettled, pageTitle, selectAlerts, tones } from '../core/alerts.js';
import { attentionItems } from '../core/attention.js';
import { sessionFinder } from '../core/sessions.js';

/** @import { Kind } from '../core/types.js' */
/** @import { Store } from './store.js' */

/**
 * @typedef {import('../core/types.js').Notification} HubNotification
 */

/** The number of settled ids to remember, for notifications that are settled before they are shown. */
const MAX_SETTLED = 1000;
/** The shortest pause between two sounds, in ms. */
const SOUND_PAUSE = 1500;

/**
 * Whether this browser shows notifications of this page.
 *
 * @returns {'granted'|'denied'|'default'|'missing'}
 */
export function permission() {
  return 'Notification' in window ? Notification.permission : 'missing';
}

/** Asks the person for permission: call it from a click only. */
export async function askPermission() {
  if (permission() === 'default') await Notification.requestPermission();
  return permission();
}

/** @type {AudioContext|null} */
let audio = null;

/**
 * Plays the sound of a type. The browser blocks sounds until the person has used the page.
 *
 * @param {Kind} kind
 * @returns {Promise<boolean>} whether it was played
 */
export async function playSound(kind) {
  audio ??= new AudioContext();
  if (audio.state !== 'running') {
    // Without a gesture this promise stays pending; then no sound is played, not even later.
    await Promise.race([audio.resume(), new Promise((resolve) => setTimeout(resolve, 200))]);
    if (/** @type {string} */ (audio.state) !== 'running') return false;
  }
  for (const { hz, at, duration } of tones(kind)) playTone(audio, hz, audio.currentTime + at, duration);
  return true;
}

/**
 * @param {AudioContext} context
 * @param {number} hz
 * @param {number} at
 * @param {number} duration
 */
function playTone(context, hz, at, duration) {
  const source = new OscillatorNode(context, { type: 'sine', frequency: hz });
  const volume = new GainNode(context, { gain: 0 });
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(0.2, at + 0.015);
  volume.gain.exponentialRampToValueAtTime(0.001, at + duration);
  source.connect(volume).connect(context.destination);
  source.start(at);
  source.stop(at + duration);
}

export class Alerts {
  /** @type {Map<number, Notification>} */
  #shown = new Map();
  /** @type {Set<number>} */
  #settled = new Set();
  #lastSound = -Infinity;

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
  }

  /** Watches the store until its session ends. */
  start() {
    const { store } = this;
    const signal = store.closed;
    const stop = store.watch(['questions', 'sessions', 'feed', 'connection'], () => this.#update());
    store.addEventListener('arrived', (event) => this.#alert(/** @type {CustomEvent} */ (event).detail.notifications), { signal });
    store.addEventListener('settled', (event) => this.#settle(/** @type {CustomEvent} */ (event).detail.ids), { signal });
    // A browser notification that outlives its page could not be closed once it is settled.
    addEventListener('pagehide', () => this.#close([...this.#shown.keys()]), { signal });
    signal.addEventListener('abort', () => {
      stop();
      this.#close([...this.#shown.keys()]);
      showInTab(0, 'idle');
    });
  }

  /** Updates the title and the icon, and closes browser notifications that no longer need the person. */
  #update() {
    const { store } = this;
    const kinds = attentionItems(store).map(({ kind }) => kind);
    showInTab(kinds.length, iconState(kinds, store.connection.state));
    this.#close([...this.#shown.keys()].filter((id) => this.#isSettled(id)));
  }

  /** @param {number} id */
  #isSettled(id) {
    return this.#settled.has(id) || isSettled(this.store.feed.get(id), this.store.questions.get(id));
  }

  /** @param {HubNotification[]} notifications */
  #alert(notifications) {
    const { store } = this;
    const find = sessionFinder([...store.sessions.values()]);
    const open = notifications.filter(({ id }) => !this.#isSettled(id));
    // Mutes name a session by its id, but a notification's sender may be another name of it.
    const known = open.map((notification) => ({ ...notification, session: find(notification.project, notification.session ?? notification.from)?.id ?? notification.session }));
    const { show, more, sound } = selectAlerts(store.preferences, known, store.now());
    if (permission() === 'granted') {
      for (const notification of show) this.#show(notification);
      if (more) openOnClick(new Notification(alertForRest(more).title, alertForRest(more).options), null);
    }
    if (sound && performance.now() - this.#lastSound > SOUND_PAUSE) {
      this.#lastSound = performance.now();
      playSound(sound);
    }
  }

  /** @param {HubNotification} notification */
  #show(notification) {
    const { title, options } = alertFor(notification);
    const shown = new Notification(title, options);
    this.#shown.set(notification.id, shown);
    shown.addEventListener('close', () => this.#shown.get(notification.id) === shown && this.#shown.delete(notification.id));
    openOnClick(shown, notification.id);
  }

  /** @param {number[]} ids */
  #settle(ids) {
    for (const id of ids) this.#settled.add(id);
    for (const id of this.#settled) {
      if (this.#settled.size <= MAX_SETTLED) break;
      this.#settled.delete(id);
    }
    this.#close(ids);
  }

  /** @param {number[]} ids */
  #close(ids) {
    for (const id of ids) {
      this.#shown.get(id)?.close();
      this.#shown.delete(id);
    }
  }
}

/**
 * Makes a click on a browser notification open the page with that notification.
 *
 * @param {Notification} shown
 * @param {number|null} id
 */
function openOnClick(shown, id) {
  shown.addEventListener('click', () => {
    window.focus();
    shown.close();
    if (id !== null) openNotification(id);
  });
}

/**
 * Shows a notification in the page, as a link to it does.
 *
 * @param {number} id
 */
export function openNotification(id) {
  const url = new URL(location.href);
  url.searchParams.set('id', String(id));
  history.pushState(null, '', url);
  dispatchEvent(new PopStateEvent('popstate'));
}

/** @type {HTMLLinkElement|null} */
let link = null;

/**
 * @param {number} count
 * @param {import('../core/alerts.js').IconState} state
 */
function showInTab(count, state) {
  document.title = pageTitle(count);
  link ??= document.querySelector('link[rel="icon"]');
  const url = iconUrl(count, state);
  if (link && link.href !== url) link.href = url;
}
