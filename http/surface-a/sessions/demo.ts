/** Routes of the demo: its login, and play money. They exist only in development, where the demo runs (contract section 8.21). */

import { parseMoney, ZERO } from "../../../actors/units.js";
import { MACHINE } from "../../../db/queries/operator/audit.js";
import { findTransactionByRef } from "../../../db/queries/trading/transactions.js";
import type { TokenBucket, TokenBuckets } from "../../../stream/services/token-buckets.js";
import { postTransaction, walletOfTrader, type TransactionParts } from "../../admin/desk/transactions.js";
import { Transacted } from "../../admin/schemas/traders.js";
import { retryAfter } from "../../edge/headers.js";
import { ANYBODY, TRADER_SESSION } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { route } from "../../request/route.js";
import { sharedThrottle } from "../../request/throttle.js";
import { DemoAnswer, FaucetBody } from "../schemas/demo.js";

/** Login of the demo's trader, once the demo has opened the account. */
export type DemoLogin = () => { readonly email: string; readonly password: string } | undefined;

interface DemoParts extends TransactionParts {
  readonly buckets: Pick<TokenBuckets, "spend">;
  readonly demoLogin: DemoLogin;
}

/** Play money that one request gives. */
const FAUCET_AMOUNT = "1000.00";
/** Rate of one trader: 10 at once, and 10 more a day. */
const FAUCET: TokenBucket = { name: "faucet", capacity: 10, refill: 10, periodMs: 86_400_000 };

export function demoRoutes({ buckets, demoLogin, ...parts }: DemoParts) {
  // The faucet is limited also where the limits of keys are off.
  const throttle = sharedThrottle(buckets);
  const login = route("GET /v3/public/demo", {
    access: ANYBODY,
    answer: DemoAnswer,
    docs: {
      summary: "Retrieve the login of the demo",
      description:
        "Returns the login of the demo's trader, or `null` until the demo has opened the account. The route exists only in development, where the demo runs.",
    },
    run: () => ({ body: { login: demoLogin() ?? null } }),
  });

  const faucet = route("POST /v3/session/faucet", {
    access: TRADER_SESSION,
    status: 201,
    body: FaucetBody,
    optionalBody: true,
    answer: Transacted,
    docs: {
      summary: "Get play money",
      description: `Deposits $${FAUCET_AMOUNT} to the trader's own wallet, or to a subaccount with \`subaccountKeyId\`: ten times at once, and ten times a day after that. Each \`clientRef\` takes effect once. The route exists only in development, where the demo runs.`,
      refuses: ["SUBACCOUNT_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY", "RATE_LIMIT_EXCEEDED", "CLIENT_ID_REUSED"],
      exampleBody: { clientRef: "faucet-1" },
    },
    run: async ({ caller, body, incoming }) => {
      const { accountId: traderId } = caller;
      const wallet = await walletOfTrader(parts.db, traderId, body.subaccountKeyId);
      // Operators post transactions to the same ledger with references of their own.
      const clientRef = body.clientRef === undefined ? undefined : `faucet:${body.clientRef}`;
      const known =
        clientRef === undefined ? undefined : await findTransactionByRef(parts.db, traderId, clientRef);
      if (known === undefined) {
        const { granted, retryAfterS } = await throttle.admit(traderId, FAUCET);
        if (!granted) {
          const message = `the faucet gives no more now; wait ${retryAfterS} s`;
          throw new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(retryAfterS));
        }
      }
      const transaction = {
        action: "trader.transaction",
        kind: "DEPOSIT",
        amount: parseMoney(FAUCET_AMOUNT) ?? ZERO,
        currency: "CASH",
        reason: "play money of the faucet",
        ...body,
        clientRef,
      } as const;
      const author = { caller: { ...caller, accountId: MACHINE }, incoming };
      return { body: await postTransaction(parts, author, { traderId, wallet, transaction }) };
    },
  });

  return [login, faucet];
}
