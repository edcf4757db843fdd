/** Orders of a subaccount as a table, with their filters, their file, and the cancel of those of the subaccount Web. */

import { useRef, useState } from "preact/hooks";
import type { z } from "zod";
import { ORDER_STATUSES } from "../../../actors/ledger/types.js";
import type { CancelResult } from "../../surface-a/schemas/orders.js";
import { useQuery } from "../app/router.js";
import { call } from "../data/api.js";
import { endInWords } from "../data/reasons.js";
import { asRefusal, type Refusal } from "../data/refusal.js";
import { Button } from "../parts/button.js";
import { Choice } from "../parts/field.js";
import { Empty } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Price, Quantity } from "../parts/values.js";
import { signedCall, WEB, webKey } from "../trading/web-key.js";
import { WebKeyPanel } from "../trading/web-key-panel.js";
import { outcomeName } from "./catalog.js";
import { ExportButton } from "../parts/export.js";
import { DayFields, useDays } from "./filters.js";
import { ListView, useNames } from "./list-view.js";
import { useList } from "./list.js";
import { orderColumns, type OrderAnswer } from "./records.js";
import { marketColumns, OneMarket, useMarketFilter, type TableProps } from "./tables.js";

const FILTERS = ["all", "open", "filled", "canceled", "rejected"] as const;
type StatusFilter = (typeof FILTERS)[number];
const FILTER_NAMES: Readonly<Record<StatusFilter, string>> = {
  all: "All",
  open: "Open",
  filled: "Filled",
  canceled: "Canceled",
  rejected: "Rejected",
};

function statusesOf(filter: StatusFilter): string {
  switch (filter) {
    case "all":
      return ORDER_STATUSES.join();
    case "open":
      return "PENDING,OPEN";
    case "filled":
    case "canceled":
    case "rejected":
      return filter.toUpperCase();
    default:
      return filter satisfies never;
  }
}

/** Pauses in ms before the reads of an order that is being canceled. */
const READ_AFTER_MS = [150, 300, 600, 1_200, 2_400];

const isOpen = ({ status }: OrderAnswer): boolean => status === "PENDING" || status === "OPEN";

interface RefusedCancel {
  readonly order: OrderAnswer;
  readonly refusal: Refusal;
}

/** Cancels of orders. An order counts as being canceled until a read shows its end. */
interface Cancels {
  /** Refused cancels by the id of their order. */
  readonly refused: ReadonlyMap<string, RefusedCancel>;
  readonly dismiss: (orderId: string) => void;
  readonly isCanceling: (orderId: string) => boolean;
  /** Cancels an order once, however often it is called. */
  readonly cancel: (order: OrderAnswer) => Promise<void>;
  /** Returns the order as it was read last. */
  readonly latest: (order: OrderAnswer) => OrderAnswer;
}

function useCancels(subaccount: string, onCanceled: () => void): Cancels {
  const [refused, setRefused] = useState<ReadonlyMap<string, RefusedCancel>>(new Map());
  const [canceling, setCanceling] = useState<ReadonlySet<string>>(new Set());
  const [ended, setEnded] = useState<ReadonlyMap<string, OrderAnswer>>(new Map());
  const running = useRef(new Set<string>());

  const readUntilEnded = async (orderId: string): Promise<void> => {
    for (const pauseMs of READ_AFTER_MS) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      const path = `/v3/orders/${orderId}`;
      // A service that is away: the next read decides.
      const order = await call<OrderAnswer>("GET", path, { query: { subaccount } }).catch(() => undefined);
      if (order === undefined || isOpen(order)) continue;
      setEnded((known) => new Map(known).set(orderId, order));
      return;
    }
  };
  const dismiss = (orderId: string): void =>
    setRefused((known) => new Map([...known].filter(([id]) => id !== orderId)));
  const cancel = async (order: OrderAnswer): Promise<void> => {
    const { orderId } = order;
    if (running.current.has(orderId)) return;
    running.current.add(orderId);
    setCanceling(new Set(running.current));
    dismiss(orderId);
    try {
      await signedCall<z.infer<typeof CancelResult>>("DELETE", `/v3/orders/${orderId}`);
      await readUntilEnded(orderId);
    } catch (error) {
      setRefused((known) => new Map(known).set(orderId, { order, refusal: asRefusal(error) }));
      // A cancel that is refused, or has no answer, may be that of an order which has ended.
      void readUntilEnded(orderId);
    } finally {
      running.current.delete(orderId);
      setCanceling(new Set(running.current));
      onCanceled();
    }
  };
  return {
    refused,
    dismiss,
    isCanceling: (orderId) => canceling.has(orderId),
    cancel,
    latest: (order) => ended.get(order.orderId) ?? order,
  };
}

