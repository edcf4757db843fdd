/** The page at `/`: a timetable of all markets with live prices. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { useQuery } from "../app/router.js";
import { PriceSwitch } from "../parts/price-switch.js";
import { useResource } from "../data/resource.js";
import { showDay } from "../data/time.js";
import { ConnectionBar } from "../market/connection-bar.js";
import { Button } from "../parts/button.js";
import { Empty, Loaded } from "../parts/loaded.js";
import { filtered, readCatalog, sectionsOf, STATUS_CHOICES, type Listed } from "./catalog.js";
import { Filter } from "./filter.js";
import { PriceWatch } from "./prices.js";
import { Search } from "./search.js";
import { Timetable } from "./timetable.js";
import "./markets.css";

const CATALOG_EVERY_MS = 30_000;

export default function MarketsPage() {
  const [sport, setSport] = useQuery("sport");
  const [league, setLeague] = useQuery("league");
  const [type, setType] = useQuery("type");
  const [status, setStatus] = useQuery("status");
  const [text, setText] = useQuery("q");
  const isOver = status === "over";
  const catalog = useResource((signal) => readCatalog(isOver, signal), [isOver], {
    everyMs: CATALOG_EVERY_MS,
  });
  const [isSearching, setSearching] = useState(text !== "");
  // A search also finds what is over, which only a visitor who searches needs.
  const over = useResource(
    (signal) => (isSearching ? readCatalog(true, signal) : Promise.resolve([])),
    [isSearching],
  );
  const prices = useMemo(() => new PriceWatch(), []);
  useEffect(() => () => prices.close(), [prices]);
  useEffect(() => {
    document.addEventListener("keydown", moveThroughRows);
    return () => document.removeEventListener("keydown", moveThroughRows);
  }, []);

  // While the connection is lost the bar says so; a notice above the timetable would move it.
  const shown = catalog.value === undefined ? catalog : { ...catalog, refusal: undefined };
  const listed = catalog.value ?? [];
  const everything = isOver ? listed : [...listed, ...(over.value ?? [])];
  const hasFilter = [sport, league, type, status, text].some((value) => value !== "");
  const clear = (): void => {
    for (const set of [setSport, setLeague, setType, setStatus, setText]) set("");
  };
  return (
    <>
      <h1 class="hidden">Markets</h1>
      <div class="markets-head">
        <Search text={text} onText={setText} listed={everything} onFocus={() => setSearching(true)} />
        <Filter
          label="Sport"
          value={sport}
          onChange={setSport}
          choices={choicesOf(listed, (one) => [one.event.sport])}
        />
        <Filter
          label="League"
          value={league}
          onChange={setLeague}
          choices={choicesOf(
            listed.filter(({ event }) => sport === "" || event.sport === sport),
            (one) => [one.event.league],
          )}
        />
        <Filter
          label="Type"
          value={type}
          onChange={setType}
          choices={choicesOf(listed, ({ markets }) => markets.map(({ marketType }) => marketType))}
        />
        <Filter label="Status" value={status} onChange={setStatus} choices={STATUS_CHOICES} />
        <PriceSwitch />
      </div>
      <ConnectionBar connection={prices.connection} />
      <Loaded of={shown} what="the markets" waiting={<TimetableSkeleton />}>
        {(value) => {
          const sections = sectionsOf(filtered(value, { sport, league, type, status, text }), showDay);
          if (sections.length > 0) return <Timetable sections={sections} prices={prices} />;
          if (!hasFilter)
            return (
              <Empty title="No markets are open">
                <p>
                  Markets appear here as soon as an operator opens them. The page looks for new ones by
                  itself.
                </p>
              </Empty>
            );
          return (
            <Empty title="No market passes the filters">
              <Button onClick={clear}>Clear the filters</Button>
            </Empty>
          );
        }}
      </Loaded>
    </>
  );
}

/** Returns the values that occur, in the order of the alphabet, after the choice of all. */
function choicesOf(
  listed: readonly Listed[],
  valuesOf: (listed: Listed) => readonly string[],
): readonly (readonly [value: string, text: string])[] {
  const values = [...new Set(listed.flatMap(valuesOf))].toSorted();
  return [["", "All"], ...values.map((value): readonly [string, string] => [value, value])];
}

/** Moves the focus through the markets with `j` and `k` or the arrow keys, and to the search with `/`. */
function moveThroughRows(event: KeyboardEvent): void {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && target.closest("input, select, textarea, dialog") !== null) return;
  if (key === "/") {
    document.querySelector<HTMLInputElement>("[data-search]")?.focus();
    event.preventDefault();
    return;
  }
  const step = key === "j" || key === "ArrowDown" ? 1 : key === "k" || key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  const links = [...document.querySelectorAll<HTMLAnchorElement>(".market-row-link")];
  const at = links.findIndex((link) => link === document.activeElement);
  // The arrow keys scroll the page until a market has the focus.
  if (at === -1 && key.startsWith("Arrow")) return;
  links[at === -1 ? 0 : at + step]?.focus();
  event.preventDefault();
}

/** Rows in the shape of the timetable that is on its way. */
function TimetableSkeleton() {
  return (
    <div class="skeleton skeleton-page timetable" role="status" aria-label="Loading">
      <div class="timetable-waiting-title skeleton-row" />
      {Array.from({ length: 8 }, (_, index) => (
        <div key={index} class="timetable-event">
          <div class="skeleton-row" />
          <div>
            <div class="skeleton-row" />
            <div class="skeleton-row" />
          </div>
        </div>
      ))}
    </div>
  );
}
