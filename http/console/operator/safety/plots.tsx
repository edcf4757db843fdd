/** Plots of the last hour: head-room, lag and requests. */

import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { theme } from "../../app/theme.js";
import { Empty } from "../../parts/loaded.js";
import { HOUR_MS, keepSampling, samples, type Sample } from "./history.js";

interface Figure {
  readonly title: string;
  readonly unit: string;
  readonly read: (sample: Sample) => number | null;
  /** Says why a plot may be empty. */
  readonly missing: string;
  readonly digits: number;
}

const FIGURES: readonly Figure[] = [
  {
    title: "Memory left until new orders are refused",
    unit: "%",
    read: ({ memory }) => memory,
    missing: "Redis cannot be read.",
    digits: 1,
  },
  {
    title: "Disk left until new orders are refused",
    unit: "%",
    read: ({ disk }) => disk,
    missing: "Nobody reports the disk, because npm start does not run the servers.",
    digits: 1,
  },
  {
    title: "Lag of the lists",
    unit: "entries",
    read: ({ lag }) => lag,
    missing: "The lag cannot be read.",
    digits: 0,
  },
  {
    title: "Requests to this gateway",
    unit: "a second",
    read: ({ requests }) => requests,
    missing: "This port does not serve /metrics; OPS_PORT names the port that does.",
    digits: 1,
  },
];

const HEIGHT = 140;

export function Plots() {
  useEffect(keepSampling, []);
  return (
    <>
      <p class="quiet">The page keeps the last hour for as long as it is open, and asks every 5 s.</p>
      {FIGURES.map((figure) => (
        <Plot key={figure.title} figure={figure} />
      ))}
    </>
  );
}

function Plot({ figure }: { readonly figure: Figure }) {
  const { title, unit, read, missing, digits } = figure;
  const known = samples.value.map(read);
  const last = known.findLast((value): value is number => value !== null);
  return (
    <section class="plot">
      <h2>{title}</h2>
      <p class="plot-now">
        <span class="number">{last === undefined ? "–" : last.toFixed(digits)}</span> {unit}
      </p>
      {known.length > 1 && last === undefined ? <Empty title={missing} /> : <Line figure={figure} />}
    </section>
  );
}

/** Returns the bounds of the last hour, in seconds. */
function lastHour(): [number, number] {
  const now = Date.now() / 1_000;
  return [now - HOUR_MS / 1_000, now];
}

/** Returns a color of the tokens. */
function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function Line({ figure }: { readonly figure: Figure }) {
  const place = useRef<HTMLDivElement>(null);
  const { value } = samples;
  const { value: appearance } = theme;
  const plot = useRef<UPlot>(undefined);
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const axis = {
      stroke: token("text-quiet"),
      grid: { stroke: token("line"), width: 1 },
      ticks: { show: false },
    };
    const made = new UPlot(
      {
        width: current.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { range: lastHour }, y: { range: (_plot, _min, max) => [0, Math.max(max, 1)] } },
        axes: [axis, { ...axis, size: 56 }],
        series: [{}, { stroke: token("text"), width: 1.5, points: { show: false }, spanGaps: false }],
      },
      [[], []],
      current,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height: HEIGHT }));
    observer.observe(current);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [appearance]);
  useEffect(() => {
    plot.current?.setData([value.map(({ ms }) => ms / 1_000), value.map(figure.read)]);
  }, [value, figure, appearance]);
  return <div ref={place} class="plot-line" role="img" aria-label={`${figure.title}, the last hour`} />;
}
