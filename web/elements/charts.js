/** The charts as SVG, each with a text alternative; core/chart.js computes the coordinates. */

import { h, svg } from './dom.js';
import { describeRate, describeWakes, everyMinute, fittingLabels, logScale, plural, shortDuration, spreadLabels, stackBars, tickLabel, timeLabels, totals } from '../core/chart.js';

/** @import { Minute } from '../core/chart.js' */
/** @import { Stats } from '../core/types.js' */

const RATE = { height: 168, left: 28, top: 10, bottom: 22 };
const WAKES = { height: 104, left: 50, right: 98, top: 8, bottom: 8 };
const ROW = 22;
/** The size of an axis label in px: height, and width. */
const LABEL = { height: 14, width: 42 };

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/**
 * A time of day by the reader's clock.
 *
 * @param {number|string} at
 */
export function timeOfDay(at) {
  return clock.format(new Date(at));
}

/**
 * A time of day, with the date if that is not today.
 *
 * @param {string} ts
 * @param {number} now ms
 */
export function dayAndTime(ts, now) {
  const at = new Date(ts);
  return at.toDateString() === new Date(now).toDateString() ? clock.format(at) : day.format(at);
}

/**
 * Notifications a minute by type: stacked bars, the types' totals as their labels, and a line with the values of one minute.
 *
 * @param {Stats} stats
 * @param {number} width px
 * @returns {HTMLElement}
 */
export function rateChart(stats, width) {
  const minutes = everyMinute(stats);
  const all = totals(minutes);
  const count = all.reduce((sum, one) => sum + one.count, 0);
  const readout = h('p', { class: 'readout', 'aria-hidden': 'true' });
  const picture = bars(minutes, width);
  const rest = count ? `${count.toLocaleString('en-GB')} in the last hour` : '';
  readout.textContent = rest;
  onPointer(picture, minutes, width, (minute) => (readout.textContent = minute ? describeMinute(minute) : rest));
  return h(
    'figure',
    { class: 'chart' },
    h('figcaption', {}, h('h3', {}, 'Notifications a minute'), readout),
    h('div', { class: 'canvas' }, picture, count === 0 && h('p', { class: 'empty' }, 'No notifications in the last hour.')),
    h('ul', { class: 'totals' }, ...all.map((one) => total(one, picture))),
    minuteTable(minutes.filter((minute) => minute.total)),
  );
}

/** @param {Minute} minute */
function describeMinute(minute) {
  return `${timeOfDay(minute.at)} · ${listCounts(minute) || 'no notifications'}`;
}

/** @param {Minute} minute */
function listCounts(minute) {
  return totals([minute]).map(({ kind, count }) => `${count} ${kind}`).join(', ');
}

/**
 * @param {Minute[]} minutes
 * @param {number} width
 */
function bars(minutes, width) {
  const box = { left: RATE.left, right: width, top: RATE.top, bottom: RATE.height - RATE.bottom };
  const { bars, grid } = stackBars(minutes, box);
  const labels = timeLabels(minutes, box, (at) => new Date(at).getMinutes());
  return canvas(
    { width, height: RATE.height, label: describeRate(minutes, timeOfDay) },
    grid.map(({ value, y }) => [
      svg('line', { class: value ? 'grid' : 'base', x1: box.left, x2: box.right, y1: crisp(y), y2: crisp(y) }),
      svg('text', { class: 'tick', x: box.left - 6, y: y + 4, 'text-anchor': 'end' }, value),
    ]),
    labels.map(({ at, x }) => svg('text', { class: 'tick', x, y: RATE.height - 6, 'text-anchor': 'middle' }, timeOfDay(at))),
    svg('rect', { class: 'cursor', y: box.top, height: box.bottom - box.top, width: 0 }),
    bars.flatMap(({ x, width, segments }) =>
      segments.map(({ kind, y, height }) => svg('rect', { class: 'bar', 'data-kind': kind, x, y, width, height: Math.max(1, height - 1) })),
    ),
  );
}

/**
 * Shows the values of the minute under the pointer.
 *
 * @param {SVGElement} picture
 * @param {Minute[]} minutes
 * @param {number} width
 * @param {(minute: Minute|null) => void} read
 */
