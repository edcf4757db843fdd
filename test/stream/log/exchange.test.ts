import { expect } from "chai";
import {
  a,
  b,
  Deployment,
  FaultyGate,
  post,
  unavailableMessage,
  sendCommand,
} from "../runtime/deployment.js";
import { WriteRefused } from "../../../stream/log/log.js";
import { counterInLog } from "./support.js";
import { until } from "../../support/until.js";
import { stopwatch } from "../../support/stopwatch.js";

describe("an exchange", () => {
  let deployment: Deployment;

  beforeEach(() => {
    deployment = new Deployment();
  });

  afterEach(() => deployment.close());

  it("returns the answers of actors", async () => {
    await deployment.worker(deployment.connect()).start();
    const exchange = await deployment.exchange();
    expect(await sendCommand(exchange, a, { kind: "add", n: 2 })).to.equal(2);
    expect(await sendCommand(exchange, b, { kind: "add", n: 1 })).to.equal(1);
    expect(await sendCommand(exchange, a, { kind: "read" }, { rememberMs: 0 })).to.equal(2);
  });

  it("executes a command id once, however often and by whomever it is sent", async () => {
    await deployment.worker(deployment.connect()).start();
    const exchanges = await Promise.all([deployment.exchange(), deployment.exchange()]);
    const answers = Array.from({ length: 50 }, (_, index) =>
      sendCommand(exchanges[index % 2] ?? exchanges[0], a, { kind: "add", n: 1 }, { id: "same" }),
    );
    expect(new Set(await Promise.all(answers))).to.deep.equal(new Set([1]));
    expect(await sendCommand(exchanges[0], a, { kind: "read" })).to.equal(1);
  });

  it("says that an answer is repeated, but not of a command that it has sent twice itself", async () => {
    const faults = new FaultyGate();
    await deployment.worker(deployment.connect(faults.gate)).start();
    const exchanges = await Promise.all([deployment.exchange(), deployment.exchange()]);
    const add = (index: 0 | 1, id: string): Promise<unknown> =>
      exchanges[index].askOnce(a, { kind: "add", n: 1 }, { id });
    expect(await add(0, "x")).to.deep.equal({ reply: { value: 1 }, repeated: false });
    expect(await add(1, "x")).to.deep.equal({ reply: { value: 1 }, repeated: true });
    expect(await add(0, "x")).to.deep.equal({ reply: { value: 1 }, repeated: true });
    faults.lose("publish");
    expect(await add(0, "y")).to.deep.equal({ reply: { value: 2 }, repeated: false });
    expect(await add(1, "y")).to.deep.equal({ reply: { value: 2 }, repeated: true });
  }).timeout(10_000);

  it("takes no answer to a query with the id of a command for the answer to the command", async () => {
    await deployment.worker(deployment.connect()).start();
    const exchange = await deployment.exchange();
    const isAnswer = (reply: unknown): boolean => (reply as { value: number }).value > 0;
    const [queried, added] = await Promise.all([
      exchange.ask(a, { kind: "read" }, { id: "x", rememberMs: 0 }),
      exchange.ask(a, { kind: "add", n: 1 }, { id: "x", isAnswer }),
    ]);
    expect([queried, added]).to.deep.equal([{ value: 0 }, { value: 1 }]);
  });

  it("sends a command again under the same id when the message may be lost", async () => {
    await deployment.worker(deployment.connect()).start();
    const faults = new FaultyGate();
    const exchange = await deployment.exchange(deployment.connect(faults.gate));
    faults.loseAnswer("append");
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(1);
    faults.lose("append");
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(2);
  });

  it("sends a command again under the same id when the answer is lost", async () => {
    const faults = new FaultyGate();
    await deployment.worker(deployment.connect(faults.gate)).start();
    const exchange = await deployment.exchange();
    faults.lose("publish");
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(1);
    faults.loseAnswer("commit");
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(2);
    expect(await sendCommand(exchange, a, { kind: "read" })).to.equal(2);
  }).timeout(10_000);

  it("is unavailable when no answer comes in time, and the command is not executed later", async () => {
    const log = deployment.connect();
    const exchange = await deployment.exchange();
    expect(
      await unavailableMessage(sendCommand(exchange, a, { kind: "add", n: 1 }, { timeoutMs: 50 })),
    ).to.match(/did not answer within 50 ms/);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const worker = deployment.worker(deployment.connect());
    await worker.start();
    expect(await sendCommand(exchange, a, { kind: "read" })).to.equal(0);
    expect((await counterInLog(log, a)).value).to.equal(0);
  });

  it("rejects a command over the capacity of a mailbox", async () => {
    const log = deployment.connect();
    for (let i = 0; i < 3; i += 1) await post(log, a, { kind: "add", n: 1 });
    const exchange = await deployment.exchange(deployment.connect(), 3);
    expect(await unavailableMessage(sendCommand(exchange, a, { kind: "add", n: 1 }))).to.match(
      /too many commands are waiting/,
    );
  });

  it("rejects a command at once when the log takes no writes, and goes on when it does again", async () => {
    await deployment.worker(deployment.connect()).start();
    const log = deployment.connect();
    const exchange = await deployment.exchange(log);
    const append = log.append.bind(log);
    log.append = () => Promise.reject(new WriteRefused("Redis cannot write to its disk"));
    const elapsedMs = stopwatch();
    expect(await unavailableMessage(sendCommand(exchange, a, { kind: "add", n: 1 }))).to.equal(
      "the exchange accepts no commands: Redis cannot write to its disk",
    );
    expect(elapsedMs()).to.be.lessThan(1_000);
    log.append = append;
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(1);
  });

  it("reaches an actor that ticks within a few milliseconds of its deadline", async () => {
    await deployment.worker(deployment.connect()).start();
    const exchange = await deployment.exchange();
    const atMs = Date.now() + 60;
    // A busy machine lets a timer of this process be late too.
    const timerMs = new Promise<number>((resolve) => setTimeout(() => resolve(Date.now()), 60));
    await sendCommand(exchange, a, { kind: "alarm", atMs });
    const dueMs = Math.max(Date.now(), await timerMs);
    await until(async () => {
      const { tickedMs: tickedMs } = await counterInLog(deployment.connect(), a);
      expect(tickedMs).to.have.length(1);
      expect(tickedMs[0]).to.be.within(atMs, dueMs + 40);
    });
  });
});
