/** The timeline: a lane for each session, how long all of them waited for the person, and a replay of any moment. */

import { h, svg, updateList } from "./dom.js";
import { setProperty, setText } from "./parts.js";
import { StoreElement } from "./store-element.js";
import { TimelineLane } from "./timeline-lane.js";
import {
  axisTimes,
  laneBars,
  lanePaths,
  LANE_HEIGHT,
  lanesByProject,
  midnight,
  parseLane,
  PHASES,
  waitedToday,
} from "../core/timeline.js";
import { projectName } from "../core/sessions.js";
import { absolute, clockTime } from "../core/time.js";
import { openPlace } from "../hub/place.js";
import { Problem } from "../hub/problem.js";

/** @import { Lane, PhaseName, Span } from '../core/timeline.js' */
/** @import { Schemas } from '../core/types.js' */

/** The lengths of the timeline that the person can choose, in hours. */
const LENGTHS = [2, 8, 24];
const HOUR = 3_600_000;
/** The interval of requests, and the shortest interval after news, each in ms. */
const INTERVAL = 15_000;
const MIN_INTERVAL = 4_000;
/** The pause in dragging after which the words of that moment are requested, in ms. */
const DRAG_PAUSE = 100;
/** The steps of the slider; the last one is the present. */
const STEPS = 1000;
/** The width of a label of the axis, in px. */
const LABEL = 44;
/** The lanes that are drawn in one frame, so that none is long. */
const LANES_PER_FRAME = 20;

export class HubTimeline extends StoreElement {
  #hours = LENGTHS[1];
  /** @type {Lane[]} */
  #lanes = [];
  /** @type {Span} */
  #span = { from: 0, to: 1 };
  /** The start of the log, in ms. */
  #begins = 0;
  /** The time that is replayed, in ms; null for the present. @type {number|null} */
  #at = null;
  #requestedAt = -Infinity;
  #timer = 0;
  #dragTimer = 0;
  #drawing = 0;

