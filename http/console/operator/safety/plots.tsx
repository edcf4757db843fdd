/** Plots of the last hour: head-room, lag and requests. */

import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { appearance } from "../../app/theme.js";
import { serviceNow } from "../../data/clock.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { HOUR_MS, pointsOf, useHistory, type History, type Point, type Sample } from "../history.js";

interface Figure {
  readonly title: string;
  readonly unit: string;
  readonly read: (sample: Sample) => number | null;
  /** Says why a plot may be empty. */
  readonly missing: string;
  readonly digits: number;
  /** Greatest value of the figure; without one the plot ends above its greatest value. */
  readonly most?: number;
}

const FIGURES: readonly Figure[] = [
  {
    title: "Memory left until new orders are refused",
    unit: "%",
    read: ({ memoryPercent }) => memoryPercent,
    missing: "Redis cannot be read.",
    digits: 1,
    most: 100,
  },
  {
    title: "Disk left until new orders are refused",
    unit: "%",
    read: ({ diskPercent }) => diskPercent,
    missing: "Nobody reports the disk, because npm start does not run the servers.",
    digits: 1,
    most: 100,
  },
  {
    title: "Lag of the lists",
    unit: "entries",
    read: ({ projectorLag }) => projectorLag,
    missing: "The lag cannot be read.",
    digits: 0,
  },
  {
    title: "Requests to all gateways",
    unit: "a second",
    read: ({ requestsPerSecond }) => requestsPerSecond,
    missing: "No gateway has reported its requests yet.",
    digits: 1,
  },
];

const HEIGHT = 140;

export function Plots() {
  const history = useHistory();
  return (
    <Loaded of={history} what="the figures">
      {(value) => (
        <>
          <p class="quiet">
            The service takes these figures every {value.everyMs / 1_000} s, and keeps them for an hour.
          </p>
          {FIGURES.map((figure) => (
            <Plot key={figure.title} figure={figure} history={value} />
          ))}
        </>
      )}
    </Loaded>
  );
}

function Plot({ figure, history }: { readonly figure: Figure; readonly history: History }) {
  const { title, unit, read, missing, digits, most } = figure;
  const points = pointsOf(history, read);
  const last = points.findLast(({ value }) => value !== null)?.value;
  return (
    <section class="plot">
      <h2>{title}</h2>
      <p class="plot-now">
        <span class="number">{last?.toFixed(digits) ?? "–"}</span> {unit}
      </p>
      {typeof last === "number" ? (
        <Line title={title} points={points} most={most} />
      ) : (
        <Empty title={missing} />
      )}
    </section>
  );
}

/** Returns the bounds of the last hour, in seconds. */
function lastHour(): [number, number] {
  const now = serviceNow() / 1_000;
  return [now - HOUR_MS / 1_000, now];
}

/** Returns a color of the tokens. */
function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

interface LineProps {
  readonly title: string;
  readonly points: readonly Point[];
  readonly most: number | undefined;
}

function Line({ title, points, most }: LineProps) {
  const place = useRef<HTMLDivElement>(null);
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
        scales: {
          x: { range: lastHour },
          y: { range: (_plot, _min, max) => [0, most ?? Math.max(max * 1.2, 1)] },
        },
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
  }, [appearance.value, most]);
  useEffect(() => {
    plot.current?.setData([points.map(({ ms }) => ms / 1_000), points.map(({ value }) => value)]);
  }, [points, appearance.value, most]);
  return <div ref={place} class="plot-line" role="img" aria-label={`${title}, the last hour`} />;
}
