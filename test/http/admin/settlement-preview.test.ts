import { expect } from "chai";
import type { MarketCommand, MarketReply, PreviewedPayout } from "../../../actors/market/commands.js";
import { millicents } from "../../../actors/units.js";
import { connect, type Database, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { previewPayouts } from "../../../http/admin/settlement-preview.js";
import { type Exchange, Unavailable } from "../../../stream/log/ports.js";
import { type FreshDatabase, freshDatabase } from "../../support/servers.js";
import { idOf } from "../../support/exchange/giants.js";

const WINNER = { kind: "WINNER", outcome: 0 } as const;
const MARKET = idOf(9, 9);

function payout(n: number): PreviewedPayout {
  return { wallet: idOf(1, n), currency: "CASH", amount: millicents(1_000) };
}

/** A market with 2,500 payouts, whose number of matches at each page is `matchesAt`. */
function exchangeWith(matchesAt: (page: number) => number, requests: MarketCommand[]): Exchange {
  const all = Array.from({ length: 2_500 }, (_, n) => payout(n));
  return {
    ledger: () => Promise.reject(new Error("the ledger is not asked")),
    market: (_id, command): Promise<MarketReply> => {
      if (command.kind !== "previewGrade") throw new Error(`the command is ${command.kind}`);
      const matches = matchesAt(requests.length);
      requests.push(command);
      const { from = 0, limit = Infinity } = command;
      const payouts = all.slice(from, from + limit);
      const end = from + payouts.length;
      const next = end < all.length ? end : undefined;
      return Promise.resolve({ ok: true, kind: "gradePreview", payouts, next, matches });
    },
  };
}

describe("the preview of many payouts", () => {
  let database: FreshDatabase;
  let db: Database;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  async function preview(matchesAt: (page: number) => number, requests: MarketCommand[] = []) {
    return previewPayouts({ db, exchange: exchangeWith(matchesAt, requests) }, MARKET, WINNER, Date.now());
  }

  it("asks the market for a thousand at a time, and lists all", async () => {
    const requests: MarketCommand[] = [];
    const { payouts, totals } = await preview(() => 7, requests);
    expect([payouts.length, totals.CASH]).to.deep.equal([2_500, "25.00000"]);
    const page = { kind: "previewGrade", grade: WINNER, limit: 1_000 } as const;
    expect(requests).to.deep.equal([0, 1_000, 2_000].map((from) => ({ ...page, from })));
  });

  it("starts again when the market has traded between two pages", async () => {
    const { payouts } = await preview((page) => (page < 2 ? 7 : 8));
    expect(payouts.length).to.equal(2_500);
  });

  it("is refused when the market trades all the time", async () => {
    const requests: MarketCommand[] = [];
    let error: unknown;
    await preview((page) => page, requests).catch((thrown: unknown) => (error = thrown));
    expect(error).to.be.instanceOf(Unavailable);
    expect(requests.length).to.equal(6);
  });
});
