/** The list of all wallets (contract section 8.10). */

import { formatMoney, subtract } from "../../actors/units.js";
import { UUID } from "../../actors/uuid.js";
import { findTraderByEmail } from "../../db/queries/accounts/traders.js";
import { listWallets } from "../../db/queries/operator/wallets.js";
import { operatorWith } from "../request/access.js";
import { pageOf } from "../request/fields.js";
import { route } from "../request/route.js";
import type { ReadModel } from "../trading/freshness.js";
import { AdminWallet, WalletsQuery } from "./schemas/wallets.js";

export function walletRoutes({ reads: { db } }: { readonly reads: Pick<ReadModel, "db"> }) {
  /** Returns the id of the trader that an id or an e-mail address names, or `undefined` if there is none. */
  const ownerOf = async (owner: string): Promise<string | undefined> =>
    UUID.test(owner) ? owner.toLowerCase() : (await findTraderByEmail(db, owner))?.traderId;

  const list = route("GET /admin/v1/wallets", {
    access: operatorWith("wallets"),
    query: WalletsQuery,
    answer: pageOf(AdminWallet),
    docs: {
      summary: "List wallets",
      description:
        "Returns the wallets of all traders that have had money of a currency, ordered by balance. `owner` narrows to the wallets of one trader, `atLeast` and `below` to a range of balances, and `restricted` to traders whose placements are refused.",
      exampleQuery: { atLeast: "10.00", restricted: "false" },
    },
    run: async ({ query, incoming }) => {
      const { limit, after, owner, ...filter } = query;
      const traderId = owner === undefined ? undefined : await ownerOf(owner);
      if (owner !== undefined && traderId === undefined) return { body: { items: [] } };
      const { items, next } = await listWallets(
        db,
        { ...filter, traderId },
        { limit, after },
        incoming.receivedMs,
      );
      const shown = items.map(({ total, reserved, ...others }) => ({
        ...others,
        total: formatMoney(total),
        reserved: formatMoney(reserved),
        available: formatMoney(subtract(total, reserved)),
      }));
      return { body: { items: shown, next } };
    },
  });

  return [list];
}
