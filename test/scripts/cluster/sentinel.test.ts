import { pause } from "../../stream/log/support.js";
import { type SentinelSet, startSentinelSet } from "../../support/redis/sentinel.js";
import { untilWithin } from "../../support/until.js";
import { Trading } from "./trading.js";

const LOAD_MS = Number(process.env["CLUSTER_SECONDS"] ?? 1) * 1_000;
const LAG_MS = 300;
/** Longest wait of a caller, in ms. */
const LONGEST_MS = 12_000;

describe("a primary with a sentinel that dies under load, ahead of its replicas", function () {
  this.timeout(120_000 + 2 * LOAD_MS);
  let servers: SentinelSet;
  let trading: Trading | undefined;

  afterEach(async () => {
    await trading?.close();
    await servers.stop();
  });

  it("is replaced, without the loss of an acknowledged order when commits wait for a replica", async () => {
    servers = await startSentinelSet();
    trading = await Trading.open(servers.url, { REDIS_WAIT_REPLICAS: "1" });
    trading.start();
    await pause(LOAD_MS);
    await servers.failOver(LAG_MS);
    const { acknowledged } = trading;
    const before = acknowledged.length;
    await untilWithin(30_000, () => acknowledged.length >= before + 50);
    await pause(LOAD_MS);
    await trading.pause();
    await trading.expectNothingLost(LONGEST_MS);
  });
});
