import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Connection, Signer } from "../../../http/client/client.js";
import { StreamClient } from "../../../http/client/stream/stream.js";
import type { OrdersDelta } from "../../../http/client/wire/stream.js";
import { freePort } from "../../../scripts/embedded/ports.js";
import { programOf } from "../../support/run/program.js";
import { until } from "../../support/until.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";

describe("the role gateway", function () {
  this.timeout(60_000);
  let stack: Stack;
  let child: ChildProcess | undefined;
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  const clients: StreamClient[] = [];

  before(async () => {
    stack = await startStack();
  });

  after(async () => {
    for (const client of clients) client.close();
    if (child?.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await stack.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  });

  it("when it is killed, loses the orders of the sockets that asked for cancel on disconnect", async () => {
    const port = await freePort();
    const env = {
      ...process.env,
      PORT: String(port),
      LOG_LEVEL: "warn",
      THROTTLE: "off",
      REDIS_URL: stack.redisUrl,
      DATABASE_URL: stack.databaseUrl,
      DATA_DIR: dataDir,
      JWT_WEB_SECRET: "the web secret of the tests, long enough",
    };
    const { entry, execArgv } = programOf("scripts/gateway.ts");
    child = fork(entry, [], {
      env,
      execArgv: [...execArgv],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    await once(child, "message");
    const [armed, other] = [await newTrader(stack), await newTrader(stack)];
    const { outcomes } = await newMarket(stack);
    const order = { outcomeId: outcomes[0], price: "0.300", qty: 5, tif: "GTC" } as const;
    const received: { delta: OrdersDelta; atMs: number }[] = [];
    for (const [trader, safe] of [
      [armed, true],
      [other, false],
    ] as const) {
      const watching = new StreamClient(stack.connect(), new Signer(trader.trading.key, stack.brand), {
        orders: (deltas) => received.push(...deltas.map((delta) => ({ delta, atMs: Date.now() }))),
      });
      const dying = new StreamClient(
        new Connection(`http://127.0.0.1:${port}`),
        new Signer(trader.trading.key, stack.brand),
      );
      clients.push(watching, dying);
      await watching.connect();
      await watching.subscribe({ private: ["orders"] });
      await dying.connect();
      if (safe) await dying.cancelOnDisconnect(true);
      await dying.place([order]);
    }
    const killedAt = Date.now();
    child.kill("SIGKILL");
    await once(child, "exit");
    const isCancel = ({ delta }: (typeof received)[number]): boolean => delta.kind === "cancel";
    await until(() => received.some(isCancel));
    const canceled = received.find(isCancel);
    expect(canceled?.delta).to.include({ reason: "DISCONNECTED" });
    expect((canceled?.atMs ?? 0) - killedAt).to.be.within(1_500, 8_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(received.filter(({ delta }) => delta.kind === "cancel")).to.have.length(1);
  });
});
