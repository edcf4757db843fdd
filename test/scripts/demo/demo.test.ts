import { expect } from "chai";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Session } from "../../../http/client/rest/session.js";
import { Signer } from "../../../http/client/client.js";
import { Quoter, Taker, type DemoMarket } from "../../../scripts/demo/bots.js";
import {
  demoLogin,
  readDemoDraft,
  readDemoFile,
  writeDemoDraft,
  writeDemoFile,
  type DemoDraft,
  type DemoFile,
} from "../../../scripts/demo/credentials.js";
import { EVENTS } from "../../../scripts/demo/fixtures.js";
import { seed } from "../../../scripts/demo/seed.js";
import { randomFrom } from "../../../scripts/replay/random.js";
import { startStack, type Stack } from "../../support/stack.js";
import { GRID } from "../../support/exchange/commands.js";

/** The traders, the first event with its three markets, and the second with its first. */
const STEPS_BEFORE_CRASH = 7;

describe("demo: its file", () => {
  let folder: string;
  const key = { keyId: "k", algorithm: "Ed25519", privateKey: "p" } as const;
  const account = { email: "q@x", password: "p", traderId: "t", managementKey: key, tradingKey: key };
  const content: DemoFile = {
    login: { email: "v@x", password: "p" },
    quoters: [account],
    taker: account,
    fair: { m: 0.5 },
  };

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "demo-"));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it("is readable by its owner only, and is read back unchanged", () => {
    expect(readDemoFile(folder)).to.equal(undefined);
    writeDemoFile(folder, content);
    expect(statSync(path.join(folder, "demo.json")).mode & 0o777).to.equal(0o600);
    expect(readDemoFile(folder)).to.deep.equal(content);
    expect(demoLogin(folder)).to.deep.equal(content.login);
  });

  it("takes the place of the draft", () => {
    const { login, quoters, taker } = content;
    const events = { game: { eventId: "e", markets: { winner: "m" } } };
    const draft: DemoDraft = { login, quoters, taker, events };
    writeDemoDraft(folder, draft);
    expect(readDemoDraft(folder)).to.deep.equal(draft);
    expect(readDemoFile(folder)).to.equal(undefined);
    expect(demoLogin(folder)).to.equal(undefined);
    writeDemoFile(folder, content);
    expect(readDemoDraft(folder)).to.equal(undefined);
  });

  it("replaces a file that other users can read by one that they cannot read", () => {
    const file = path.join(folder, "demo.json");
    writeFileSync(file, "{}");
    chmodSync(file, 0o644);
    writeDemoFile(folder, content);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
  });

  it("names the remedy for a damaged file, which has no login to show", () => {
    writeFileSync(path.join(folder, "demo.json"), "{");
    expect(() => readDemoFile(folder)).to.throw("remove it");
    expect(demoLogin(folder)).to.equal(undefined);
  });
});

describe("demo: on the real exchange", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    // The rate limits apply, because the demo must stay within those of a key.
    stack = await startStack({ metered: true });
  });

  after(() => stack.stop());

  it("goes on where an interrupted start has stopped, and its bots make a market that trades", async () => {
    const connection = stack.connect();
    /** Drafts as a start finds them that follows a crash after each step. */
    const drafts: DemoDraft[] = [];
    const record = (draft: DemoDraft): void => void drafts.push(structuredClone(draft));
    const crashed = (draft: DemoDraft): void => {
      record(draft);
      if (drafts.length === STEPS_BEFORE_CRASH) throw new Error("crashed");
    };
    const first = await seed(connection, stack.operator, stack.brand, { record: crashed }).catch(String);
    expect(first).to.equal("Error: crashed");
    const begun = drafts.at(-1);
    expect(Object.keys(begun?.events ?? {})).to.have.length(2);
    const file = await seed(connection, stack.operator, stack.brand, { begun, record });
    expect(file.login).to.deep.equal(begun?.login);
    const events = await stack.operator.events();
    expect(events.map(({ league }) => league)).to.have.members(EVENTS.map(({ league }) => league));
    expect(events.filter(({ status }) => status === "OPEN_INGAME")).to.have.length(1);
    const fixtures = EVENTS.flatMap(({ markets }) => markets);
    expect(Object.values(file.fair)).to.deep.equal(fixtures.map(({ fair }) => fair));

    const visitor = await new Session(connection, file.login).me();
    expect(visitor).to.include({ role: "trader", kyc: "VERIFIED" });
    expect(visitor.cash.CASH).to.equal("10000.00000");

    const rest = new RestClient(connection, new Signer(file.taker.tradingKey, stack.brand));
    const markets: DemoMarket[] = [];
    for (const [marketId, fair] of Object.entries(file.fair)) {
      const [first, second] = (await rest.market(marketId)).outcomes;
      if (first === undefined || second === undefined)
        throw new Error("a market of the demo does not have two outcomes");
      markets.push({ marketId, outcomeIds: [first.outcomeId, second.outcomeId], anchor: fair, fair });
    }
    const random = randomFrom(1);
    const style = { edge: 0.01, levels: 2, levelStep: 0.01, largestQty: 500 };
    const [account] = file.quoters;
    if (account === undefined) throw new Error("the demo has no quoter");
    const quoter = new Quoter(connection, account.tradingKey, stack.brand, style, GRID, random);
    const taker = new Taker(connection, file.taker.tradingKey, stack.brand, GRID, random);
    try {
      await quoter.start();
      for (const market of markets) await quoter.quote(market);
      await quoter.round(markets);
      await taker.start(markets);
      for (let i = 0; i < 5; i += 1) await taker.round(markets);
      expect((await rest.fills()).length).to.be.greaterThan(0);
      const book = await rest.book(markets[0]?.marketId ?? "");
      const sizes = Object.values(book.orders).map((orders) => orders.length);
      expect(Math.min(...sizes)).to.be.greaterThan(0);
      // A quote replaces the orders of an earlier one.
      expect(Math.max(...sizes)).to.be.at.most(style.levels);
    } finally {
      quoter.stop();
      taker.stop();
    }
  });
});