function onPointer(picture, minutes, width, read) {
  const slot = (width - RATE.left) / Math.max(1, minutes.length);
  const cursor = picture.querySelector('.cursor');
  const move = (/** @type {PointerEvent} */ event) => {
    const x = event.clientX - picture.getBoundingClientRect().left - RATE.left;
    const index = Math.floor(x / slot);
    const minute = minutes[index] ?? null;
    cursor?.setAttribute('x', String(Math.round(RATE.left + index * slot) - 1));
    cursor?.setAttribute('width', String(minute ? Math.ceil(slot) : 0));
    read(minute);
  };
  picture.addEventListener('pointermove', move);
  picture.addEventListener('pointerdown', move);
  picture.addEventListener('pointerleave', () => {
    cursor?.setAttribute('width', '0');
    read(null);
  });
}

/**
 * The label of a type: its name and count. Under the pointer, only the bars of this type stay strong.
 *
 * @param {{kind: string, count: number}} total
 * @param {SVGElement} picture
 */
function total({ kind, count }, picture) {
  const only = (/** @type {boolean} */ on) => {
    picture.classList.toggle('only', on);
    for (const bar of picture.querySelectorAll('.bar')) bar.classList.toggle('highlighted', on && bar.getAttribute('data-kind') === kind);
  };
  return h(
    'li',
    { onpointerenter: () => only(true), onpointerleave: () => only(false) },
    h('span', { class: 'swatch', 'data-kind': kind }),
    `${kind} `,
    h('b', {}, count),
  );
}

/** @param {Minute[]} minutes */
function minuteTable(minutes) {
  if (minutes.length === 0) return null;
  const rows = minutes.map((minute) => h('tr', {}, h('th', { scope: 'row' }, timeOfDay(minute.at)), h('td', {}, listCounts(minute))));
  const head = h('tr', {}, h('th', { scope: 'col' }, 'Minute'), h('th', { scope: 'col' }, 'Notifications'));
  return h('div', { class: 'visually-hidden' }, h('table', {}, h('caption', {}, 'Notifications a minute'), h('thead', {}, head), h('tbody', {}, ...rows)));
}

/**
 * How long each agent's questions waited for their answers: a table whose middle column is drawn.
 *
 * @param {Stats} stats
 * @param {number} width px of the drawn column
 * @returns {HTMLElement}
 */
export function answersChart(stats, width) {
  const rows = [...stats.answers].sort((a, b) => b.median_ms - a.median_ms);
  const scale = logScale(rows.flatMap(({ median_ms, p90_ms }) => [median_ms, p90_ms]), 5, width - 5);
  return h(
    'figure',
    { class: 'chart answered' },
    h('figcaption', {}, h('h3', {}, 'Time to answer'), h('p', { class: 'readout' }, rows.length > 0 && 'by agent')),
    rows.length === 0
      ? h('p', { class: 'empty' }, 'No answers yet. This chart shows how long each agent waited for an answer.')
      : h(
          'table',
          {},
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              h('th', { scope: 'col' }, 'Agent'),
              h('td', { 'aria-hidden': 'true' }, scaleHead(scale.ticks, width)),
              h('th', { scope: 'col', class: 'number' }, 'Median'),
              h('th', { scope: 'col', class: 'number' }, '90 %'),
              h('th', { scope: 'col', class: 'number' }, h('abbr', { title: 'Number of answers' }, 'n')),
            ),
          ),
          h('tbody', {}, ...rows.map((row) => answerRow(row, scale, width))),
        ),
  );
}

/**
 * @param {{ms: number, at: number}[]} ticks
 * @param {number} width
 */
function scaleHead(ticks, width) {
  return canvas(
    { width, height: LABEL.height },
    fittingLabels(ticks, LABEL.width).map(({ ms, at }) => svg('text', { class: 'tick', x: at, y: 11, 'text-anchor': anchor(at, width) }, tickLabel(ms))),
  );
}

/**
 * Keeps a label at the end of an axis inside the chart.
 *
 * @param {number} at
 * @param {number} width
 */
function anchor(at, width) {
  if (at < LABEL.width / 2) return 'start';
  return at > width - LABEL.width / 2 ? 'end' : 'middle';
}

/**
 * @param {Stats['answers'][number]} row
 * @param {ReturnType<typeof logScale>} scale
 * @param {number} width
 */
