/** Columns of the files of orders, fills and transactions. Amounts are those of the service, unchanged. */

import type { z } from "zod";
import type { Transaction } from "../../surface-a/schemas/account.js";
import type { Fill, Order } from "../../surface-a/schemas/orders.js";
import { namesOf, type MarketNames } from "./catalog.js";
import type { CsvColumn } from "../data/csv.js";

export type OrderAnswer = z.infer<typeof Order>;
export type FillAnswer = z.infer<typeof Fill>;
export type TransactionAnswer = z.infer<typeof Transaction>;

interface OfMarket {
  readonly marketId: string;
  readonly outcomeId: string;
  readonly currency?: "COIN" | undefined;
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** Returns the columns that name the market and the outcome of a row. */
function marketColumns<Row extends OfMarket>(
  names: ReadonlyMap<string, MarketNames>,
): readonly CsvColumn<Row>[] {
  return [
    { heading: "event", value: ({ marketId }) => names.get(marketId)?.event },
    { heading: "market", value: ({ marketId }) => names.get(marketId)?.description },
    { heading: "outcome", value: ({ marketId, outcomeId }) => names.get(marketId)?.outcomes.get(outcomeId) },
    { heading: "marketId", value: ({ marketId }) => marketId },
    { heading: "outcomeId", value: ({ outcomeId }) => outcomeId },
  ];
}

const currencyColumn: CsvColumn<{ readonly currency?: "COIN" | undefined }> = {
  heading: "currency",
  value: ({ currency }) => currency ?? "CASH",
};

async function namesFor(
  rows: readonly OfMarket[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, MarketNames>> {
  return namesOf(
    rows.map(({ marketId }) => marketId),
    signal,
  );
}

/** Returns the columns of a file of orders. */
export async function orderColumns(
  rows: readonly OrderAnswer[],
  signal: AbortSignal,
): Promise<readonly CsvColumn<OrderAnswer>[]> {
  return [
    { heading: "created", value: ({ createdTs }) => iso(createdTs) },
    { heading: "orderId", value: ({ orderId }) => orderId },
    { heading: "clientId", value: ({ clientId }) => clientId },
    ...marketColumns<OrderAnswer>(await namesFor(rows, signal)),
    { heading: "price", value: ({ price }) => price },
    { heading: "qty", value: ({ qty }) => qty },
    { heading: "filled", value: ({ qty, remaining }) => qty - remaining },
    { heading: "tif", value: ({ tif }) => tif },
    { heading: "status", value: ({ status }) => status },
    { heading: "reason", value: ({ reason }) => reason },
    { heading: "expires", value: ({ expiresTs }) => (expiresTs === undefined ? undefined : iso(expiresTs)) },
    currencyColumn,
  ];
}

/** Returns the columns of a file of fills. */
export async function fillColumns(
  rows: readonly FillAnswer[],
  signal: AbortSignal,
): Promise<readonly CsvColumn<FillAnswer>[]> {
  return [
    { heading: "time", value: ({ ts }) => iso(ts) },
    { heading: "fillId", value: ({ fillId }) => fillId },
    { heading: "orderId", value: ({ orderId }) => orderId },
    { heading: "clientId", value: ({ clientId }) => clientId },
    ...marketColumns<FillAnswer>(await namesFor(rows, signal)),
    { heading: "qty", value: ({ qty }) => qty },
    { heading: "cost", value: ({ cost }) => cost },
    { heading: "fee", value: ({ fee = "0.00000" }) => fee },
    { heading: "role", value: ({ taker }) => (taker ? "taker" : "maker") },
    { heading: "wash", value: ({ wash = false }) => wash },
    currencyColumn,
  ];
}

/** Returns the columns of a file of transactions. */
export function transactionColumns(): Promise<readonly CsvColumn<TransactionAnswer>[]> {
  const columns: readonly CsvColumn<TransactionAnswer>[] = [
    { heading: "time", value: ({ ts }) => iso(ts) },
    { heading: "transactionId", value: ({ transactionId }) => transactionId },
    { heading: "kind", value: ({ kind }) => kind },
    { heading: "amount", value: ({ amount }) => amount },
    { heading: "ref", value: ({ ref }) => ref },
    currencyColumn,
  ];
  return Promise.resolve(columns);
}
