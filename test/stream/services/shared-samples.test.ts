import { expect } from "chai";
import { Unavailable } from "../../../stream/log/ports.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { SharedSamples } from "../../../stream/services/shared-samples.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";

describe("shared samples", () => {
  let redis: FreshRedis;
  let connections: ServiceConnection[];

  /** The samples as one more process sees them. */
  function open(name = "health", url = redis.url): SharedSamples {
    const connection = new ServiceConnection({ url, prefix: redis.prefix });
    connections.push(connection);
    return new SharedSamples({ connection, name, kept: 3 });
  }

  beforeEach(async () => {
    redis = await freshRedis();
    connections = [];
  });

  afterEach(async () => {
    for (const connection of connections) connection.close();
    await redis.drop();
  });

  it("reach every process once, also one that starts later", async () => {
    const [first, second] = [open(), open()];
    await first.add("a");
    await second.add("b");
    expect(await first.read()).to.deep.equal(["a", "b"]);
    expect(await first.read()).to.deep.equal([]);
    await second.add("c");
    expect(await first.read()).to.deep.equal(["c"]);
    expect(await open().read()).to.deep.equal(["a", "b", "c"]);
  });

  it("keep the newest alone, and those of each kind apart", async () => {
    const samples = open();
    for (const sample of ["a", "b", "c", "d", "e"]) await samples.add(sample);
    expect(await open().read()).to.deep.equal(["c", "d", "e"]);
    expect(await open("other").read()).to.deep.equal([]);
  });

  it("are unavailable without Redis", async () => {
    const samples = open("health", "redis://127.0.0.1:1");
    const attempts = await Promise.allSettled([samples.add("a"), samples.read()]);
    for (const attempt of attempts)
      expect(attempt).to.have.property("reason").that.is.instanceOf(Unavailable);
  });
});
