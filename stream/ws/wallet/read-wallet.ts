/** Reads a wallet from its ledger, a page at a time: no answer is larger than a page, and other commands come in between. */

import { setTimeout as sleep } from "node:timers/promises";
import type { LedgerCommand } from "../../../actors/ledger/commands.js";
import type { OpenOrder, WalletPosition, WalletSnapshot } from "../../../actors/ledger/types.js";
import { walletPageOf } from "../../../actors/ledger/ledger.js";
import { assert } from "../../../actors/units.js";
import type { Exchange } from "../../log/ports.js";
import type { WalletBase } from "./fold.js";

type Part = Extract<LedgerCommand, { kind: "wallet" }>["part"];
type Ask = (part: Part) => Promise<WalletSnapshot>;

/** Returns the queries of one wallet. They throw `Unavailable`. */
export function walletQueries(exchange: Pick<Exchange, "ledger">, shard: number, wallet: string): Ask {
  return async (part) => {
    const reply = await exchange.ledger(shard, { kind: "wallet", wallet, part }, { rememberMs: 0 });
    assert(reply.ok && reply.kind === "wallet", `ledger ${shard} did not return wallet ${wallet}`);
    return reply.wallet;
  };
}

/** Pause after a page as a multiple of its time, and the longest one in ms. */
const PAGE_REST = 2;
const MAX_PAGE_REST_MS = 50;

/**
 * Reads the orders and positions of a wallet. Its pages may be of different seqs: those of the result are the first ones,
 * and `pageSeqs` has all of them. Pauses by `rest` between the pages, so that the ledger, the log and the event loop serve
 * others in between.
 */
export async function readWalletBase(
  ask: Ask,
  rest: (ms: number) => Promise<unknown> = sleep,
): Promise<WalletBase> {
  const whole = await ask({ page: 0, of: 1 });
  let needed = whole.pages;
  if (needed === undefined) return whole;
  for (;;) {
    // Twice the pages leave room for the orders that come meanwhile.
    const read = await readPages(resting(ask, rest), 2 * needed);
    if (typeof read !== "number") return read;
    needed = read;
  }
}

/** Returns the queries of a wallet with a pause between them. */
function resting(ask: Ask, rest: (ms: number) => Promise<unknown>): Ask {
  let restMs = 0;
  return async (part) => {
    if (restMs > 0) await rest(restMs);
    const beganMs = performance.now();
    const page = await ask(part);
    restMs = Math.min(MAX_PAGE_REST_MS, PAGE_REST * (performance.now() - beganMs));
    return page;
  };
}

/** Reads `of` pages. Returns the number of pages that are needed when the wallet has grown too large for these. */
async function readPages(ask: Ask, of: number): Promise<WalletBase | number> {
  const open: OpenOrder[] = [];
  const held: WalletPosition[] = [];
  const pageSeqs: { orders: number; positions: number }[] = [];
  for (let page = 0; page < of; page += 1) {
    const { orders, positions, pages: needed } = await ask({ page, of });
    if (needed !== undefined) return needed;
    // A worker of an older build answers with all pages.
    open.push(...orders.open.filter(({ orderId }) => walletPageOf(orderId, of) === page));
    held.push(...positions.positions.filter(({ marketId }) => walletPageOf(marketId, of) === page));
    pageSeqs.push({ orders: orders.seq, positions: positions.seq });
  }
  const [first] = pageSeqs;
  assert(first !== undefined, "a wallet was read in no pages");
  return {
    orders: { seq: first.orders, open },
    positions: { seq: first.positions, positions: held },
    pageSeqs,
  };
}
