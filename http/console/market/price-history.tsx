/** Price history of an outcome: a chart, and the same numbers as a table. */

import type { z } from "zod";
import { useEffect, useRef, useState } from "preact/hooks";
import { useQuery } from "../app/router.js";
import type { Candle, Market } from "../../surface-a/schemas/catalog.js";
import { call } from "../data/api.js";
import { showQuantity } from "../data/money.js";
import { priceForm, showPrice, ticksOf } from "../data/prices.js";
import { remembered } from "../data/remembered.js";
import { useResource } from "../data/resource.js";
import { showMoment } from "../data/time.js";
import { appearance } from "../app/theme.js";
import { Loaded } from "../parts/loaded.js";
import { Table } from "../parts/table.js";
import type { Chart, ChartData, ChartForm } from "./chart.js";

type CandleAnswer = z.infer<typeof Candle>;
type MarketAnswer = z.infer<typeof Market>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Ranges of the chart. The longest one is what the service answers without a signature. */
const RANGES = [
  { name: "1h", words: "Last hour", spanMs: HOUR_MS, interval: "1m", stepMs: MINUTE_MS },
  { name: "6h", words: "Last 6 hours", spanMs: 6 * HOUR_MS, interval: "5m", stepMs: 5 * MINUTE_MS },
  { name: "1d", words: "Last day", spanMs: DAY_MS, interval: "5m", stepMs: 5 * MINUTE_MS },
  { name: "all", words: "Last 31 days", spanMs: 31 * DAY_MS, interval: "1h", stepMs: HOUR_MS },
] as const;
type Range = (typeof RANGES)[number];

const EVERY_MS = 10_000;
const CHART_FORMS = ["line", "candles"] as const;
const chartForm = remembered<ChartForm>("chart", CHART_FORMS, "line");

/** Returns the candles as columns, with empty places for the intervals without a trade, from the first one to now. */
function columnsOf(
  candles: readonly CandleAnswer[],
  { stepMs, spanMs, name }: Range,
  nowMs: number,
): ChartData {
  const byTime = new Map(candles.map((candle) => [candle.ts, candle]));
  const endMs = Math.floor(nowMs / stepMs + 1) * stepMs;
  const firstMs = candles[0]?.ts ?? endMs - stepMs;
  const times: number[] = [];
  for (let ts = firstMs; ts < endMs; ts += stepMs) times.push(ts);
  const column = (valueOf: (candle: CandleAnswer) => number): (number | null)[] =>
    times.map((ts) => {
      const candle = byTime.get(ts);
      return candle === undefined ? null : valueOf(candle);
    });
  const close = column((candle) => ticksOf(candle.close));
  // The last price stays in force until the next trade.
  if (close.length > 0) close[close.length - 1] = close.findLast((price) => price !== null) ?? null;
  // The longest range begins with the market's first trade.
  const startMs = name === "all" ? Math.min(firstMs, endMs - HOUR_MS) : endMs - spanMs;
  return {
    span: [startMs / 1_000, endMs / 1_000],
    times: times.map((ts) => ts / 1_000),
    open: column((candle) => ticksOf(candle.open)),
    high: column((candle) => ticksOf(candle.high)),
    low: column((candle) => ticksOf(candle.low)),
    close,
    volume: column((candle) => candle.volume),
  };
}

/** Shows candles as a chart. */
function ChartOf({
  candles,
  range,
  accent,
}: {
  readonly candles: readonly CandleAnswer[];
  readonly range: Range;
  readonly accent: string;
}) {
  const element = useRef<HTMLDivElement>(null);
  const [chart, setChart] = useState<Chart>();
  const [isMissing, setIsMissing] = useState(false);
  const [form, prices] = [chartForm.value, priceForm.value];
  useEffect(() => {
    let made: Chart | undefined;
    let isOver = false;
    import("./chart.js").then(
      ({ makeChart }) => {
        if (isOver || element.current === null) return;
        made = makeChart(element.current, form, accent);
        setChart(made);
        setIsMissing(false);
      },
      () => setIsMissing(true),
    );
    return () => {
      isOver = true;
      made?.destroy();
    };
  }, [form, prices, appearance.value, accent]);
  useEffect(() => chart?.show(columnsOf(candles, range, Date.now())), [chart, candles, range]);
  return (
    <>
      {isMissing && <p class="quiet">The chart could not be loaded. The table has the same numbers.</p>}
      <div ref={element} class="history-chart" aria-hidden="true" />
    </>
  );
}

