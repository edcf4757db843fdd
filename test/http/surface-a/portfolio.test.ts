import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { WalletSnapshot } from "../../../actors/ledger/types.js";
import { NotStarted } from "../../../http/request/errors.js";
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
  const wallet = { orders: { seq: 1, open: OPEN }, positions: { seq: 1, positions: [] } };
  const parts = {
    exchange: {
      ledger: () =>
        Promise.resolve({ ok: true, kind: "wallet", wallet: wallet as unknown as WalletSnapshot }),
    },
    reference: {
      marketsById: () => Promise.resolve({ get: () => ({ outcomes: [{ outcomeId: randomUUID() }] }) }),
    },
    longWork: new LongWork(),
  } as unknown as Parameters<typeof portfolioRoutes>[0];
  const [route] = portfolioRoutes(parts);

  const read = async (traderId: string, etag?: string): Promise<Reply<unknown> | NotStarted> => {
    const key = { traderId, subaccountId: randomUUID(), scope: "trading" };
    const incoming = { header: (name: string) => (name === "if-none-match" ? etag : undefined) };
    const call = { caller: { kind: "key", key }, query: {}, incoming };
    try {
      return await (route?.run(call as never) as Promise<Reply<unknown>>);
    } catch (error) {
      if (error instanceof NotStarted) return error;
      throw error;
    }
  };

  it("are refused to a trader who has received too many bytes of them, at no cost", async () => {
    const traderId = randomUUID();
    const answers = await Promise.all(Array.from({ length: 14 }, () => read(traderId)));
    const refusals = answers.filter((answer) => answer instanceof NotStarted);
    // Eight megabytes at once, and four a second meanwhile.
    expect(answers.length - refusals.length).to.be.within(6, 10);
    expect(refusals[0]).to.have.property("code", "RATE_LIMIT_EXCEEDED");
    expect(refusals[0]?.headers["Retry-After"]).to.equal("1");
    expect(await read(randomUUID())).to.not.be.instanceOf(NotStarted);
  });
});
