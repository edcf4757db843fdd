import { expect } from "chai";
import { a, b, Deployment, FaultyGate, post, refusal, tell } from "../runtime/deployment.js";
import { counterInLog, eventually } from "./support.js";

describe("an exchange", () => {
  let deployment: Deployment;

  beforeEach(() => {
    deployment = new Deployment();
  });

  afterEach(() => deployment.close());

  it("answers", async () => {
    await deployment.worker(deployment.connect()).start();
    const exchange = await deployment.exchange();
    expect(await tell(exchange, a, { kind: "add", n: 2 })).to.equal(2);
    expect(await tell(exchange, b, { kind: "add", n: 1 })).to.equal(1);
    expect(await tell(exchange, a, { kind: "read" }, { rememberMs: 0 })).to.equal(2);
  });

  it("carries the same command out once, whoever asks how often", async () => {
    await deployment.worker(deployment.connect()).start();
    const exchanges = await Promise.all([deployment.exchange(), deployment.exchange()]);
    const asks = Array.from({ length: 50 }, (_, index) =>
      tell(exchanges[index % 2] ?? exchanges[0], a, { kind: "add", n: 1 }, { id: "same" }),
    );
    expect(new Set(await Promise.all(asks))).to.deep.equal(new Set([1]));
    expect(await tell(exchanges[0], a, { kind: "read" })).to.equal(1);
  });

  it("is asked again with the same id when the message may have been lost", async () => {
    await deployment.worker(deployment.connect()).start();
    const faults = new FaultyGate();
    const exchange = await deployment.exchange(deployment.connect(faults.gate));
    faults.loseAnswer("append");
    expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(1);
    faults.lose("append");
    expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(2);
  });

  it("is asked again with the same id when the answer was lost", async () => {
    const faults = new FaultyGate();
    await deployment.worker(deployment.connect(faults.gate)).start();
    const exchange = await deployment.exchange();
    faults.lose("publish");
    expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(1);
    faults.loseAnswer("commit");
    expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(2);
    expect(await tell(exchange, a, { kind: "read" })).to.equal(2);
  }).timeout(10_000);

  it("says that it is unavailable when nobody answers in time, and does nothing afterwards", async () => {
    const log = deployment.connect();
    const exchange = await deployment.exchange();
    expect(await refusal(tell(exchange, a, { kind: "add", n: 1 }, { timeoutMs: 50 }))).to.match(
      /did not answer within 50 ms/,
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
    const worker = deployment.worker(deployment.connect());
    await worker.start();
    expect(await tell(exchange, a, { kind: "read" })).to.equal(0);
    expect((await counterInLog(log, a)).value).to.equal(0);
  });

  it("refuses what goes over the capacity of a mailbox", async () => {
    const log = deployment.connect();
    for (let i = 0; i < 3; i += 1) await post(log, a, { kind: "add", n: 1 });
    const exchange = await deployment.exchange(deployment.connect(), 3);
    expect(await refusal(tell(exchange, a, { kind: "add", n: 1 }))).to.match(/too many commands are waiting/);
  });

  it("refuses everything while the log is short of memory", async () => {
    const log = deployment.connect();
    log.memoryUse = () => Promise.resolve(0.71);
    const exchange = await deployment.exchange(log);
    expect(await refusal(tell(exchange, a, { kind: "add", n: 1 }))).to.match(/memory/);
  });

  it("rings when told to, within a few milliseconds", async () => {
    await deployment.worker(deployment.connect()).start();
    const exchange = await deployment.exchange();
    const atMs = Date.now() + 60;
    await tell(exchange, a, { kind: "alarm", atMs });
    await eventually(async () => {
      const { rangMs } = await counterInLog(deployment.connect(), a);
      expect(rangMs).to.have.length(1);
      expect((rangMs[0] ?? 0) - atMs).to.be.within(0, 40);
    });
  });
});
