/** The page of a market: ladders of all outcomes, the ticket, price history, trades and the market's life. */

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { z } from "zod";
import type { PageProps } from "../app/pages.js";
import { Link } from "../app/router.js";
import { PriceSwitch } from "../parts/price-switch.js";
import type { CatalogEvent, Market, MarketPrices } from "../../surface-a/schemas/catalog.js";
import { call } from "../data/api.js";
import { priceOf } from "../data/prices.js";
import { useResource, type Resource } from "../data/resource.js";
import { Button } from "../parts/button.js";
import { Empty, Loaded, Skeleton } from "../parts/loaded.js";
import { Money, Time } from "../parts/values.js";
import type { Picked } from "../ticket/live.js";
import { TicketPanel } from "../ticket/panel.js";
import { ConnectionBar } from "./connection-bar.js";
import { KeysHelp } from "./keys-help.js";
import type { Line } from "./ladder.js";
import { withStanding } from "./feeds/standing.js";
import { Ladders } from "./ladders.js";
import { Banner, Life } from "./life.js";
import { useMarket, type MarketLive } from "./live.js";
import { PriceHistory } from "./price-history.js";
import { Tape } from "./tape.js";
import { eventWords, inOrder, marketName } from "./words.js";
import "./market.css";

type MarketAnswer = z.infer<typeof Market>;
type EventAnswer = z.infer<typeof CatalogEvent>;

const STATUS_EVERY_MS = 3_000;
const CATALOG = "/v3/public/catalog";

export default function MarketPage({ marketId = "" }: PageProps) {
  // The book is requested together with the market, so that the first numbers wait for one answer only.
  const live = useMarket(marketId);
  const market = useResource(
    async (signal) => {
      const steps = live.steps.value;
      return { market: await call<MarketAnswer>("GET", `${CATALOG}/markets/${marketId}`, { signal }), steps };
    },
    [marketId],
    { everyMs: STATUS_EVERY_MS },
  );
  if (market.refusal?.status === 404 || market.refusal?.code === "INVALID_REQUEST")
    return (
      <Empty title="There is no such market">
        <p>
          <Link to="/">See all markets</Link>
        </p>
      </Empty>
    );
  // While the connection is lost the bar says so; a notice above the ladders would move them.
  const shown = market.value === undefined ? market : { ...market, refusal: undefined };
  return (
    <>
      {shown.refusal !== undefined && <h1>Market</h1>}
      <Loaded of={shown} what="the market" waiting={<Skeleton rows={20} isPage />}>
        {({ market: read, steps }) => (
          // An answer has every transition that the page knew when it asked, so the stream's later ones count until then.
          <Opened
            market={live.steps.value > steps ? withStanding(read, live.standing.value) : read}
            live={live}
            reload={market.reload}
          />
        )}
      </Loaded>
    </>
  );
}

interface OpenedProps {
  readonly market: MarketAnswer;
  readonly live: MarketLive;
  readonly reload: Resource<unknown>["reload"];
}

function Opened({ market, live, reload }: OpenedProps) {
  const { marketId, eventId, outcomes } = market;
  const event = useResource(
    (signal) => call<EventAnswer>("GET", `${CATALOG}/events/${eventId}`, { signal }),
    [eventId],
    { everyMs: STATUS_EVERY_MS },
  );
  const picked = useMemo(() => signal<Picked | undefined>(undefined), [marketId]);
  const names = useMemo(() => new Map(outcomes.map(({ outcomeId, name }) => [outcomeId, name])), [outcomes]);
  const steps = live.steps.value;
  // The stream reports a transition at once; the market and its event have more to say about it.
  useEffect(() => {
    if (steps === 0) return;
    reload();
    event.reload();
  }, [steps]);
  const pick = (outcomeId: string, line: Line, side: "offer" | "bid"): void => {
    const qty = side === "offer" ? line.qty : undefined;
    picked.value = { outcomeId, price: priceOf(line.ticks), ...(qty === undefined ? {} : { qty }) };
  };
  return (
    <div class="market">
      <ConnectionBar connection={live.connection} />
      <Head market={market} event={event} live={live} />
      <Banner market={market} event={event.value} />
      <div class={`market-trade${outcomes.length > 2 ? " market-trade-wide" : ""}`}>
        <Ladders outcomes={outcomes} books={live.books} onPick={pick} />
        <TicketPanel market={market} live={live} picked={picked} />
      </div>
      <div class="market-past">
        <PriceHistory market={market} />
        <Tape trades={live.trades} names={names} outcomes={outcomes.map(({ outcomeId }) => outcomeId)} />
      </div>
      <Life market={market} event={event.value} steps={steps} />
      <KeysHelp />
    </div>
  );
}

interface HeadProps {
  readonly market: MarketAnswer;
  readonly event: Resource<EventAnswer>;
  readonly live: MarketLive;
}

function Head({ market, event: { value: event }, live }: HeadProps) {
  const { marketId, eventId } = market;
  const prices = useResource(
    async (signal) => {
      const query = { markets: marketId };
      const path = `${CATALOG}/prices`;
      const { items } = await call<{ readonly items: readonly MarketPrices[] }>("GET", path, {
        query,
        signal,
      });
      return items[0];
    },
    [marketId],
    { everyMs: STATUS_EVERY_MS },
  );
  const siblings = useResource(
    async (signal) => {
      const query = { event: eventId, limit: 100 };
      return (
        await call<{ readonly items: readonly MarketAnswer[] }>("GET", `${CATALOG}/markets`, {
          query,
          signal,
        })
      ).items;
    },
    [eventId],
  );
  const others = inOrder(siblings.value ?? []).filter((other) => other.marketId !== marketId);
  useEffect(() => {
    if (event !== undefined) document.title = `${event.description}: ${market.description} · Overround`;
  }, [event?.description, market.description]);
  return (
    <header class="market-head">
      <div>
        <p class="market-where">
          {event !== undefined && (
            <>
              {event.league} · {eventWords(event.status)} · <Time ms={market.startsTs} />
            </>
          )}
        </p>
        <h1>{event?.description ?? market.description}</h1>
        <p class="market-what">{event !== undefined && marketName(market, event.description)}</p>
      </div>
      <div class="market-figures">
        <p>
          volume {prices.value === undefined ? "–" : <Money value={prices.value.volume} />}
          <Delivery live={live} />
        </p>
        <PriceSwitch />
      </div>
      <nav class="market-others" aria-label="Other markets of this event">
        {others.map((other) => (
          <Link key={other.marketId} to={`/markets/${other.marketId}`}>
            {marketName(other, event?.description)}
          </Link>
        ))}
        {siblings.value !== undefined && others.length === 0 && (
          <span class="quiet">The only market of this event</span>
        )}
        {siblings.value === undefined && siblings.refusal !== undefined && (
          <>
            <span>The other markets of this event could not be read.</span>
            <Button kind="quiet" busy={siblings.loading} onClick={siblings.reload}>
              Try again
            </Button>
          </>
        )}
      </nav>
    </header>
  );
}

/** Says how the numbers come. */
function Delivery({ live }: { readonly live: MarketLive }) {
  switch (live.connection.value.state) {
    case "live":
      return <span class="market-delivery"> · live</span>;
    case "polling":
      return <span class="market-delivery"> · every second</span>;
    case "lost":
      return <span class="market-delivery"> · connection lost</span>;
  }
}
