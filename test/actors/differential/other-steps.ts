/** Steps that move money, protect wallets, and operate and settle markets, in the real and in the naive exchange. */

import { expect } from "chai";
import type { OperatorTransactionKind } from "../../../actors/ledger/types.js";
import { CURRENCIES, type Currency } from "../../../actors/market/types.js";
import { assert, contracts, millicents } from "../../../actors/units.js";
import type { Bench } from "./bench.js";
import type { Step } from "./steps.js";
import { GRID } from "../../support/exchange/commands.js";
import { ACTIONS, COARSE, FEES, gradeOf, pick, type TestWallet, TRANSACTIONS, uuid } from "./world.js";
import { unreachable } from "../../../actors/unreachable.js";

type Of<Kind extends Step["do"]> = Extract<Step, { do: Kind }>;

export function transact(bench: Bench, step: Of<"transact">): void {
  const kind = pick(TRANSACTIONS, step.kind);
  const amount = kind === "ADJUSTMENT" ? step.amount : Math.abs(step.amount);
  const clientRef = step.clientRef === undefined ? undefined : `ref ${step.clientRef}`;
  post(bench, bench.wallet(step.wallet), kind, amount, pick(CURRENCIES, step.currency), clientRef);
}

export function post(
  bench: Bench,
  wallet: TestWallet,
  transaction: OperatorTransactionKind,
  amount: number,
  currency: Currency,
  clientRef?: string,
): void {
  const isDebit = transaction === "WITHDRAWAL" || transaction === "CREDIT_RECLAIM";
  const signed = isDebit ? -amount : amount;
  const fits = signed >= 0 || bench.available(wallet, currency) + signed >= 0;
  const transactionId = bench.nextId(22);
  const reply = bench.ask(wallet, {
    kind: "transact",
    transactionId,
    transaction,
    wallet: wallet.wallet,
    trader: wallet.trader,
    currency,
    amount: millicents(amount),
    ref: "",
    clientRef,
  });
  const key = `${wallet.trader} ${clientRef ?? transactionId}`;
  const firstId = bench.transactions.get(key);
  expect(reply.ok, `${transaction} of ${amount}`).to.equal(firstId !== undefined || fits);
  if (!reply.ok) return;
  assert(reply.kind === "transaction", "the answer to a transaction has another kind");
  expect(reply.transactionId).to.equal(firstId ?? transactionId);
  if (firstId !== undefined) return;
  bench.transactions.set(key, transactionId);
  bench.naive.move(wallet.wallet, currency, signed);
}

export function transfer(bench: Bench, { trader: n, fund, amount, currency: c }: Of<"transfer">): void {
  const currency = c === 0 ? undefined : "COIN";
  const moved = currency ?? "CASH";
  const { trader } = bench.wallet(n);
  const [own, sub] = bench.wallets.filter((wallet) => wallet.trader === trader);
  assert(own !== undefined && sub !== undefined, "a trader has two wallets");
  const [from, to] = fund ? [own, sub] : [sub, own];
  const fits = amount <= bench.available(from, moved);
  const reply = bench.ask(own, {
    kind: "transfer",
    transferId: bench.nextId(23),
    direction: fund ? "fund" : "defund",
    trader,
    wallet: sub.wallet,
    currency,
    amount: millicents(amount),
  });
  assert(reply.ok && reply.kind === "transfer", "the answer to a transfer has another kind");
  expect(reply.transfer.status).to.equal(fits ? "Applied" : "Rejected");
  if (!fits) return;
  bench.naive.move(from.wallet, moved, -amount);
  bench.naive.move(to.wallet, moved, amount);
}

export function guard(bench: Bench, step: Of<"guard">): void {
  const wallet = bench.wallet(step.wallet);
  const { wallet: id, trader } = wallet;
  const groupId = `group ${step.group}`;
  switch (step.setting) {
    case "deadman":
      bench.ask(wallet, { kind: "deadman", wallet: id, trader, timeoutMs: step.bound * 1_000 });
      bench.naive.setDeadman(id, step.bound === 0 ? undefined : bench.real.now + step.bound * 1_000);
      return;
    case "policy":
      bench.ask(wallet, {
        kind: "setPolicy",
        wallet: id,
        trader,
        policy: step.bound % 2 === 0 ? "net" : "hold",
      });
      return;
    case "group": {
      const bounds = { maxFilledQty: contracts(step.bound), windowMs: 3_000 };
      bench.ask(wallet, { kind: "setGroup", wallet: id, trader, groupId, ...bounds });
      bench.naive.setGroup(id, groupId, bounds);
      return;
    }
    case "reset": {
      const reply = bench.ask(wallet, { kind: "resetGroup", wallet: id, groupId });
      expect(reply.ok).to.equal(bench.naive.groupState(id, groupId) !== "unknown");
      bench.naive.resetGroup(id, groupId);
      return;
    }
    default:
      unreachable(step.setting);
  }
}

export function lifecycle(bench: Bench, step: Of<"lifecycle">): void {
  const marketId = bench.marketId(step.market);
  const actions = step.actions.map((n) => pick(ACTIONS, n));
  const byEvent = step.byEvent === true ? true : undefined;
  bench.real.market(marketId, { kind: "lifecycle", actions, byEvent });
  bench.naive.lifecycle(marketId, actions, byEvent);
  bench.deliverAll();
}

export function configure(bench: Bench, step: Of<"configure">): void {
  const marketId = bench.marketId(step.market);
  const fee = pick(FEES, step.fee);
  const liveDelayMs = step.delay * 1_500;
  const ticks = step.coarse ? COARSE : GRID;
  bench.real.market(marketId, { kind: "configure", fee, liveDelayMs, ticks });
  const market = bench.naive.market(marketId);
  market.definition = { ...market.definition, fee, liveDelayMs, ticks };
}

export function grade(bench: Bench, { market: n, kind, outcome, batch }: Of<"grade">): void {
  const marketId = bench.marketId(n);
  const requested = gradeOf(kind, outcome, bench.naive.market(marketId).outcomes);
  const reply = bench.real.market(marketId, { kind: "grade", settlementId: uuid(24, n), grade: requested });
  expect(reply?.ok, "a grade").to.equal(bench.naive.grade(marketId, requested));
  bench.deliverAll();
  settleAll(bench, marketId, batch);
  bench.naive.settle(marketId);
}

/** Settles in batches to the end, and then once more, because a repeat must change nothing. */
function settleAll(bench: Bench, marketId: string, limit: number): void {
  for (let rounds = 0, done = false; !done; rounds += 1) {
    const reply = bench.real.market(marketId, { kind: "settle", limit });
    bench.deliverAll();
    done = reply === undefined || !reply.ok || (reply.kind === "settlement" && reply.done);
    expect(rounds, "rounds of a settlement").to.be.below(50);
  }
  bench.real.market(marketId, { kind: "settle", limit });
  bench.deliverAll();
}

export function remediate(bench: Bench, { market: n, batch }: Of<"remediate">): void {
  const marketId = bench.marketId(n);
  const reply = bench.real.market(marketId, { kind: "remediate", reason: "wrong" });
  const allowed = bench.naive.remediate(marketId);
  expect(reply?.ok, "a remediation").to.equal(allowed);
  if (!allowed) return;
  for (const { wallet } of bench.wallets) bench.mayBeNegative.add(wallet);
  bench.deliverAll();
  settleAll(bench, marketId, batch);
}
