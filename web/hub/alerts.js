/** Alerts the person outside the page: title, icon, badge, browser notifications, sound. */

import {
  alertFor,
  alertForRest,
  callsOf,
  iconState,
  iconUrl,
  MORE,
  pageTitle,
  selectAlerts,
} from "../core/alerts.js";
import { display } from "./display.js";
import { isFocused, trackFocus } from "./focus.js";
import { Problem } from "./problem.js";
import { queueNow } from "./queue.js";
import { alertBySound } from "./sound.js";
import { canNotify, workerRegistration } from "./worker.js";

/** @import { Call } from '../core/alerts.js' */
/** @import { Store } from './store.js' */

/**
 * A click, as the service worker reports it, with the words that were shown.
 *
 * @typedef {object} Click
 * @property {'answer'|'open'} kind
 * @property {number} id
 * @property {string} title
 * @property {string} body
 * @property {string} label
 * @property {import('../core/types.js').Schemas['Answer']} answer
 */

/** The tag of the notification that the person is signed out. */
const SIGNED_OUT = "signed-out";

/**
 * Whether this browser shows notifications of this page.
 *
 * @returns {'granted'|'denied'|'default'|'missing'}
 */
export function permission() {
  return canNotify() ? Notification.permission : "missing";
}

/** Asks the person for permission: call it from a click only. */
export async function askPermission() {
  if (permission() === "default") await Notification.requestPermission();
  if (permission() === "granted") workerRegistration();
  return permission();
}

