import { expect } from "chai";
import { systemClock } from "../../../stream/log/clock.js";
import type { MemoryLog } from "../../support/log/memory-log.js";
import type { Worker } from "../../../stream/runtime/worker.js";
import { counter } from "./counter.js";
import { a, b, Deployment, partitionOfWorker, post, step } from "./deployment.js";
import { counterInLog, eventually } from "../log/support.js";

describe("a domain", () => {
  let deployment: Deployment;
  let log: MemoryLog;
  let worker: Worker;

  beforeEach(async () => {
    deployment = new Deployment(true);
    log = deployment.connect();
    worker = deployment.worker(deployment.connect());
    await worker.beat();
  });

  afterEach(() => deployment.close());

  async function send(n: number): Promise<void> {
    await post(log, a, { kind: "send", to: b, numbers: [n] });
    partitionOfWorker(worker, "l1").markUnread(a);
    await step(worker, "l1");
  }

  const headOf = async (actor: typeof a) => (await log.heads(actor === a ? "l1" : "l2", [actor]))[0];
  const received = async () => (await counterInLog(log, b)).received;

  /** The first message to an actor goes by its mailbox, which is read then. */
  async function warmUp(): Promise<void> {
    await send(1);
    await step(worker, "l1");
    await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1] });
  }

  it("hands a message over in the commit in which it was sent", async () => {
    await warmUp();
    const { cursor } = (await headOf(b)) ?? {};
    await send(2);
    expect(await received()).to.deep.equal({ [a]: [1, 2] });
    expect(await headOf(a)).to.include({ seq: 2, relayed: 2 });
    expect(await headOf(b)).to.include({ seq: 2, cursor });
    expect(worker.relay.destinations()).to.deep.equal([]);
  });

  it("lets no message overtake another that went by the mailbox", async () => {
    await send(1);
    await send(2);
    await step(worker, "l1");
    await send(3);
    expect(await received()).to.deep.equal({ [a]: [1, 2, 3] });
    expect((await headOf(b))?.cursor, "what went by the mailbox").to.equal("0-2");
  });

  it("sends by the mailbox again when the receiver was let go meanwhile", async () => {
    await warmUp();
    const elsewhere = partitionOfWorker(worker, "l2");
    elsewhere.halt(b, new Error("for a while"));
    await send(2);
    await send(3);
    expect(await received()).to.deep.equal({ [a]: [1] });
    elsewhere.end(new Error("again"));
    await worker.beat();
    await worker.beat();
    for (let i = 0; i < 3; i += 1) await step(worker, "l2");
    await send(4);
    await step(worker, "l1");
    await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1, 2, 3, 4] });
  });

  it("does neither when one of the two partitions has another owner", async () => {
    await warmUp();
    const thief = deployment.connect();
    await thief.take("l2", "thief", [], true);
    await send(2);
    expect(await headOf(a)).to.include({ seq: 1 });
    expect(await received()).to.deep.equal({ [a]: [1] });
    for (const name of ["l1", "l2"])
      expect(String(partitionOfWorker(worker, name).endReason)).to.match(/l2 has another owner/);
    await thief.take("l2", worker.id, [], true);
    await worker.beat();
    await worker.beat();
    for (let i = 0; i < 4; i += 1) await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1, 2] });
  });

  it("keeps a message that breaks its receiver in the mailbox, and lets the sender go on", async () => {
    await worker.stop();
    const superstitious: typeof counter = {
      ...counter,
      decide: (state, command, now) => {
        if (command.kind === "receive" && command.n === 13) throw new Error("not that one");
        return counter.decide(state, command, now);
      },
    };
    worker = deployment.worker(deployment.connect(), systemClock, superstitious);
    await worker.beat();
    await warmUp();
    await send(13);
    await send(14);
    await step(worker, "l1");
    expect(await headOf(a)).to.include({ seq: 3 });
    expect(await received()).to.deep.equal({ [a]: [1] });
    expect([...(await log.halted()).keys()]).to.deep.equal([b]);
    await worker.stop();
    worker = deployment.worker(deployment.connect());
    await worker.beat();
    for (let i = 0; i < 3; i += 1) await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1, 13, 14] });
    await eventually(async () => expect([...(await log.halted())]).to.deep.equal([]));
  });

  it("uses what the rings carry, and reads the mailbox where one is missing", async () => {
    await warmUp();
    const partition = partitionOfWorker(worker, "l1");
    const bodies = ["2", "3", "4"].map((n) => JSON.stringify({ commands: [{ kind: "add", n: Number(n) }] }));
    await log.append(
      "l1",
      bodies.map((body) => ({ to: a, body })),
    );
    const carry = (position: number): void => {
      const inline = { position, body: bodies[position - 2] ?? "" };
      partition.notify({ partition: "l1", notices: [{ actor: a, inline }], scanAll: false });
    };
    carry(2);
    await step(worker, "l1");
    expect((await counterInLog(log, a)).value).to.equal(2);
    carry(2);
    carry(4);
    await step(worker, "l1");
    expect((await counterInLog(log, a)).value).to.equal(9);
    carry(3);
    await step(worker, "l1");
    expect((await counterInLog(log, a)).value).to.equal(9);
    expect((await headOf(a))?.cursor).to.equal("0-4");
  });
});
