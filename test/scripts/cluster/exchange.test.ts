import { migrate } from "../../../db/migrate.js";
import { firstTrade } from "../../http/trading/first-trade.js";
import { type RunningCluster, startCluster } from "../../support/redis/cluster.js";
import { freshDatabase } from "../../support/servers.js";
import { startStack } from "../../support/stack.js";

describe("the exchange on a Redis Cluster of three primaries and three replicas", function () {
  this.timeout(120_000);
  let cluster: RunningCluster;

  before(async () => {
    cluster = await startCluster({ replicas: 1 });
  });
  after(() => cluster.stop());

  describe("of which one URL is known: the first trade through HTTP alone", () => {
    firstTrade(async () => {
      const redis = { url: cluster.nodes[0]?.url ?? "", prefix: "", drop: () => Promise.resolve() };
      return startStack({ servers: { redis, database: await freshDatabase(migrate) } });
    });
  });
});
