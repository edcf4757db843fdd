/** Traders: their identity, state and wallets, and the transactions that operators post (contract section 8.10). */

import { randomUUID } from "node:crypto";
import { ledgerShardOf } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import { formatMoney, type Millicents } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { listSubaccounts } from "../../db/queries/accounts/subaccounts.js";
import { stateOf } from "../../db/queries/accounts/restrictions.js";
import {
  endSessions,
  findTrader,
  listTraders,
  lockTrader,
  setKyc,
  setTraderState,
  type Trader,
} from "../../db/queries/accounts/traders.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import type { TraderState } from "../../db/schema/accounts.js";
import type { GatewayExchange } from "../../stream/log/ports.js";
import { IDS } from "../docs/examples.js";
import { endOfSessions } from "../auth/web-tokens.js";
import type { Changes } from "../reference/changes.js";
import { operatorWith } from "../request/access.js";
import { Refused, refusedBy } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import { route } from "../request/route.js";
import type { Freshness } from "../trading/freshness.js";
import { readBalances } from "../trading/ledger-client.js";
import { applyState } from "../trading/restricting.js";
import { auditedAction, recordIntent, requireChange } from "./audit.js";
import { postTransaction, walletOfTrader } from "./desk/transactions.js";
import { WAITS, type Approvals } from "./operators/approvals.js";
import {
  AdminTrader,
  AdminTraderWithWallets,
  Collateral,
  CollateralBody,
  KycBody,
  ReasonBody,
  StateBody,
  TradersQuery,
  TransactedOrApproval,
  TransactionBody,
} from "./schemas/traders.js";

interface AdminTraderParts {
  readonly db: Database;
  readonly exchange: GatewayExchange;
  readonly formats: Formats;
  readonly freshness: Freshness;
  readonly changes: Changes;
  /** Largest transaction that one operator posts where a settlement takes two. */
  readonly approvalLimit: Millicents;
}

function traderOnWire(trader: Trader, nowTs: number) {
  const { traderId, email, role, kyc, stateReason, selfExcludedUntilTs, createdTs } = trader;
  const state = stateOf(trader, nowTs);
  return { traderId, email, role, kyc, state, stateReason, selfExcludedUntilTs, createdTs };
}

/** Refuses a state that changes nothing, so that nobody takes it for a change. */
function refuseSameState(
  { state, selfExcludedUntilTs }: Trader,
  requested: TraderState,
  nowTs: number,
): void {
  const isExcluded = state === "ACTIVE" && (selfExcludedUntilTs ?? 0) > nowTs;
  if (isExcluded && requested === state)
    throw new Refused(
      "INVALID_TRANSITION",
      "the trader is excluded at their own request, which nobody can end early; see selfExcludedUntilTs",
    );
  requireChange({ state }, { state: requested });
}

