/** The pane that shows one notification or one session in full, whichever the page's address names. */

import "./hub-details.js";
import "./hub-mute.js";
import "./hub-session.js";
import { onAddress, openPlace, setAddress, withPane } from "./address.js";
import { h } from "./dom.js";
import { StoreElement } from "./store-element.js";
import { actionOf } from "../core/keys.js";
import { toSearch } from "../core/filter.js";
import { setMarks } from "../hub/marks.js";

/** @import { Filter } from '../core/filter.js' */
/** @import { Notification } from '../core/types.js' */
/** @import { HubDetails } from './hub-details.js' */
/** @import { HubSession } from './hub-session.js' */

export class HubPane extends StoreElement {
  /** The notifications that the feed shows in one row with this one. @type {(id: number) => Notification[]} */
  itemsOf = () => [];
  /** Moves the focus back to the row that showed it; false if there is none. @type {(place: {id: number, agent: string}) => boolean} */
  focusBack = () => false;
  #place = { id: 0, agent: "" };
  /** The place whose notifications were marked as read when it was opened: it is done once. */
  #marked = "";
  /** @type {Element|null} */
  #opener = null;
  #details = /** @type {HubDetails} */ (
    h("hub-details", {
      hidden: true,
      onclose: () => this.#close(),
      onfollow: (/** @type {CustomEvent<number>} */ event) =>
        this.#open({ id: event.detail }),
      onrestrict: (/** @type {CustomEvent<Filter>} */ event) =>
        this.#restrict(event.detail),
    })
  );
  #session = /** @type {HubSession} */ (
    h("hub-session", { hidden: true, onclose: () => this.#close() })
  );

  #mute = /** @type {import('./hub-mute.js').HubMute} */ (
    document.createElement("hub-mute")
  );

  connectedCallback() {
    const { removed: signal, store } = this;
    this.#mute.store = store;
    this.#details.store = store;
    this.#session.store = store;
    if (!this.firstChild)
      this.append(
        h("h2", { class: "visually-hidden" }, "Selected"),
        this.#details,
        this.#session,
        this.#mute,
      );
    onAddress(() => this.#readAddress(), signal);
    document.addEventListener("keydown", (event) => this.#onKey(event), {
      signal,
    });
    this.#readAddress();
    this.watch(
      ["feed", "sessions", "needs", "waiters", "preferences", "info"],
      () => this.#render(),
    );
  }

  /** Moves the focus to the pane's heading. */
  focusHeading() {
    if (this.#place.id) this.#details.focusHeading();
    else this.#session.focusHeading();
  }

  #readAddress() {
    const place = openPlace();
    const before = this.#place;
    if (place.id === before.id && place.agent === before.agent) return;
    const wasOpen = before.id > 0 || before.agent !== "";
    const focused = this.contains(document.activeElement);
    if (!wasOpen) this.#opener = document.activeElement;
    this.#place = place;
    this.#marked = "";
    this.#render();
    const isOpen = place.id > 0 || place.agent !== "";
    if (isOpen || !focused || this.focusBack(before)) return;
    if (this.#opener instanceof HTMLElement && this.#opener.isConnected)
      this.#opener.focus();
  }

  #render() {
    const { store } = this;
    const { id, agent } = this.#place;
    this.hidden = !id && !agent;
    const app = this.closest("hub-app");
    if (app instanceof HTMLElement) {
      if (this.hidden) delete app.dataset.pane;
      else app.dataset.pane = id ? "notification" : "session";
    }
    const items = id ? this.#items() : [];
    this.#details.show(id, items);
    this.#showMute(items[0]);
    const session = agent
      ? (store.sessions.get(agent) ?? store.endedSessions.get(agent))
      : undefined;
    this.#session.hidden = !agent;
    if (agent) this.#session.show(agent, session);
    if (!store.ready) return;
    const last =
      session?.last === undefined
        ? undefined
        : store.notification(session.last);
    this.#markOnce(id ? items : last ? [last] : []);
  }

  /** Offers to mute the sender of a notification, also one that is not a session. @param {Notification} [notification] */
  #showMute(notification) {
    this.#mute.hidden = !notification || notification.from === "person";
    if (notification)
      this.#mute.show({
        project: notification.project,
        id: notification.session ?? notification.from,
      });
  }

  #items() {
    const { id } = this.#place;
    const own = this.store.feed.get(id);
    if (!own) return [];
    const items = this.itemsOf(id);
    return items.length > 0 ? items : [own];
  }

  /**
   * Marks what was opened as read, only once, so that the person can remove the mark.
   *
   * @param {Notification[]} items
   */
  #markOnce(items) {
    const opened = `${this.#place.id} ${this.#place.agent}`;
    if (items.length === 0 || this.#marked === opened) return;
    this.#marked = opened;
    const unseen = items.filter((item) => !item.seen).map((item) => item.id);
    if (unseen.length > 0) setMarks(this.store, unseen, true);
  }

  /** @param {{id?: number, agent?: string}} place */
  #open(place) {
    setAddress(withPane(place));
    this.focusHeading();
  }

  #close() {
    setAddress(withPane({}));
  }

  /** Closes the pane, because it may cover the feed, and restricts the feed. @param {Filter} filter */
  #restrict(filter) {
    setAddress(toSearch(filter, withPane({})));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (this.hidden || event.defaultPrevented || target.closest("dialog"))
      return;
    const action = actionOf(event, target.matches("input, textarea, select"));
    if (action === "close") this.#close();
    else if (!this.contains(target) && target !== document.body) return;
    else if (this.#place.agent && this.#session.act(target, action, event))
      event.preventDefault();
    else if (
      action &&
      !event.repeat &&
      this.#details.act(target, action, event.key)
    )
      event.preventDefault();
    else if (action === "reply" && this.#place.id) this.#details.openReply();
    else if (action === "seen" && this.#place.id) this.#toggleSeen();
    else return;
    event.preventDefault();
  }

  #toggleSeen() {
    const items = this.#items();
    const unseen = items.filter((item) => !item.seen);
    const ids = (unseen.length > 0 ? unseen : items.slice(0, 1)).map(
      (item) => item.id,
    );
    if (ids.length > 0) setMarks(this.store, ids, unseen.length > 0);
  }
}

customElements.define("hub-pane", HubPane);
