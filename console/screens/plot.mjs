// Usage by day, or requests by minute, as bars. Loaded by usage.mjs when it is shown; uPlot's own
// style stands in style/plot.css.
import uPlot from 'uplot';
import { number, t, time, usd, usd_short, utc_day } from '../i18n.mjs';

const height = 220;

// The series of a plot, each with the colour of a variable. Bars stand on those before.
const series_of = {
  tokens: [
    ['input_tokens', 'usage.input', '--accent'],
    ['output_tokens', 'usage.output', '--warn'],
  ],
  cost: [['cost_usd', 'usage.cost', '--accent']],
  requests: [
    ['well', 'log.well', '--accent'],
    ['refused', 'log.refused', '--warn'],
    ['failed', 'log.failed', '--bad'],
  ],
  median: [['median', 'log.median', '--accent']],
  slowest: [['slowest', 'log.slowest', '--warn']],
};
/** @type {Intl.DateTimeFormatOptions} */
const clock = { hour: '2-digit', minute: '2-digit' };
// Bars of a day, or of a minute: how long each is in seconds, and how its time is written.
const spans = {
  day: {
    length: 86400,
    steps: [1, 2, 7, 14],
    short: (at) => new Date(at * 1000).getUTCDate(),
    whole: (at) => utc_day(new Date(at * 1000).toISOString()),
    label: 'usage.day',
    zone: 'Etc/UTC',
  },
  minute: {
    length: 60,
    steps: [1, 2, 5, 10, 15, 30, 60, 120, 360, 1440],
    short: (at) => time(new Date(at * 1000).toISOString(), clock),
    whole: (at) => time(new Date(at * 1000).toISOString()),
    label: 'log.minute',
  },
};

// Draws into `place`; `end()` takes it away.
export function make_plot(place, days, what) {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shown = (value) => (value === null ? '' : what === 'cost' ? usd(value) : number(value));
  const compact = (value) => number(value, { notation: 'compact' });
  const short = what === 'cost' ? usd_short : compact;
  const wanted = series_of[what];
  const span = days[0]?.at === undefined ? spans.day : spans.minute;
  const times = days.map((day) => day.at ?? Date.parse(`${day.date}T00:00:00Z`) / 1000);
  const values = wanted.map(([member]) => days.map((day) => day[member]));
  // The last series is drawn first, as high as all together.
  const heights = wanted.map((none, at) =>
    days.map((day, index) => values.slice(0, at + 1).reduce((sum, one) => sum + one[index], 0)),
  );
  const bars = uPlot.paths.bars({ size: [0.72, 60] });
  const axis = {
    stroke: colour('--dim'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line') },
    font: '12px system-ui, sans-serif',
  };
  const order = wanted.map((one, at) => at).reverse();
  const plot = new uPlot(
    {
      width: Math.max(place.clientWidth, 200),
      height,
      ...(span.zone && {
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), span.zone),
      }),
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      legend: { live: true },
      scales: {
        x: { range: (self, from, to) => [from - span.length / 2, to + span.length / 2] },
        y: { range: (self, from, to) => [0, to > 0 ? to * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          values: (self, splits) => splits.map(span.short),
          incrs: span.steps.map((count) => count * span.length),
          space: span === spans.day ? 34 : 60,
          size: 30,
        },
        { ...axis, values: (self, splits) => splits.map(short), size: 70 },
      ],
      series: [
        {
          label: t(span.label),
          value: (self, at) => (at ? span.whole(at) : '–'),
        },
        ...order.map((at) => ({
          label: t(wanted[at][1]),
          fill: colour(wanted[at][2]),
          stroke: colour(wanted[at][2]),
          width: 0,
          paths: bars,
          points: { show: false },
          value: (self, none, index, day) => (day === null ? '–' : shown(values[at][day])),
        })),
      ],
    },
    [times, ...order.map((at) => heights[at])],
    place,
  );
  const fit = new ResizeObserver(() => {
    if (place.clientWidth) plot.setSize({ width: place.clientWidth, height });
  });
  fit.observe(place);
  return {
    end() {
      fit.disconnect();
      plot.destroy();
    },
  };
}
