import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { LATEST_FORMAT } from "../../actors/format.js";
import { until, untilWithin } from "../support/until.js";
import { type Build, Fleet, ROLES, type RoleName } from "./fleet.js";
import { Traffic } from "./traffic.js";

/** Duration of the mixed set under load; `MIXED_SECONDS=300` is the long run. */
const MIXED_MS = 1_000 * Number(process.env["MIXED_SECONDS"] ?? 6);
/** Time within which the format rises after the last old role: the stable time, and what the machine of the tests adds. */
const RISE_MS = 30_000;
const STEP_MS = 500;
/** Longest time from a request to its success on a busy machine, in ms: a gateway of the old build drains for 8 s. */
const SLOWEST_MS = 15_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Report {
  readonly ready: boolean;
  readonly halted: readonly string[];
  readonly format?: { readonly active: number; readonly announced: Readonly<Record<string, number>> };
}

async function readyz(fleet: Fleet): Promise<Report> {
  const response = await fetch(`${fleet.url}/readyz`, { headers: { Connection: "close" } });
  return (await response.json()) as Report;
}

async function untilFormat(fleet: Fleet, active: number): Promise<void> {
  await untilWithin(RISE_MS, async () => {
    expect((await readyz(fleet)).format?.active).to.equal(active);
  });
}

describe("a new gateway on the database of the old build", function () {
  this.timeout(120_000);

  it("brings the database to its schema, because it may be the first new role", async () => {
    const fleet = await Fleet.create();
    const client = new pg.Client({ connectionString: fleet.databaseUrl });
    try {
      await fleet.start("old", "projector");
      await fleet.start("new", "gateway");
      await client.connect();
      const { rows } = await client.query("select lineage from projector_cursors");
      expect(rows).to.deep.equal([]);
    } finally {
      await client.end();
      await fleet.drop();
    }
  });
});

describe("a set of two builds", function () {
  this.timeout(240_000 + MIXED_MS);
  let fleet: Fleet;
  let traffic: Traffic;

  beforeEach(async () => {
    fleet = await Fleet.create();
  });

  /** Starts one of each role of a build, the accounts and the markets. */
  async function begin(build: Build, env: Readonly<Record<string, string>> = {}): Promise<void> {
    await fleet.startAll(build, env);
    traffic = await Traffic.open(fleet);
  }

  /** Replaces every role of one build by one of the other, in this order, while the traders trade. */
  async function replaceAll(from: Build, to: Build, roles: readonly RoleName[]): Promise<void> {
    for (const role of roles) {
      await fleet.start(to, role);
      await sleep(STEP_MS);
      await fleet.stopAll(from, [role]);
      await sleep(STEP_MS);
    }
  }

  afterEach(async function () {
    traffic.close();
    if (this.currentTest?.state === "failed") console.error(fleet.lines.join(""));
    await fleet.drop();
  });

  it("reads what the old build has written, also after the format has risen", async () => {
    await begin("old");
    await traffic.start();
    await sleep(2_000);
    await traffic.settleOne();
    await traffic.stop();
    await traffic.check();
    const [trader] = traffic.traders;
    const [market] = traffic.markets;
    if (trader === undefined || market === undefined) throw new Error("there is no trader");
    const order = {
      outcomeId: market.outcomes[0],
      price: "0.100",
      qty: 1,
      tif: "GTC",
      clientId: randomUUID(),
    } as const;
    const transferId = randomUUID();
    const { keyId } = trader.account.tradingKey;
    const placed = await trader.rest.placeOrder(order);
    const moved = await trader.management.transfer(keyId, "defund", "1", transferId);
    await traffic.check();
    const holdings = () => Promise.all(traffic.traders.map((each) => each.holdings()));
    const before = await holdings();

    await fleet.stopAll("old");
    await fleet.startAll("new");
    expect(await holdings()).to.deep.equal(before);
    expect((await trader.rest.placeOrder(order)).orderId).to.equal(placed.orderId);
    expect(await trader.management.transfer(keyId, "defund", "1", transferId)).to.deep.equal(moved);
    expect(await holdings(), "after the repeats").to.deep.equal(before);

    await untilFormat(fleet, LATEST_FORMAT);
    expect((await trader.rest.placeOrder(order)).orderId).to.equal(placed.orderId);
    await traffic.start();
    await sleep(2_000);
    await traffic.settleOne();
    await traffic.stop();
    await traffic.check();
    const later = await holdings();
    await fleet.stopAll("new");
    await fleet.startAll("new");
    expect((await readyz(fleet)).format).to.include({ active: LATEST_FORMAT });
    expect(await holdings()).to.deep.equal(later);
    await traffic.check();
  });

  it("is upgraded under load, the projector first, and the format rises", async () => {
    await begin("old");
    await traffic.start();
    await replaceAll("old", "new", ["projector", "worker", "jobs", "gateway"]);
    await traffic.settleOne();
    await untilFormat(fleet, LATEST_FORMAT);
    await traffic.settleOne();
    await traffic.stop();
    await traffic.check();
    expect((await readyz(fleet)).halted).to.deep.equal([]);
    expect(traffic.slowestMs).to.be.below(SLOWEST_MS);
  });

  it("goes on when the format rises beside an old projector and old jobs, which no record shows", async () => {
    await begin("old");
    await traffic.start();
    await replaceAll("old", "new", ["worker", "gateway"]);
    await fleet.start("new", "projector");
    await fleet.start("new", "jobs");
    await untilFormat(fleet, LATEST_FORMAT);
    await traffic.settleOne();
    await traffic.stop();
    await traffic.check();
    expect((await readyz(fleet)).halted).to.deep.equal([]);
  });

  it("is rolled back under load before the format rises, the gateway first", async () => {
    await begin("new", { FORMAT: "1" });
    await traffic.start();
    await traffic.settleOne();
    await replaceAll("new", "old", ["gateway", "jobs", "worker", "projector"]);
    await traffic.settleOne();
    await traffic.stop();
    await traffic.check();
    expect((await readyz(fleet)).halted).to.deep.equal([]);
    expect(traffic.slowestMs).to.be.below(SLOWEST_MS);
  });

  it("trades with all roles of both builds side by side, and stays in format 1", async () => {
    await begin("old");
    await fleet.startAll("new");
    await traffic.start();
    const endMs = Date.now() + MIXED_MS;
    do {
      const before = traffic.acknowledged;
      await traffic.settleOne();
      await until(() => traffic.acknowledged > before);
      for (const build of ["old", "new"] as const)
        expect(fleet.members.filter((member) => member.build === build)).to.have.length(ROLES.length);
    } while (Date.now() < endMs);
    await traffic.stop();
    await traffic.check();
    await until(async () => {
      const { format, halted } = await readyz(fleet);
      expect(halted).to.deep.equal([]);
      expect(format?.active).to.equal(1);
      // The old projector and the old jobs are in no record.
      expect(format?.announced).to.deep.equal({ 1: 2, [LATEST_FORMAT]: 4 });
    });
    console.log(`      ${traffic.acknowledged} orders, the slowest after ${traffic.slowestMs} ms`);
  });
});
