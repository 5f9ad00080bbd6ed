/** A lane of the timeline: a session's phases over time, and its words at the moment that is replayed. */

import { h, svg } from "./dom.js";
import { revealHidden, setProperty, setText } from "./parts.js";
import { clockTime } from "../core/time.js";
import {
  describeLane,
  LANE_HEIGHT,
  laneBars,
  lanePaths,
  phaseLabel,
  PHASES,
  roundDuration,
  waitedMs,
} from "../core/timeline.js";

/** @import { Lane, Span } from '../core/timeline.js' */
/** @import { Schemas } from '../core/types.js' */

/** The units of a lane's width. */
const WIDTH = 1000;

export class TimelineLane extends HTMLElement {
  /** Opens the feed at a time in ms; null for the time that is shown. @type {(at: number|null) => void} */
  onopen = () => {};
  /** @type {Lane} */
  data = /** @type {any} */ (null);
  /** @type {Span} */
  #span = { from: 0, to: 1 };
  #name = h("button", { class: "link name", onclick: () => this.onopen(null) });
  #gap = svg("rect", {
    class: "gap",
    x: 0,
    y: 0,
    height: LANE_HEIGHT,
    width: 0,
  });
  #paths = PHASES.map(({ name }) => svg("path", { "data-phase": name }));
  #plot = svg(
    "svg",
    {
      class: "plot",
      role: "img",
      viewBox: `0 0 ${WIDTH} ${LANE_HEIGHT}`,
      preserveAspectRatio: "none",
    },
    this.#gap,
    ...this.#paths,
  );
  #waited = h("span", { class: "waited" });
  #words = h("p", { class: "words", hidden: true });

  connectedCallback() {
    if (this.firstChild) return;
    this.#plot.addEventListener("click", (event) =>
      this.#click(/** @type {MouseEvent} */ (event)),
    );
    this.append(this.#name, this.#plot, this.#waited, this.#words);
  }

  get key() {
    return `${this.data.project}/${this.data.session}`;
  }

  /** @param {Lane} data */
  set(data) {
    this.data = data;
    setText(this.#name, data.name);
    setProperty(this.#name, "title", `Show ${data.name} in the feed`);
  }

  /**
   * Draws the phases of a time.
   *
   * @param {Span} span
   * @param {number} begins of the log, in ms
   */
  draw(span, begins) {
    this.#span = span;
    const { segments } = this.data;
    const paths = lanePaths(laneBars(segments, span, WIDTH));
    PHASES.forEach(({ name }, index) =>
      setAttribute(this.#paths[index], "d", paths.get(name) ?? ""),
    );
    const gap = Math.round(
      ((begins - span.from) / (span.to - span.from)) * WIDTH,
    );
    setAttribute(this.#gap, "width", String(Math.min(WIDTH, Math.max(0, gap))));
    const waited = waitedMs(segments, span);
    setAttribute(
      this.#plot,
      "aria-label",
      `${this.data.name}: ${describeLane(segments, span)}`,
    );
    setText(this.#waited, waited >= 1000 ? roundDuration(waited) : "");
    setProperty(
      this.#waited,
      "title",
      waited >= 1000 ? "It waited this long for you in the time shown." : "",
    );
  }

  /** Shows the phase and the words of a moment; null hides them. @param {Schemas['SessionMoment']|'absent'|null} moment */
  showMoment(moment) {
    setProperty(this.#words, "hidden", moment === null);
    if (moment === null) return;
    if (moment === "absent")
      return this.#words.replaceChildren(
        h("span", { class: "muted" }, "not running"),
      );
    const { phase, since, text } = moment;
    this.#words.replaceChildren(
      h("b", { "data-phase": phase }, phaseLabel(phase)),
      h("span", { class: "muted" }, ` since ${clockTime(since)} `),
      ...(text ? revealHidden(text) : []),
    );
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const { left, width } = this.#plot.getBoundingClientRect();
    const { from, to } = this.#span;
    this.onopen(from + ((event.clientX - left) / width) * (to - from));
  }
}

/**
 * Sets an attribute only if it differs, to avoid a needless drawing.
 *
 * @param {Element} element
 * @param {string} name
 * @param {string} value
 */
function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

customElements.define("timeline-lane", TimelineLane);
