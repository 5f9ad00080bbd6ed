/** Alerts the person outside the page: title, icon, browser notifications, sound. */

import { choose, icon, isOver, mood, notice, rest, title, tones } from '../core/attend.js';
import { needs } from '../core/needs.js';
import { finder } from '../core/sessions.js';

/**
 * @typedef {import('../core/types.js').Notification} News
 * @typedef {import('../core/types.js').Kind} Kind
 * @typedef {import('./store.js').Store} Store
 */

/** The number of settled ids to remember, for notifications that are settled before they are shown. */
const MEMORY = 1000;
/** The shortest pause between two sounds, in ms. */
const PAUSE = 1500;

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
export async function play(kind) {
  audio ??= new AudioContext();
  if (audio.state !== 'running') {
    // Without a gesture this promise stays pending; then no sound is played, not even later.
    await Promise.race([audio.resume(), new Promise((resolve) => setTimeout(resolve, 200))]);
    if (/** @type {string} */ (audio.state) !== 'running') return false;
  }
  for (const { hz, at, lasts } of tones(kind)) tone(audio, hz, audio.currentTime + at, lasts);
  return true;
}

/**
 * @param {AudioContext} context
 * @param {number} hz
 * @param {number} at
 * @param {number} lasts
 */
function tone(context, hz, at, lasts) {
  const source = new OscillatorNode(context, { type: 'sine', frequency: hz });
  const volume = new GainNode(context, { gain: 0 });
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(0.2, at + 0.015);
  volume.gain.exponentialRampToValueAtTime(0.001, at + lasts);
  source.connect(volume).connect(context.destination);
  source.start(at);
  source.stop(at + lasts);
}

export class Attention {
  /** @type {Map<number, Notification>} */
  #shown = new Map();
  /** @type {Set<number>} */
  #settled = new Set();
  #sounded = -Infinity;

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
  }

  /** Watches the store until its session ends. */
  start() {
    const { store } = this;
    const signal = store.closed;
    const stop = store.watch(['questions', 'sessions', 'feed', 'connection'], () => this.#look());
    store.addEventListener('arrived', (event) => this.#arrived(/** @type {CustomEvent} */ (event).detail.notifications), { signal });
    store.addEventListener('settled', (event) => this.#forget(/** @type {CustomEvent} */ (event).detail.ids), { signal });
    // A browser notification that outlives its page could not be closed once it is settled.
    addEventListener('pagehide', () => this.#close([...this.#shown.keys()]), { signal });
    signal.addEventListener('abort', () => {
      stop();
      this.#close([...this.#shown.keys()]);
      show(0, 'calm');
    });
  }

  /** Updates the title and the icon, and closes browser notifications that no longer need the person. */
  #look() {
    const { store } = this;
    const kinds = needs(store).map(({ kind }) => kind);
    show(kinds.length, mood(kinds, store.connection.state));
    this.#close([...this.#shown.keys()].filter((id) => this.#over(id)));
  }

  /** @param {number} id */
  #over(id) {
    return this.#settled.has(id) || isOver(this.store.feed.get(id), this.store.questions.get(id));
  }

  /** @param {News[]} news */
  #arrived(news) {
    const { store } = this;
    const find = finder([...store.sessions.values()]);
    const open = news.filter(({ id }) => !this.#over(id));
    // Mutes name a session by its id, but a notification's sender may be another name of it.
    const known = open.map((one) => ({ ...one, session: find(one.project, one.session ?? one.from)?.id ?? one.session }));
    const { show, more, sound } = choose(store.preferences, known, store.now());
    if (permission() === 'granted') {
      for (const one of show) this.#notify(one);
      if (more) point(new Notification(rest(more).title, rest(more).options), null);
    }
    if (sound && performance.now() - this.#sounded > PAUSE) {
      this.#sounded = performance.now();
      play(sound);
    }
  }

  /** @param {News} one */
  #notify(one) {
    const { title, options } = notice(one);
    const shown = new Notification(title, options);
    this.#shown.set(one.id, shown);
    shown.addEventListener('close', () => this.#shown.get(one.id) === shown && this.#shown.delete(one.id));
    point(shown, one.id);
  }

  /** @param {number[]} ids */
  #forget(ids) {
    for (const id of ids) this.#settled.add(id);
    for (const id of this.#settled) {
      if (this.#settled.size <= MEMORY) break;
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
function point(shown, id) {
  shown.addEventListener('click', () => {
    window.focus();
    shown.close();
    if (id !== null) showItem(id);
  });
}

/**
 * Shows a notification in the page, as a link to it does.
 *
 * @param {number} id
 */
export function showItem(id) {
  const url = new URL(location.href);
  url.searchParams.set('id', String(id));
  history.pushState(null, '', url);
  dispatchEvent(new PopStateEvent('popstate'));
}

/** @type {HTMLLinkElement|null} */
let link = null;

/**
 * @param {number} count
 * @param {import('../core/attend.js').Mood} mood
 */
function show(count, mood) {
  document.title = title(count);
  link ??= document.querySelector('link[rel="icon"]');
  const url = icon(count, mood);
  if (link && link.href !== url) link.href = url;
}