  #sum = h("p", { class: "sum" });
  #lengths = h("div", {
    class: "lengths",
    role: "group",
    "aria-label": "Length of the timeline",
  });
  #when = h("output", { class: "when", for: "timeline-replay" });
  #slider = h("input", {
    type: "range",
    id: "timeline-replay",
    min: "0",
    max: String(STEPS),
    value: String(STEPS),
    "aria-label": "Replay: drag back",
    oninput: () => this.#drag(),
  });
  #now = h(
    "button",
    { class: "small", hidden: true, onclick: () => this.#replay(null) },
    "Back to now",
  );
  #axis = h("div", { class: "axis", "aria-hidden": "true" });
  #cursor = h("div", { class: "cursor", hidden: true });
  #projects = h("div", { class: "projects" });
  #empty = h(
    "p",
    { class: "empty muted", hidden: true },
    "No agent has been at work in this time.",
  );
  #status = h("p", { class: "status", role: "status" });

  connectedCallback() {
    const { removed: signal, store } = this;
    this.#lengths.replaceChildren(
      ...LENGTHS.map((hours) => this.#lengthButton(hours)),
    );
    const legend = PHASES.filter(({ name }) => name !== "gone").map(
      ({ name, label }) => h("li", {}, swatch(name), label),
    );
    this.replaceChildren(
      h("div", { class: "head" }, this.#sum, this.#lengths),
      h("ul", { class: "legend", "aria-label": "Colours" }, ...legend),
      h(
        "div",
        { class: "lanes" },
        h(
          "div",
          { class: "replay" },
          this.#when,
          h("div", { class: "track" }, this.#axis, this.#slider),
          this.#now,
        ),
        this.#projects,
        this.#cursor,
      ),
      this.#empty,
      this.#status,
    );
    this.every(INTERVAL, () => this.#load());
    const size = new ResizeObserver(() => this.#appear());
    size.observe(this);
    document.addEventListener("visibilitychange", () => this.#loadSoon(), {
      signal,
    });
    this.watch(
      ["sessions", "connection"],
      () => store.ready && this.#loadSoon(),
    );
    signal.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      clearTimeout(this.#dragTimer);
      size.disconnect();
    });
  }

  /** @param {number} hours */
  #lengthButton(hours) {
    const choose = () => {
      this.#hours = hours;
      for (const other of this.#lengths.children)
        other.ariaPressed = String(other === button);
      this.#replay(null);
      this.#load();
    };
    const button = h(
      "button",
      {
        class: "small",
        "aria-pressed": String(hours === this.#hours),
        title: `Last ${hours} hours`,
        onclick: choose,
      },
      `${hours} h`,
    );
    return button;
  }

  /** Loads when the view becomes visible. */
  #appear() {
    this.#renderAxis();
    if (this.#isShown && performance.now() - this.#requestedAt > MIN_INTERVAL)
      this.#load();
  }

  get #isShown() {
    return !document.hidden && this.clientWidth > 0;
  }

  #loadSoon() {
    if (this.#timer || !this.#isShown) return;
    const wait = Math.max(
      0,
      this.#requestedAt + MIN_INTERVAL - performance.now(),
    );
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.#load();
    }, wait);
  }

  /** Requests the timeline, if it is visible. The sum needs the whole day, also in a shorter window. */
  async #load() {
    const { store } = this;
    if (!store.ready || !this.#isShown) return;
    this.#requestedAt = performance.now();
    const now = store.now();
    const span = { from: now - this.#hours * HOUR, to: now };
    const since = new Date(Math.min(span.from, midnight(now))).toISOString();
    try {
      /** @type {Schemas['Timeline']} */
      const {
        lanes,
        begins,
        left_out: leftOut = 0,
      } = await store.api.get(`/timeline?since=${since}`);
      this.#lanes = lanes.map(parseLane);
      this.#begins = begins ? Date.parse(begins) : now;
      this.#span = span;
      setText(
        this.#status,
        leftOut === 0
          ? ""
          : `Too much for one picture: ${leftOut} sessions without recent changes are left out.`,
      );
      this.#render();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setText(
        this.#status,
        `The timeline is not up to date: ${error.message}. ${error.hint}`,
      );
    }
  }

  #render() {
    const { from, to } = this.#span;
    setText(this.#sum, waitedToday(this.#lanes, { from: midnight(to), to }));
    const shown = this.#lanes.filter(
      ({ segments }) => laneBars(segments, this.#span, 1).length > 0,
    );
    setProperty(this.#empty, "hidden", shown.length > 0);
    const groups = [...lanesByProject(shown)];
    updateList(
      this.#projects,
      groups,
      ([project]) => project,
      ([project]) => this.#group(project),
      (element, [, lanes]) => {
        const list = /** @type {HTMLElement} */ (element.lastElementChild);
        updateList(
          list,
          lanes,
          ({ session }) => session,
          () => this.#lane(),
          (lane, data) => lane.set(data),
        );
      },
    );
    if (this.#at !== null && this.#at < from) this.#replay(null);
    this.#renderAxis();
    this.#renderCursor();
    this.#draw();
  }

  /** Draws the lanes, a part in each frame. */
  #draw() {
    cancelAnimationFrame(this.#drawing);
    const lanes = /** @type {TimelineLane[]} */ ([
      ...this.querySelectorAll("timeline-lane"),
    ]);
    const next = (/** @type {number} */ start) => {
      for (const lane of lanes.slice(start, start + LANES_PER_FRAME))
        lane.draw(this.#span, this.#begins);
      if (start + LANES_PER_FRAME < lanes.length)
        this.#drawing = requestAnimationFrame(() =>
          next(start + LANES_PER_FRAME),
        );
    };
    next(0);
  }

  /** @param {string} project */
  #group(project) {
    const title = h("h3", { title: project }, projectName(project));
    return h(
      "section",
      { "aria-label": projectName(project) },
      title,
      h("div", { role: "list" }),
    );
  }

  #lane() {
    const lane = new TimelineLane();
    lane.role = "listitem";
    lane.onopen = (at) => this.#open(lane, at ?? this.#at ?? this.#span.to);
    return lane;
  }

  /**
   * Shows a session's last notification by a time in the feed.
   *
   * @param {TimelineLane} lane
   * @param {number} at ms
   */
  async #open(lane, at) {
    const { store } = this;
    await store.attempt(() => openPlace(store, lane.data, at));
  }

  #renderAxis() {
    const { from, to } = this.#span;
    const width = this.#axis.clientWidth;
    const fits = (/** @type {number} */ at) =>
      ((to - at) / (to - from)) * width >= LABEL;
    const label = (/** @type {number} */ at) => {
      const text = h("span", {}, clockTime(at));
      text.style.left = `${((at - from) / (to - from)) * 100}%`;
      return text;
    };
    this.#axis.replaceChildren(
      ...axisTimes(this.#span, Math.max(1, Math.floor(width / LABEL)))
        .filter(fits)
        .map(label),
    );
  }

  #drag() {
    const value = Number(this.#slider.value);
    const { from, to } = this.#span;
    this.#replay(value >= STEPS ? null : from + (value / STEPS) * (to - from));
  }

  /** Shows the lanes as of a time; null for the present. @param {number|null} at ms */
  #replay(at) {
    this.#at = at;
    this.#renderCursor();
    clearTimeout(this.#dragTimer);
    if (at === null) for (const lane of this.#allLanes()) lane.showMoment(null);
    else
      this.#dragTimer = window.setTimeout(
        () => this.#loadMoment(at),
        DRAG_PAUSE,
      );
  }

  #renderCursor() {
    const at = this.#at;
    const { from, to } = this.#span;
    const share = at === null ? 1 : (at - from) / (to - from);
    const text = at === null ? "now" : clockTime(at);
    setText(this.#when, text);
    this.#when.title = at === null ? "" : absolute(at);
    this.#slider.ariaValueText = text;
    this.#slider.value = String(Math.round(share * STEPS));
    setProperty(this.#now, "hidden", at === null);
    setProperty(this.#cursor, "hidden", at === null);
    this.#cursor.style.setProperty("--share", String(share));
    this.toggleAttribute("data-replay", at !== null);
  }

  /** @param {number} at ms */
  async #loadMoment(at) {
    const { store } = this;
    try {
      /** @type {Schemas['Moment']} */
      const { sessions } = await store.api.get(
        `/timeline/moment?at=${new Date(at).toISOString()}`,
      );
      if (this.#at !== at) return;
      const found = new Map(
        sessions.map((one) => [`${one.project}/${one.session}`, one]),
      );
      for (const lane of this.#allLanes())
        lane.showMoment(found.get(lane.key) ?? "absent");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setText(
        this.#status,
        `The replay cannot be loaded: ${error.message}. ${error.hint}`,
      );
    }
  }

  /** @returns {Iterable<TimelineLane>} */
  #allLanes() {
    return /** @type {NodeListOf<TimelineLane>} */ (
      this.querySelectorAll("timeline-lane")
    );
  }
}

/** A sample of a phase's bar, for the legend. @param {PhaseName} phase */
function swatch(phase) {
  const [[, path]] = lanePaths([{ phase, x: 0, width: 18 }]);
  return svg(
    "svg",
    {
      class: "swatch",
      viewBox: `0 0 18 ${LANE_HEIGHT}`,
      "aria-hidden": "true",
    },
    svg("path", { "data-phase": phase, d: path }),
  );
}

customElements.define("hub-timeline", HubTimeline);
