/**
 * Trading side of a market page: the order ticket, the own orders and the position. In a grid of two columns the ticket
 * stands in the second one, and the orders and the position below the first.
 */

import type { ReadonlySignal, Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Link } from "../app/router.js";
import { call } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { session, signInAddress } from "../data/session.js";
import { Skeleton } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { webKey } from "../trading/web-key.js";
import { WebKeyPanel } from "../trading/web-key-panel.js";
import { Available } from "./available.js";
import { TicketForm } from "./form.js";
import type { MarketAnswer, Picked, TicketLive } from "./live.js";
import { OwnOrders } from "./orders.js";
import { OwnOrderList } from "./own-orders.js";
import { PositionPanel } from "./position.js";
import { tableOf } from "./steps.js";
import { Ticket } from "./ticket.js";
import "./ticket.css";

/** Time after which the tick table is read again; an operator may publish another one. */
const TICKS_MS = 10 * 60_000;

interface PanelProps {
  readonly market: MarketAnswer;
  readonly live: TicketLive;
  /** Level that was chosen in a ladder; it fills the ticket. */
  readonly picked: ReadonlySignal<Picked | undefined> | Signal<Picked | undefined>;
}

/** Returns the ticket and the own orders of a market; they live as long as the panel shows the market. */
function useTicket({ market, live, picked }: PanelProps): {
  readonly ticket: Ticket;
  readonly orders: OwnOrders;
} {
  const { marketId, outcomes } = market;
  const held = useMemo(() => {
    const orders = new OwnOrders(marketId, live);
    return { orders, ticket: new Ticket(marketId, outcomes[0]?.outcomeId ?? "", orders) };
  }, [marketId, live]);
  useEffect(() => () => held.orders.close(), [held]);
  useEffect(
    () => picked.subscribe((level) => level !== undefined && held.ticket.pick(level)),
    [held, picked],
  );
  return held;
}

export function TicketPanel(props: PanelProps) {
  const { market, live, picked } = props;
  const { ticket, orders } = useTicket(props);
  const ticks = useResource(
    (signal) => call<{ readonly prices: readonly string[] }>("GET", "/v3/public/ticks", { signal }),
    [],
    { everyMs: TICKS_MS },
  );
  const table = useMemo(() => tableOf(ticks.value?.prices ?? []), [ticks.value]);
  const priceInput = useRef<HTMLInputElement>(null);
  useEffect(
    () =>
      picked.subscribe((level) => {
        // On a touch screen the focus would open the keyboard over the ladder.
        if (level !== undefined && window.matchMedia("(hover: hover)").matches) priceInput.current?.focus();
      }),
    [picked],
  );

  const isLost = live.connection.value.state === "lost";
  const trader = session.value?.role === "trader";
  const hasKey = webKey.value !== undefined;
  const [open, positions] = [live.orders.value, live.positions.value];
  const isKnown = open !== undefined && positions !== undefined;
  return (
    <div class={hasKey ? "ticket ticket-trading" : "ticket"}>
      <section class="ticket-order" aria-labelledby="ticket-title">
        <div class="ticket-head">
          <h2 id="ticket-title">Order</h2>
          {hasKey && <Available orders={live.orders} positions={live.positions} />}
        </div>
        <Notice refusal={ticks.refusal} />
        <TicketForm
          market={market}
          ticket={ticket}
          table={table}
          priceInput={priceInput}
          mayTrade={hasKey}
          lockedBecause={lockOf(market, isLost, !hasKey || isKnown)}
        />
        {session.value === undefined && (
          <Link to={signInAddress()} class="button button-main">
            Log in to trade
          </Link>
        )}
        {session.value?.role === "operator" && (
          <p class="ticket-quiet">Operators do not trade. Log in as a trader to place orders.</p>
        )}
        {trader && !hasKey && <WebKeyPanel />}
      </section>
      {hasKey && (
        <>
          <OwnOrderList
            market={market}
            orders={orders}
            known={open !== undefined}
            table={table}
            locked={isLost}
          />
          {positions === undefined ? (
            <Skeleton rows={2} />
          ) : (
            <PositionPanel market={market} positions={positions} stage={ticket.stage.value} />
          )}
        </>
      )}
    </div>
  );
}

/** Returns why the ticket takes no order now, in words. */
function lockOf({ status, paused }: MarketAnswer, isLost: boolean, isKnown: boolean): string | undefined {
  if (isLost) return "The connection is lost. The ticket is locked until it is back.";
  switch (status) {
    case "OPEN":
      if (paused === true) return "The market is paused. The ticket is locked until it goes on.";
      return isKnown ? undefined : "Your orders here are being read. The ticket opens when they are shown.";
    case "CLOSED":
      return "The market is closed and takes no orders.";
    case "SETTLED":
      return "The market is settled and takes no orders.";
  }
}
