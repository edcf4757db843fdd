/** One order from its request to the settlement of its market. */

import type { ComponentChildren } from "preact";
import type { PageProps } from "../../app/pages.js";
import { Link } from "../../app/router.js";
import { call } from "../../data/api.js";
import { showQuantity } from "../../data/money.js";
import { useResource } from "../../data/resource.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Price, Time } from "../../parts/values.js";
import { Frame } from "../frame.js";
import { settlementOf } from "../settlement.js";
import type { FillAnswer, FoundOrder, OrderMarket, SettlementAnswer } from "./answers.js";
import { FILL_COLUMNS } from "./records.js";
import "./desk.css";

interface Course {
  readonly order: FoundOrder;
  readonly market: OrderMarket;
  readonly fills: readonly FillAnswer[];
  /** Settlement of the market; absent while the market has no grade. */
  readonly settlement: SettlementAnswer | undefined;
}

/** Rows of fills that are shown; more are in the list of the wallet. */
const FILLS = 500;

async function readCourse(orderId: string, signal: AbortSignal): Promise<Course> {
  const order = await call<FoundOrder>("GET", `/admin/v1/orders/${orderId}`, { signal });
  const { traderId, marketId, subaccount } = order;
  const query = { order: orderId, limit: FILLS, subaccount: subaccount ?? undefined };
  const [market, { items: fills }, settlement] = await Promise.all([
    call<OrderMarket>("GET", `/admin/v1/markets/${marketId}`, { signal }),
    call<{ items: FillAnswer[] }>("GET", `/admin/v1/traders/${traderId}/fills`, { query, signal }),
    settlementOf(marketId, signal),
  ]);
  return { order, market, fills, settlement };
}

export default function OrderPage({ traderId = "", orderId = "" }: PageProps) {
  const course = useResource((signal) => readCourse(orderId, signal), [orderId]);
  return (
    <Frame title="Order">
      <p>
        <Link to="/operator/desk">Desk</Link> · <Link to={`/operator/desk/${traderId}`}>the trader</Link>
      </p>
      <Loaded of={course} what="the order">
        {(value) => <Shown course={value} />}
      </Loaded>
    </Frame>
  );
}

function Shown({ course }: { readonly course: Course }) {
  const { order, market, fills, settlement } = course;
  const outcome = market.outcomes.find(({ outcomeId }) => outcomeId === order.outcomeId)?.name;
  return (
    <>
      <p class="operator-id">{order.orderId}</p>
      <ol class="course">
        <Step title="Accepted" ms={order.createdTs}>
          <p>
            {showQuantity(order.qty)} {outcome} at <Price value={order.price} />, {order.tif}, in{" "}
            <Link to={`/markets/${market.marketId}`}>{market.description}</Link>.
          </p>
          {order.clientId !== undefined && (
            <p class="quiet">
              The trader calls it <span class="operator-id">{order.clientId}</span>.
            </p>
          )}
        </Step>
        <Step title={order.filled === 0 ? "Not filled" : `${showQuantity(order.filled)} filled`}>
          {fills.length > 0 && (
            <Table
              label="Fills of the order"
              columns={FILL_COLUMNS}
              rows={fills}
              keyOf={({ fillId }) => fillId}
              empty={<Empty title="The order has no fill" />}
            />
          )}
        </Step>
        <Step title={endOf(order)} ms={order.updatedTs}>
          {order.reason !== undefined && <p>Reason: {order.reason}</p>}
        </Step>
        <Step title={`Market ${market.status.toLowerCase().replaceAll("_", " ")}`} ms={market.settledTs}>
          {settlement === undefined ? (
            <p>The market has no grade yet.</p>
          ) : (
            <p>
              <Link to={`/operator/settlement/${market.marketId}`}>Its settlement</Link> is{" "}
              {settlement.status.toLowerCase().replaceAll("_", " ")}: {settlement.paid} of{" "}
              {settlement.wallets} wallets.
            </p>
          )}
        </Step>
      </ol>
    </>
  );
}

function endOf({ status, remaining }: FoundOrder): string {
  switch (status) {
    case "PENDING":
      return "On its way to the book";
    case "OPEN":
      return `${showQuantity(remaining)} rest in the book`;
    case "FILLED":
      return "Filled";
    case "CANCELED":
      return `Canceled with ${showQuantity(remaining)} left`;
    case "REJECTED":
      return "Rejected";
    default:
      return status satisfies never;
  }
}

interface StepProps {
  readonly title: string;
  readonly ms?: number | null | undefined;
  readonly children?: ComponentChildren;
}

function Step({ title, ms, children }: StepProps) {
  return (
    <li>
      <h2>{title}</h2>
      {ms !== undefined && ms !== null && (
        <p class="quiet">
          <Time ms={ms} />
        </p>
      )}
      {children}
    </li>
  );
}