function answerRow({ agent, count, median_ms, p90_ms }, scale, width) {
  const middle = ROW / 2;
  const picture = canvas(
    { width, height: ROW },
    scale.ticks.map(({ at }) => svg('line', { class: 'grid', x1: crisp(at), x2: crisp(at), y1: 0, y2: ROW })),
    svg('line', { class: 'range', x1: scale.at(median_ms), x2: scale.at(p90_ms), y1: middle, y2: middle }),
    svg('line', { class: 'end', x1: scale.at(p90_ms), x2: scale.at(p90_ms), y1: middle - 5, y2: middle + 5 }),
    svg('circle', { class: 'dot', cx: scale.at(median_ms), cy: middle, r: 4 }),
  );
  return h(
    'tr',
    {},
    h('th', { scope: 'row', title: agent }, agent),
    h('td', { 'aria-hidden': 'true' }, picture),
    h('td', { class: 'number' }, shortDuration(median_ms)),
    h('td', { class: 'number' }, shortDuration(p90_ms)),
    h('td', { class: 'number muted' }, count),
  );
}

/**
 * How long the last wakes took: a dot each, in order, with the median and the ninetieth percentile as lines.
 *
 * @param {Stats} stats
 * @param {number} width px
 * @returns {HTMLElement}
 */
export function wakesChart(stats, width) {
  const { wakes } = stats;
  const caption = h('figcaption', {}, h('h3', {}, 'Wake latency'), h('p', { class: 'readout' }, wakes.count > 0 && plural(wakes.count, 'wake')));
  if (wakes.count === 0 || wakes.median_ms === null || wakes.p90_ms === null) {
    const text = 'No wakes since the hub started. This chart shows how long a notification takes to reach a waiting agent.';
    return h('figure', { class: 'chart wakes' }, caption, h('p', { class: 'empty' }, text));
  }
  return h('figure', { class: 'chart wakes' }, caption, h('div', { class: 'canvas' }, wakeStrip(wakes, wakes.median_ms, wakes.p90_ms, width)));
}

/**
 * @param {Stats['wakes']} wakes
 * @param {number} median
 * @param {number} p90
 * @param {number} width
 */
function wakeStrip(wakes, median, p90, width) {
  const { recent } = wakes;
  const box = { left: WAKES.left, right: width - WAKES.right, top: WAKES.top, bottom: WAKES.height - WAKES.bottom };
  const scale = logScale([median, p90, ...recent.map(({ ms }) => ms)], box.bottom, box.top);
  const slot = (box.right - box.left) / Math.max(recent.length, 12);
  const [high, low] = spreadLabels([scale.at(p90), scale.at(median)], LABEL.height, box.top, box.bottom);
  /** @param {string} name @param {number} ms @param {number} label */
  const level = (name, ms, label) => [
    svg('line', { class: name === '90 %' ? 'level p90' : 'level', x1: box.left, x2: box.right, y1: scale.at(ms), y2: scale.at(ms) }),
    svg('text', { class: 'name', x: box.right + 8, y: label + 4 }, `${name} `, svg('tspan', { class: 'value' }, shortDuration(ms))),
  ];
  return canvas(
    { width, height: WAKES.height, label: describeWakes(wakes) },
    scale.ticks.map(({ ms, at }) => [
      svg('line', { class: 'grid', x1: box.left, x2: box.right, y1: crisp(at), y2: crisp(at) }),
      svg('text', { class: 'tick', x: box.left - 6, y: at + 4, 'text-anchor': 'end' }, tickLabel(ms)),
    ]),
    level('90 %', p90, high),
    level('median', median, low),
    recent.map(({ at, ms }, index) =>
      svg('circle', { class: 'dot', cx: box.right - (recent.length - index - 0.5) * slot, cy: scale.at(ms), r: 2.5 }, svg('title', {}, `${timeOfDay(at)}: ${shortDuration(ms)}`)),
    ),
  );
}

/**
 * A drawing of this size; without a label it is decoration beside a text with the same content.
 *
 * @param {{width: number, height: number, label?: string}} size
 * @param {...any} children
 */
function canvas({ width, height, label }, ...children) {
  const props = label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' };
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, ...props }, ...children.flat(Infinity));
}

/**
 * The position at which a line of one pixel is sharp.
 *
 * @param {number} at
 */
function crisp(at) {
  return Math.round(at) - 0.5;
}