export function adminTraderRoutes(
  { db, exchange, formats, freshness, changes, approvalLimit }: AdminTraderParts,
  approvals: Approvals,
) {
  const existingTrader = async (traderId: string): Promise<Trader> => {
    const trader = await findTrader(db, traderId);
    if (trader === undefined) throw new Refused("TRADER_NOT_FOUND");
    return trader;
  };

  /** Returns a trader for a change. Operators hold no money, and change by `/admin/v1/operators`. */
  const changeable = async (traderId: string): Promise<Trader> => {
    const trader = await existingTrader(traderId);
    if (trader.role !== "operator") return trader;
    throw new Refused(
      "TRADER_NOT_FOUND",
      "the account is that of an operator; change it with PATCH /admin/v1/operators",
    );
  };

  const list = route("GET /admin/v1/traders", {
    access: operatorWith("read"),
    query: TradersQuery,
    answer: pageOf(AdminTrader),
    docs: {
      summary: "List traders",
      description:
        "Returns all accounts, newest first. `search` narrows to addresses with that part, in either letter case.",
      exampleQuery: { email: "trader@example.com" },
    },
    run: async ({ query, incoming }) => {
      const { email, search, ...page } = query;
      const { items, next } = await listTraders(db, { email, search }, page);
      return { body: { items: items.map((trader) => traderOnWire(trader, incoming.receivedMs)), next } };
    },
  });

  const one = route("GET /admin/v1/traders/:traderId", {
    access: operatorWith("read"),
    answer: AdminTraderWithWallets,
    docs: {
      summary: "Retrieve a trader",
      description: "Returns the trader with the balances of every wallet.",
      refuses: ["TRADER_NOT_FOUND"],
    },
    run: async ({ id, incoming }) => {
      const trader = await existingTrader(id("traderId"));
      const { traderId } = trader;
      const own = (await readBalances(exchange, traderId, traderId)).balances;
      const subaccounts = await listSubaccounts(db, traderId, incoming.receivedMs);
      const shown = subaccounts.map(async ({ keyId, label, subaccountId }) => {
        const { balances, policy } = await readBalances(exchange, traderId, subaccountId);
        return { keyId, label, balance: formatMoney(balances.CASH.total), collateral: policy };
      });
      const cash = { CASH: formatMoney(own.CASH.total), COIN: formatMoney(own.COIN.total) };
      const shownTrader = traderOnWire(trader, incoming.receivedMs);
      return { body: { ...shownTrader, cash, subaccounts: await Promise.all(shown) } };
    },
  });

  const kyc = route("POST /admin/v1/traders/:traderId/kyc", {
    access: operatorWith("accounts"),
    body: KycBody,
    answer: AdminTrader,
    docs: {
      summary: "Set the identity status of a trader",
      description: "Records the result of the identity verification.",
      refuses: ["TRADER_NOT_FOUND", "NO_CHANGE"],
      exampleBody: { status: "VERIFIED", reason: "the documents agree" },
    },
    run: async ({ body, id, ...call }) => {
      const { traderId } = await changeable(id("traderId"));
      const after = await db.transaction(async (tx) => {
        const before = await lockTrader(tx, traderId);
        if (before === undefined) throw new Refused("TRADER_NOT_FOUND");
        requireChange({ status: before.kyc }, { status: body.status });
        const record = { action: "trader.kyc", subject: traderId, before: before.kyc, after: body };
        await recordAudit(tx, auditedAction(call, record));
        return setKyc(tx, traderId, body.status, call.incoming.receivedMs);
      });
      if (after === undefined) throw new Refused("TRADER_NOT_FOUND");
      await changes.publish("trader", traderId);
      return { body: traderOnWire(after, call.incoming.receivedMs) };
    },
  });

  const state = route("POST /admin/v1/traders/:traderId/state", {
    access: operatorWith("accounts"),
    body: StateBody,
    answer: AdminTrader,
    docs: {
      summary: "Set the state of a trader",
      description:
        "Locks, excludes or reactivates a trader. Any state but `ACTIVE` cancels all orders of the trader and refuses placements. An exclusion that the trader asked for lasts to its end, whatever the state.",
      refuses: ["TRADER_NOT_FOUND", "INVALID_TRANSITION", "NO_CHANGE"],
      exampleBody: { state: "LOCKED", reason: "a review" },
    },
    run: async ({ body, id, ...call }) => {
      const { traderId } = await changeable(id("traderId"));
      const nowTs = call.incoming.receivedMs;
      const after = await db.transaction(async (tx) => {
        const before = await lockTrader(tx, traderId);
        if (before === undefined) throw new Refused("TRADER_NOT_FOUND");
        refuseSameState(before, body.state, nowTs);
        const was = { state: before.state, reason: before.stateReason };
        await recordAudit(
          tx,
          auditedAction(call, { action: "trader.state", subject: traderId, before: was, after: body }),
        );
        return setTraderState(tx, traderId, { ...body, nowTs });
      });
      if (after === undefined) throw new Refused("TRADER_NOT_FOUND");
      await applyState({ db, exchange, formats, changes }, after, nowTs);
      return { body: traderOnWire(after, nowTs) };
    },
  });

  const end = route("POST /admin/v1/traders/:traderId/sessions/end", {
    access: operatorWith("accounts"),
    status: 204,
    body: ReasonBody,
    optionalBody: true,
    docs: {
      summary: "End the sessions of a trader",
      description: "Ends every web session of the trader at once, on every gateway. Keys go on working.",
      refuses: ["TRADER_NOT_FOUND"],
      exampleBody: { reason: "a lost laptop" },
    },
    run: async ({ body, id, ...call }) => {
      const { traderId } = await changeable(id("traderId"));
      await db.transaction(async (tx) => {
        await endSessions(tx, traderId, endOfSessions(call.incoming.receivedMs));
        const record = { action: "trader.sessions.end", subject: traderId, after: body };
        await recordAudit(tx, auditedAction(call, record));
      });
      await changes.publish("trader", traderId);
      return { body: undefined };
    },
  });

  const post = approvals.guard(
    "trader.transaction",
    "money",
    async (call, { subject: traderId, action: transaction }) => {
      const wallet = await walletOfTrader(db, traderId, transaction.subaccountKeyId);
      return postTransaction({ db, exchange, freshness }, call, { traderId, wallet, transaction });
    },
  );

  const transact = route("POST /admin/v1/traders/:traderId/transactions", {
    access: operatorWith("money"),
    status: 201,
    body: TransactionBody,
    answer: TransactedOrApproval,
    docs: {
      summary: "Post a transaction",
      description:
        "Credits or debits the trader's own wallet, or a subaccount with `subaccountKeyId`. Each `clientRef` takes effect once. An amount above `APPROVAL_LIMIT` may wait for a second operator.",
      refuses: [
        "TRADER_NOT_FOUND",
        "SUBACCOUNT_NOT_FOUND",
        "NOT_A_SUBACCOUNT_KEY",
        "INSUFFICIENT_BALANCE",
        "AMOUNT_OUT_OF_RANGE",
        "CLIENT_ID_REUSED",
      ],
      also: WAITS,
      exampleBody: {
        kind: "DEPOSIT",
        amount: "100.00",
        currency: "CASH",
        reason: "a bank transfer",
        clientRef: "bank-1",
      },
    },
    run: async ({ body, id, ...call }) => {
      const { traderId } = await changeable(id("traderId"));
      const { kind, amount, subaccountKeyId } = body;
      if (amount < 0 && kind !== "ADJUSTMENT") {
        throw new Refused("INVALID_BODY", `amount must be positive; the kind ${kind} gives its sign`);
      }
      await walletOfTrader(db, traderId, subaccountKeyId);
      const waits = approvals.areRequired && Math.abs(amount) > approvalLimit;
      // A transaction that waits needs a reference, so that a repeated approval posts it once.
      const clientRef = body.clientRef ?? (waits ? `approval ${randomUUID()}` : undefined);
      return post(call, traderId, { action: "trader.transaction", ...body, clientRef }, waits);
    },
  });

  const collateral = route("POST /admin/v1/traders/:traderId/collateral", {
    access: operatorWith("money"),
    body: CollateralBody,
    answer: Collateral,
    docs: {
      summary: "Set the collateral policy of a subaccount",
      description:
        "With `hold`, each open order reserves its own money. With `net`, orders on both sides of a market with two outcomes reserve the worst case of both. A change is refused while the open orders would reserve more than the wallet holds.",
      refuses: [
        "TRADER_NOT_FOUND",
        "SUBACCOUNT_NOT_FOUND",
        "NOT_A_SUBACCOUNT_KEY",
        "INSUFFICIENT_BALANCE",
        "NO_CHANGE",
      ],
      exampleBody: { policy: "net", subaccountKeyId: IDS.keyId },
    },
    run: async ({ body, id, ...call }) => {
      const { traderId } = await changeable(id("traderId"));
      const { policy, subaccountKeyId } = body;
      const wallet = await walletOfTrader(db, traderId, subaccountKeyId);
      requireChange({ policy: (await readBalances(exchange, traderId, wallet)).policy }, { policy });
      const command = { kind: "setPolicy", wallet, trader: traderId, policy } as const;
      const record = { action: "trader.collateral", subject: traderId, after: body };
      const reply = await recordIntent(db, call, record, () =>
        exchange.ledger(ledgerShardOf(traderId), command),
      );
      if (!reply.ok) throw refusedBy(reply.refusal);
      return { body: { policy } };
    },
  });

  return [list, one, kyc, state, end, transact, collateral];
}
