/** Draws the price history with uPlot: the price as a line or as candles, and the volume below. Loaded on demand. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { showTicks } from "../data/prices.js";
import { showClock, showDay } from "../data/time.js";

/** History as columns: times in s since 1970, and prices in ticks. */
export interface ChartData {
  /** First and last time of the chart. */
  readonly span: readonly [number, number];
  readonly times: number[];
  readonly open: (number | null)[];
  readonly high: (number | null)[];
  readonly low: (number | null)[];
  readonly close: (number | null)[];
  readonly volume: (number | null)[];
}

export type ChartForm = "line" | "candles";

const DAY_S = 86_400;
const HEIGHT = 260;
/** Share of the height that the prices take, above the volume. */
const PRICES_FROM = 0.25;
/** Smallest range of prices in ticks, so that a calm market does not look wild. */
const LEAST_TICKS = 20;

function color(element: HTMLElement, token: string): string {
  return getComputedStyle(element).getPropertyValue(token).trim();
}

/** Returns a scale of prices that leaves the lower part of the chart to the volume. */
function priceRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1_000];
  const middle = (min + max) / 2;
  const half = Math.max(LEAST_TICKS / 2, (max - min) / 2) * 1.1;
  const [low, high] = [middle - half, middle + half];
  return [low - ((high - low) * PRICES_FROM) / (1 - PRICES_FROM), high];
}

/** Returns a time in the zone of the visitor: the time of day, or the day where the chart shows several. */
function showTime(seconds: number, [from, to]: readonly [number, number]): string {
  return to - from > 2 * DAY_S ? showDay(1_000 * seconds) : showClock(1_000 * seconds);
}

/** Draws candles: a line from low to high, and a body from open to close, hollow where the price rose. */
function drawCandles(plot: uPlot, stroke: string, ground: string): void {
  const { ctx, data } = plot;
  const [times, open, high, low, close] = data;
  if (open === undefined || high === undefined || low === undefined || close === undefined) return;
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const pitch = plot.valToPos(step, "x", true) - plot.valToPos(0, "x", true);
  const width = Math.max(2, Math.min(24, pitch * 0.6));
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = devicePixelRatio;
  for (const [index, time] of times.entries()) {
    const [from, to, top, bottom] = [open[index], close[index], high[index], low[index]];
    if (typeof from !== "number" || typeof to !== "number") continue;
    if (typeof top !== "number" || typeof bottom !== "number") continue;
    const at = (price: number): number => Math.round(plot.valToPos(price, "price", true));
    const x = Math.round(plot.valToPos(time, "x", true));
    ctx.beginPath();
    ctx.moveTo(x, at(top));
    ctx.lineTo(x, at(bottom));
    ctx.stroke();
    const y = Math.min(at(from), at(to));
    const height = Math.max(1, Math.abs(at(from) - at(to)));
    ctx.fillStyle = to >= from ? ground : stroke;
    ctx.fillRect(x - width / 2, y, width, height);
    ctx.strokeRect(x - width / 2, y, width, height);
  }
  ctx.restore();
}

/** Draws no line: candles are drawn by a hook. */
const nothing = (): null => null;

/** A chart in an element, until it is destroyed. */
export interface Chart {
  show(data: ChartData): void;
  destroy(): void;
}

/** Makes a chart that is as wide as its element. */
export function makeChart(element: HTMLElement, form: ChartForm, accent: string): Chart {
  const stroke = color(element, accent);
  const quiet = color(element, "--text-quiet");
  const line = color(element, "--line");
  const ground = color(element, "--ground");
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const hidden: uPlot.Series = { scale: "price", show: false };
  const axis: uPlot.Axis = { stroke: quiet, font, ticks: { show: false } };
  let span: readonly [number, number] = [0, 1];
  const plot = new uPlot(
    {
      width: element.clientWidth,
      // Room for half of the first time.
      padding: [null, null, null, 32],
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => [span[0], span[1]] },
        price: { range: (_, min, max) => priceRange(min, max) },
        volume: { range: (_, __, max) => [0, Math.max(1, max) / PRICES_FROM / 0.9] },
      },
      axes: [
        { ...axis, grid: { show: false }, values: (_, times) => times.map((time) => showTime(time, span)) },
        {
          ...axis,
          scale: "price",
          side: 1,
          size: 56,
          grid: { stroke: line, width: 1 },
          values: (_, ticks) =>
            ticks.map((tick) => (tick > 0 && tick < 1_000 ? showTicks(Math.round(tick)) : "")),
        },
      ],
      series: [
        {},
        hidden,
        { ...hidden, show: form === "candles", paths: nothing, points: { show: false } },
        { ...hidden, show: form === "candles", paths: nothing, points: { show: false } },
        {
          scale: "price",
          ...(form === "line"
            ? { stroke, width: 2, paths: uPlot.paths.stepped?.({ align: 1 }) ?? nothing, spanGaps: true }
            : { paths: nothing }),
          points: { show: false },
        },
        {
          scale: "volume",
          fill: line,
          stroke: line,
          paths: uPlot.paths.bars?.({ size: [0.6, 24] }) ?? nothing,
          points: { show: false },
        },
      ],
      hooks: form === "candles" ? { draw: [(drawn) => drawCandles(drawn, stroke, ground)] } : {},
    },
    undefined,
    element,
  );
  const resizing = new ResizeObserver(() => {
    if (element.clientWidth > 0 && element.clientWidth !== plot.width)
      plot.setSize({ width: element.clientWidth, height: HEIGHT });
  });
  resizing.observe(element);
  return {
    show: (data) => {
      ({ span } = data);
      plot.setData([data.times, data.open, data.high, data.low, data.close, data.volume]);
    },
    destroy: () => {
      resizing.disconnect();
      plot.destroy();
    },
  };
}
