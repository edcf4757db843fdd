import { expect } from "chai";
import type { Connection } from "../../../http/client/connection.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Session } from "../../../http/client/rest/session.js";
import { generateKey, Signer } from "../../../http/client/client.js";
import { addMarket, newEvent } from "../../support/traders.js";
import type { Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";

interface Trader {
  readonly traderId: string;
  readonly session: Session;
  readonly manager: RestClient;
  readonly rest: RestClient;
  readonly keyId: string;
}

/** Describes the first trade on an exchange, from its first trader to a settled market. */
export function firstTrade(start: () => Promise<Stack>): void {
  let stack: Stack;
  let connection: Connection;
  let makers: Trader;
  let takers: Trader;
  let marketId = "";
  let outcomes: string[] = [];

  /** Registers a trader with a verified identity and a funded subaccount. */
  async function enter(email: string, algorithm: "Ed25519" | "P-256"): Promise<Trader> {
    const session = new Session(connection, { email, password: "a long password" });
    const { traderId } = await session.register();
    expect((await session.me()).kyc).to.equal("NONE");
    await stack.operator.verifyTrader(traderId);
    await stack.operator.deposit(traderId, "100.00", "first deposit", `${email}-1`);
    expect((await session.me()).cash.CASH).to.equal("100.00000");
    const managing = await generateKey(algorithm);
    const management = await session.createManagementKey("mine", managing.publicKey, algorithm);
    const manager = new RestClient(
      connection,
      new Signer({ ...managing, keyId: management.keyId }, stack.brand),
    );
    await session.checkIn("US-NY");
    const trading = await generateKey(algorithm);
    const opened = await manager.openSubaccount("main", trading.publicKey, algorithm);
    expect(opened).to.include({ label: "main", balance: "0.00000" });
    const transfer = await manager.transfer(opened.keyId, "fund", "60", "one");
    expect(transfer).to.include({ status: "Applied", amount: "60.00000" });
    const rest = new RestClient(connection, new Signer({ ...trading, keyId: opened.keyId }, stack.brand));
    return { traderId, session, manager, rest, keyId: opened.keyId };
  }

  before(async () => {
    stack = await start();
    connection = stack.connect();
  });
  after(() => stack.stop());

  it("begins with an event and a market of an operator", async () => {
    const event = await newEvent(stack);
    expect(event.status).to.equal("OPEN_PREGAME");
    const market = await addMarket(stack, event.eventId);
    expect(market.status).to.equal("OPEN");
    expect(market.outcomes.map(({ name }) => name)).to.deep.equal(["Ants", "Bees"]);
    marketId = market.marketId;
    outcomes = market.outcomes.map(({ outcomeId }) => outcomeId);
  });

  it("has two traders, one for each algorithm", async () => {
    makers = await enter("maker@example.com", "Ed25519");
    takers = await enter("taker@example.com", "P-256");
  });

  it("matches their orders", async () => {
    const [ants = "", bees = ""] = outcomes;
    const resting = await makers.rest.placeOrder({ outcomeId: ants, price: "0.600", qty: 100, tif: "GTC" });
    await until(
      () => makers.rest.book(marketId),
      (book) => book.orders[ants]?.length === 1,
    );
    expect((await makers.rest.order(resting.orderId)).status).to.equal("OPEN");
    expect(await makers.rest.balance()).to.include({ balance: "60.00000", reserved: "0.60000" });

    const taking = await takers.rest.placeOrder({ outcomeId: bees, price: "0.450", qty: 40, tif: "IOC" });
    const order = await until(
      () => takers.rest.order(taking.orderId),
      ({ status }) => status !== "PENDING" && status !== "OPEN",
    );
    expect(order).to.include({ status: "FILLED", remaining: 0 });
    const [fill] = await takers.rest.fills();
    expect(fill).to.include({
      orderId: taking.orderId,
      outcomeId: bees,
      qty: 40,
      cost: "0.16000",
      taker: true,
    });
    const [own] = await until(
      () => makers.rest.fills({ order: resting.orderId }),
      (fills) => fills.length === 1,
    );
    expect(own).to.include({ outcomeId: ants, qty: 40, cost: "0.24000", taker: false });
    expect(await makers.rest.positions()).to.deep.equal([
      { marketId, outcomeId: ants, qty: 40, cost: "0.24000" },
    ]);
    expect(await makers.rest.balance()).to.include({ balance: "59.76000", reserved: "0.36000" });
    const kinds = (await takers.rest.transactions()).map(({ kind, amount }) => `${kind} ${amount}`);
    expect(kinds).to.deep.equal(["FILL -0.16000", "TRANSFER_IN 60.00000"]);
  });

  it("goes on with a cancel that names its orders", async () => {
    const [open] = await makers.rest.orders();
    if (open === undefined) throw new Error("no order rests");
    const answer = await makers.rest.cancelOrders([open.orderId, outcomes[0] ?? ""]);
    expect(answer).to.deep.equal({
      canceled: [open.orderId],
      notCanceled: [{ orderId: outcomes[0], reason: "NOT_FOUND" }],
    });
    expect(await makers.rest.order(open.orderId)).to.include({ status: "CANCELED", remaining: 60 });
    expect(await makers.rest.balance()).to.include({ reserved: "0.00000" });
  });

  it("ends with a grade that pays", async () => {
    const status = await stack.operator.grade(marketId, { winner: outcomes[0] ?? "" });
    expect(status).to.be.oneOf(["SETTLING", "SETTLED"]);
    await until(
      () => stack.operator.settlementStatus(marketId),
      (now) => now === "SETTLED",
    );
    await until(
      () => makers.rest.balance(),
      ({ balance }) => balance === "60.16000",
    );
    expect(await takers.rest.balance()).to.include({ balance: "59.84000" });
    expect((await stack.operator.market(marketId)).outcomes.map((outcome) => outcome.status)).to.deep.equal([
      "WIN",
      "LOSS",
    ]);
    const [payout] = await makers.rest.transactions();
    expect(payout).to.include({ kind: "SETTLEMENT", amount: "0.40000" });
  });

  it("leaves the actors and Postgres with the same money", async () => {
    const report = await stack.operator.money();
    expect(report.agree).to.equal(true);
    expect(report.actors.CASH).to.deep.equal({
      deposits: "200.00000",
      withdrawals: "0.00000",
      adjustments: "0.00000",
      wallets: "200.00000",
      reserved: "0.00000",
      escrow: "0.00000",
      house: "0.00000",
      inFlight: "0.00000",
      difference: "0.00000",
    });
    expect(report.postgres).to.deep.equal(report.actors);
  });
}
