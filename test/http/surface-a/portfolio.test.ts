import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { WalletSnapshot } from "../../../actors/ledger/types.js";
import { Refused } from "../../../http/request/errors.js";
import type { Reply } from "../../../http/request/route.js";
import { portfolioRoutes } from "../../../http/surface-a/portfolio.js";
import { LongWork } from "../../../stream/services/long-work.js";

/** Orders of a wallet whose open orders take about a megabyte. */
const ORDERS = 4_000;
const OPEN = Array.from({ length: ORDERS }, () => ({
  orderId: randomUUID(),
  clientId: randomUUID(),
  marketId: randomUUID(),
  outcome: 0,
  status: "OPEN",
  price: 400,
  remaining: 1,
  tif: "GTC",
}));

describe("the open orders of a wallet", () => {
  const outcomeId = randomUUID();
  const wallet = { orders: { seq: 1, open: OPEN }, positions: { seq: 1, positions: [] } };
  const parts = {
    exchange: {
      ledger: () =>
        Promise.resolve({ ok: true, kind: "wallet", wallet: wallet as unknown as WalletSnapshot }),
    },
    reference: {
      marketsById: () => Promise.resolve({ get: () => ({ outcomes: [{ outcomeId }] }) }),
    },
    longWork: new LongWork(),
  } as unknown as Parameters<typeof portfolioRoutes>[0];
  const [route] = portfolioRoutes(parts);

  const read = async (traderId: string, etag?: string): Promise<Reply<unknown> | Refused> => {
    const key = { traderId, subaccountId: traderId, scope: "trading" };
    const incoming = { header: (name: string) => (name === "if-none-match" ? etag : undefined) };
    const call = { caller: { kind: "key", key }, query: {}, incoming };
    try {
      return await (route?.run(call as never) as Promise<Reply<unknown>>);
    } catch (error) {
      if (error instanceof Refused) return error;
      throw error;
    }
  };

  it("are refused to a trader who has received too many bytes of them, and not to one who has them", async () => {
    const traderId = randomUUID();
    const answers = await Promise.all(Array.from({ length: 14 }, () => read(traderId)));
    const refusals = answers.filter((answer) => answer instanceof Refused);
    // Eight megabytes at once, and four a second meanwhile.
    expect(answers.length - refusals.length).to.be.within(6, 10);
    expect(refusals[0]).to.have.property("code", "RATE_LIMIT_EXCEEDED");
    expect(refusals[0]?.headers["Retry-After"]).to.equal("1");
    const { headers } = answers[0] ?? {};
    expect(await read(traderId, headers?.["ETag"])).to.include({ status: 304, body: undefined });
    const ofOther = await read(randomUUID());
    expect(ofOther).to.not.be.instanceOf(Refused);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await read(traderId), "after Retry-After").to.not.be.instanceOf(Refused);
  });
});
