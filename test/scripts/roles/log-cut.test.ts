import { expect } from "chai";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { Signer } from "../../../http/client/client.js";
import { StreamClient } from "../../../http/client/stream/stream.js";
import { migrate } from "../../../db/migrate.js";
import { lastAofFile } from "../../../scripts/embedded/aof-repair.js";
import { startRedis } from "../../../scripts/embedded/redis.js";
import type { RunningServer } from "../../../scripts/embedded/server.js";
import { callsOf, type Calls } from "../../http/calls.js";
import { cacheDir, freshDatabase } from "../../support/servers.js";
import { startStack, type Stack } from "../../support/stack.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { untilWithin } from "../../support/until.js";

/** Longest time from the return of Redis until every answer is of the history that it has, in ms. */
const REPAIR_MS = 30_000;

interface OpenOrders {
  readonly items: readonly { readonly orderId: string }[];
}

/** Redis of its own, whose host may lose the power with the last second of writes. */
class LosingRedis {
  #server: RunningServer;

  private constructor(
    private readonly dataDir: string,
    server: RunningServer,
  ) {
    this.#server = server;
  }

  static async start(dataDir: string): Promise<LosingRedis> {
    return new LosingRedis(dataDir, await LosingRedis.#start(dataDir));
  }

  static #start(dataDir: string): Promise<RunningServer> {
    return startRedis({ dataDir, cacheDir, log: () => undefined, fsync: "everysec", keepPort: true });
  }

  get url(): string {
    return this.#server.url;
  }

  /** Returns the bytes that are on the disk of the host, as after a write to it. */
  get written(): number {
    return fs.statSync(this.#file).size;
  }

  get #file(): string {
    const directory = path.join(this.dataDir, "redis", "appendonlydir");
    return lastAofFile(directory) ?? expect.fail("Redis has no append-only file");
  }

  /** Loses what was written after the first `bytes`, and starts again. */
  async losePower(bytes: number): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#server.onExit(() => resolve()));
    process.kill(this.#server.pid, "SIGKILL");
    await ended;
    fs.truncateSync(this.#file, bytes);
    this.#server = await LosingRedis.#start(this.dataDir);
  }

  stop(): Promise<void> {
    return this.#server.stop(1_000);
  }
}

describe("a log that lost its last writes while every role ran on", function () {
  this.timeout(180_000);

  it("is what all roles answer from within half a minute, without a restart of any", () =>
    inTemporaryDirectory(async (dataDir) => {
      const redis = await LosingRedis.start(dataDir);
      const database = await freshDatabase(migrate);
      let stack: Stack | undefined;
      let stream: StreamClient | undefined;
      try {
        stack = await startStack({
          servers: { redis: { url: redis.url, prefix: "", drop: () => redis.stop() }, database },
        });
        const trader = await newTrader(stack);
        const taker = await newTrader(stack);
        const { marketId, outcomes } = await newMarket(stack);
        const calls = callsOf(stack.url, trader.trading);
        const order = (outcomeId: string, price: string) => ({ outcomeId, price, qty: 1, tif: "GTC" });
        const place = async (from: Calls, outcomeId: string, price: string): Promise<string> => {
          const { status, json, text } = await from("POST /v3/orders", {
            ...order(outcomeId, price),
            clientId: randomUUID(),
          });
          expect(status, text).to.equal(201);
          return String(json["orderId"]);
        };
        const openOrders = async (): Promise<readonly string[]> => {
          const { json } = await calls("GET /v3/orders");
          return (json as unknown as OpenOrders).items.map(({ orderId }) => orderId).sort();
        };
        const manage = callsOf(stack.url, trader.management);
        const balance = async (): Promise<object> =>
          (await manage(`GET /v3/account/subaccounts/${trader.trading.key.keyId}/balance`)).json;
        stream = new StreamClient(stack.connect(), new Signer(trader.trading.key, stack.brand));
        await stream.connect();
        await stream.subscribe({ markets: { [marketId]: ["book"] }, private: ["orders", "positions"] });

        const kept = [await place(calls, outcomes[0], "0.100"), await place(calls, outcomes[0], "0.110")];
        await untilWithin(REPAIR_MS, async () => (await openOrders()).length === 2);
        const before = await balance();
        const bytes = redis.written;

        // All of this is acknowledged, written to the tables and sent to the subscriber, and then lost.
        const lost = [await place(calls, outcomes[0], "0.300"), await place(calls, outcomes[0], "0.310")];
        await place(callsOf(stack.url, taker.trading), outcomes[1], "0.690");
        const [first = ""] = kept;
        expect((await calls(`DELETE /v3/orders/${first}`)).status).to.equal(200);
        await untilWithin(REPAIR_MS, async () => (await openOrders()).join() !== kept.toSorted().join());
        const fills = async (): Promise<number> =>
          ((await calls("GET /v3/portfolio/fills")).json["items"] as unknown[]).length;
        await untilWithin(REPAIR_MS, async () => (await fills()) === 1);
        await redis.losePower(bytes);

        // No answer has rows of the lost history: until they are removed, reads are refused.
        const answer = await untilWithin(
          REPAIR_MS,
          () => calls("GET /v3/orders"),
          ({ status }) => status === 200,
        );
        const { items } = answer.json as unknown as OpenOrders;
        expect(items.map(({ orderId }) => orderId).toSorted()).to.deep.equal(kept.toSorted());
        expect(await fills()).to.equal(0);
        expect(await balance()).to.deep.equal(before);
        for (const orderId of lost) {
          const { status } = await calls(`GET /v3/orders/${orderId}`);
          expect(status, "an order that was lost").to.equal(404);
        }
        const ready = (await (await fetch(`${stack.url}/readyz`)).json()) as { reconciled: number };
        expect(ready.reconciled).to.be.above(0);

        // Trading goes on, for the subscriber as well.
        const next = await place(calls, outcomes[0], "0.120");
        await untilWithin(
          REPAIR_MS,
          () =>
            [...(stream?.wallet.orders.keys() ?? [])].toSorted().join() === [...kept, next].toSorted().join(),
        );
        const filled = await place(callsOf(stack.url, taker.trading), outcomes[1], "0.880");
        expect(filled).to.be.a("string");
        await untilWithin(REPAIR_MS, async () => (await fills()) === 1);
      } finally {
        stream?.close();
        if (stack === undefined) {
          await redis.stop();
          await database.drop();
        } else await stack.stop();
      }
    }));
});