/** Says why the orders of this subaccount cannot be canceled here, and what to do; empty when they can. */
function WhyNoCancel({ label }: { readonly label: string }) {
  if (label !== WEB)
    return (
      <p class="quiet">
        Open orders of {label} are canceled by the program that has its key. This browser signs for {WEB}{" "}
        alone.
      </p>
    );
  if (webKey.value !== undefined) return null;
  return (
    <section class="portfolio-key" aria-label="Cancel orders">
      <p>To cancel open orders here, this browser needs the key of {WEB}.</p>
      <WebKeyPanel />
    </section>
  );
}

interface OrdersProps extends TableProps {
  /** Called when a cancel has ended. */
  readonly onCanceled: () => void;
}

export function Orders({ subaccount, label, onCanceled }: OrdersProps) {
  const [typed, setTyped] = useQuery("status");
  const filter = FILTERS.find((one) => one === typed) ?? "all";
  const { market, clear } = useMarketFilter();
  const query = { subaccount, status: statusesOf(filter), market, ...useDays() };
  const list = useList<OrderAnswer>("/v3/orders", query);
  const names = useNames(list.rows);
  const { refused, dismiss, isCanceling, cancel, latest } = useCancels(subaccount, onCanceled);
  const rows = list.rows?.map(latest);
  const nameOf = (order: OrderAnswer): string =>
    `${order.remaining} ${outcomeName(names, order)} at ${order.price}`;
  const mayCancel = label === WEB && webKey.value !== undefined;
  return (
    <>
      <div class="filters">
        <Choice
          label="Status"
          value={filter}
          choices={FILTERS.map((one) => [one, FILTER_NAMES[one]] as const)}
          onChange={(value) => setTyped(value === "all" ? "" : value)}
        />
        <DayFields />
        <ExportButton name={`orders-${label}`} path="/v3/orders" query={query} columnsFor={orderColumns} />
      </div>
      <OneMarket clear={clear} />
      {rows?.some(isOpen) === true && <WhyNoCancel label={label} />}
      {[...refused].map(([orderId, { order, refusal }]) => (
        <section key={orderId} aria-label={`Refused cancel: ${nameOf(order)}`}>
          <p>Cancel of {nameOf(order)}:</p>
          <Notice refusal={refusal} onDismiss={() => dismiss(orderId)} />
        </section>
      ))}
      <ListView
        label="Orders"
        list={{ ...list, rows }}
        keyOf={({ orderId }) => orderId}
        empty={
          <Empty title="No orders">
            <p>Orders of this subaccount that fit the filters are listed here, also after they have ended.</p>
          </Empty>
        }
        columns={[
          ...marketColumns<OrderAnswer>(names, ({ createdTs }) => createdTs, endInWords),
          { title: "Price", numeric: true, cell: ({ price }) => <Price value={price} /> },
          { title: "Contracts", numeric: true, cell: ({ qty }) => <Quantity value={qty} /> },
          {
            title: "Filled",
            numeric: true,
            wide: true,
            cell: ({ qty, remaining }) => <Quantity value={qty - remaining} />,
          },
          {
            title: "Type",
            wide: true,
            cell: ({ tif, currency }) => (currency === undefined ? tif : `${tif}, ${currency}`),
          },
          { title: "State", wide: true, cell: endInWords },
          ...(mayCancel
            ? [
                {
                  title: "",
                  cell: (order: OrderAnswer) => {
                    const text = isCanceling(order.orderId) ? "Canceling" : "Cancel";
                    return (
                      isOpen(order) && (
                        <Button
                          kind="quiet"
                          busy={isCanceling(order.orderId)}
                          label={`${text}: ${nameOf(order)}`}
                          onClick={() => void cancel(order)}
                        >
                          {text}
                        </Button>
                      )
                    );
                  },
                },
              ]
            : []),
        ]}
      />
    </>
  );
}