export class Alerts {
  /** The calls so far, by tag; null until the data is loaded. @type {Map<string, Call>|null} */
  #known = null;
  /** When the page was opened, in ms. */
  #openedAt = Date.now();
  /** Notifications are shown and closed in this order. @type {Promise<unknown>} */
  #queue = Promise.resolve();

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
  }

  /** Watches the store until its session ends. */
  start() {
    const { store } = this;
    const signal = store.closed;
    trackFocus(store.api, signal);
    const stop = store.watch(["needs", "sessions", "feed", "connection"], () =>
      this.#update(),
    );
    navigator.serviceWorker?.addEventListener(
      "message",
      (event) => this.#receive(event),
      { signal },
    );
    // The message lets the worker close what no page could close any more.
    addEventListener(
      "pagehide",
      () => navigator.serviceWorker?.controller?.postMessage("leaving"),
      { signal },
    );
    signal.addEventListener("abort", () => {
      stop();
      showInTab(0, "signed-out");
    });
  }

  /** Says that the session is over, also to a person who is elsewhere. */
  signOut() {
    const { access, isLeader, preferences } = this.store;
    if (!isLeader || preferences.notify.length === 0) return;
    this.#change(async (registration) => {
      for (const shown of await registration.getNotifications()) shown.close();
      if (await isFocused()) return;
      const command = access ? "hubctl phone" : "hubctl dashboard";
      const body = `The session has ended. To be notified again, run ${command}.`;
      await display(registration, "hub: signed out", {
        tag: SIGNED_OUT,
        body,
        data: { id: null },
      });
    });
  }

  /** Updates the title and the icon, calls the person for new needs, and closes notifications of settled ones. */
  #update() {
    const { store } = this;
    const { open } = queueNow(store);
    showInTab(
      open.length,
      iconState(
        open.map(({ need }) => need.kind),
        store.connection.state,
      ),
    );
    if (!store.ready) return;
    const calls = callsOf(store.needs, store.onlyReads);
    const before = this.#known;
    this.#known = new Map(calls.map((call) => [call.tag, call]));
    // Needs from before the page was opened are in the page, which the person has just opened.
    const isNew = (/** @type {Call} */ { tag, ts }) =>
      before ? !before.has(tag) : Date.parse(ts) > this.#openedAt;
    if (store.isLeader) this.#call(calls.filter(isNew));
    this.#replace(
      calls.filter(
        ({ tag, answers }) =>
          before?.has(tag) && !isEqual(before.get(tag)?.answers, answers),
      ),
    );
    if (!before || [...before.keys()].some((tag) => !this.#isOpen(tag)))
      this.#closeSettled();
  }

  /** @param {Call[]} calls that are new */
  #call(calls) {
    const { store } = this;
    const { show, more, sound } = selectAlerts(store.preferences, calls);
    if (sound) alertBySound(sound);
    if (show.length === 0) return;
    this.#change(async (registration) => {
      if (await isFocused()) return;
      for (const call of show.filter(({ tag }) => this.#isOpen(tag))) {
        const { title, options } = alertFor(call);
        await display(registration, title, options);
      }
      const rest = alertForRest(more);
      if (more > 0) await display(registration, rest.title, rest.options);
    });
  }

  /** @param {string} tag */
  #isOpen(tag) {
    return this.#known?.has(tag) ?? false;
  }

  /** Shows other buttons: an agent waits for a permission only for some time. @param {Call[]} calls */
  #replace(calls) {
    if (calls.length === 0) return;
    this.#change(async (registration) => {
      for (const call of calls) {
        const { title, options } = alertFor(call);
        const isShown =
          (await registration.getNotifications({ tag: call.tag })).length > 0;
        if (isShown && this.#isOpen(call.tag))
          await display(registration, title, options);
      }
    });
  }

  #closeSettled() {
    this.#change(async (registration) => {
      for (const shown of await registration.getNotifications()) {
        const isOpen =
          shown.tag === MORE
            ? (this.#known?.size ?? 0) > 0
            : this.#isOpen(shown.tag);
        if (!isOpen) shown.close();
      }
    });
  }

  /**
   * Changes what is shown, after the previous changes.
   *
   * @param {(registration: ServiceWorkerRegistration) => Promise<void>} change
   */
  #change(change) {
    if (permission() !== "granted") return;
    this.#queue = this.#queue
      .then(async () => change(await workerRegistration()))
      .catch((error) => console.warn("a notification is not shown", error));
  }

  /**
   * Takes a click on a notification from the service worker.
   *
   * @param {MessageEvent<Click>} event
   */
  #receive({ data, ports }) {
    if (data.kind === "open" && data.id !== null) openNotification(data.id);
    // One tab answers: the one that reads the stream.
    if (data.kind !== "answer" || !this.store.isLeader) return;
    const asShown = this.#isAsShown(data);
    // Else the worker opens what it is about: only the worker can give a page the focus.
    ports[0]?.postMessage(asShown);
    if (asShown) this.#answer(data.id, data.label, data.answer);
  }

  /**
   * Whether the person answered what this page would have shown. Every program that can read the hub's files can push, so the
   * words beside a button may belong to another need.
   *
   * @param {Click} click
   */
  #isAsShown({ id, title, body, label, answer }) {
    const call = callsOf(this.store.needs).find((it) => it.id === id);
    // Settled, or not known here yet: no words of this page belong to it.
    if (!call) return false;
    const own = alertFor(call);
    const answers = Object.values(own.options.data.answers);
    return (
      own.title === title &&
      own.options.body === body &&
      answers.some((it) => isEqual(it, { label, answer }))
    );
  }

  /**
   * @param {number} id
   * @param {string} label
   * @param {import('../core/types.js').Schemas['Answer']} answer
   */
  async #answer(id, label, answer) {
    const { store } = this;
    try {
      await store.api.post(`/needs/${id}/answer`, { ...answer, revision: id });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { message } = error;
      store.toast(`Not answered: ${message}`, { problem: error });
      this.#change((registration) =>
        display(registration, `Not answered: ${label}`, {
          tag: String(id),
          body: message,
          data: { id },
        }),
      );
    }
  }
}

/** @param {unknown} a @param {unknown} b */
function isEqual(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Shows a notification in the page, as a link to it does.
 *
 * @param {number} id
 */
export function openNotification(id) {
  history.pushState(null, "", `${location.pathname}?id=${id}`);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** @type {HTMLLinkElement|null} */
let link = null;
let badge = -1;

/**
 * @param {number} count
 * @param {import('../core/alerts.js').IconState} state
 */
function showInTab(count, state) {
  document.title =
    state === "signed-out" ? "hub: signed out" : pageTitle(count);
  link ??= document.querySelector('link[rel="icon"]');
  const url = iconUrl(count, state);
  if (link && link.href !== url) link.href = url;
  if (badge === count) return;
  badge = count;
  // The badge of an installed page. A browser may refuse it.
  navigator.setAppBadge?.(count).catch(() => {});
}