const COLUMNS = [
  { title: "From", cell: ({ ts }: CandleAnswer) => showMoment(ts) },
  { title: "Open", numeric: true, cell: ({ open }: CandleAnswer) => showPrice(open) },
  { title: "High", numeric: true, cell: ({ high }: CandleAnswer) => showPrice(high) },
  { title: "Low", numeric: true, cell: ({ low }: CandleAnswer) => showPrice(low) },
  { title: "Close", numeric: true, cell: ({ close }: CandleAnswer) => showPrice(close) },
  { title: "Contracts", numeric: true, cell: ({ volume }: CandleAnswer) => showQuantity(volume) },
];

export function PriceHistory({ market }: { readonly market: MarketAnswer }) {
  const { marketId, outcomes } = market;
  const [outcomeQuery, setOutcome] = useQuery("outcome");
  const [rangeQuery, setRange] = useQuery("range");
  const range = RANGES.find(({ name }) => name === rangeQuery) ?? RANGES[0];
  const index = Math.max(
    0,
    outcomes.findIndex(({ outcomeId }) => outcomeId === outcomeQuery),
  );
  const outcome = outcomes[index];
  const outcomeId = outcome?.outcomeId ?? "";
  const candles = useResource(
    async (signal) => {
      const to = Math.floor(Date.now() / range.stepMs + 1) * range.stepMs;
      const query = { outcome: outcomeId, interval: range.interval, from: to - range.spanMs, to };
      const path = `/v3/public/catalog/markets/${marketId}/candles`;
      return (await call<{ readonly items: readonly CandleAnswer[] }>("GET", path, { query, signal })).items;
    },
    [marketId, outcomeId, range.name],
    { everyMs: EVERY_MS },
  );
  const accent = outcomes.length === 2 && index === 1 ? "--second" : "--first";
  return (
    <section class="history" aria-labelledby="history-title">
      <div class="history-head">
        <h2 id="history-title">Price</h2>
        <Choices
          label="Outcome"
          chosen={outcomeId}
          choices={outcomes.map(({ outcomeId: id, name }) => [id, name])}
          onChoose={(id) => setOutcome(id === outcomes[0]?.outcomeId ? "" : id)}
        />
        <Choices
          label="Range"
          chosen={range.name}
          choices={RANGES.map(({ name }) => [name, name])}
          onChoose={(name) => setRange(name === RANGES[0].name ? "" : name)}
        />
        <Choices
          label="Form"
          chosen={chartForm.value}
          choices={CHART_FORMS.map((form) => [form, form])}
          onChoose={(form) => {
            chartForm.value = form === "candles" ? "candles" : "line";
          }}
        />
      </div>
      <Loaded
        what="the price history"
        of={candles.value === undefined ? candles : { ...candles, refusal: undefined }}
        waiting={<div class="history-chart" role="status" aria-label="Loading" />}
        empty={
          <p class="history-chart history-empty quiet">
            No trades of {outcome?.name} in this range ({range.words.toLowerCase()}).
          </p>
        }
      >
        {(items) => (
          <>
            <ChartOf candles={items} range={range} accent={accent} />
            <details class="history-table">
              <summary>The same as a table</summary>
              <Table
                label={`Prices of ${outcome?.name ?? ""}, ${range.words.toLowerCase()}`}
                columns={COLUMNS}
                rows={items.toReversed()}
                keyOf={({ ts }) => String(ts)}
              />
            </details>
          </>
        )}
      </Loaded>
    </section>
  );
}

interface ChoicesProps {
  readonly label: string;
  readonly chosen: string;
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
}

/** A row of small buttons of which one is on. */
function Choices({ label, chosen, choices, onChoose }: ChoicesProps) {
  return (
    <div class="choices" role="group" aria-label={label}>
      {choices.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}
