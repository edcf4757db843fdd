import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { RestClient } from "../../../../http/client/rest/rest.js";
import { Signer } from "../../../../http/client/client.js";
import { makeKey } from "../../../http/keys.js";
import { Random } from "../../../simulation/machine/random.js";
import { startStack, type Stack } from "../../../support/stack.js";
import { newMarket, newTrader, type TestKey } from "../../../support/traders.js";
import { openStream } from "../support/client.js";
import { type Case, randomCase, type World } from "./fuzz-cases.js";
import { untilWithin } from "../../../support/until.js";

const FRAMES = 10_000;
const WARM_UP = 2_000;
/** Number of requests that a socket may send in one second. */
const PER_SOCKET = 50;
const SEED = Number(process.env["STREAM_SEED"] ?? String(Date.now() % 1_000_000));
const MEMORY_BYTES = 40_000_000;

/** Returns the bytes in use after garbage collection. */
function bytesInUse(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Returns the code of an error frame, or the result key of an acknowledgement. */
function answerOf(frame: Readonly<Record<string, unknown>>): string {
  const { code } = frame;
  if (typeof code === "string") return code;
  const keys = Object.keys(frame).filter((key) => key !== "nonce" && key !== "ts");
  return keys.includes("subscribed") ? "subscribed" : (keys[0] ?? "");
}

describe("messages of every kind", function () {
  this.timeout(180_000);
  let stack: Stack;
  const warnings: string[] = [];
  let unavailable = 0;

  before(async () => {
    stack = await startStack({
      exchangeEnv: "production",
      operatorsNeedTotp: false,
      logTo: (line) => {
        if ((JSON.parse(line) as { level: number }).level >= 40) warnings.push(line);
      },
    });
    // Production warns of what its configuration leaves open.
    warnings.length = 0;
  });
  after(() => stack.stop());

  /** Sends 50 messages over one socket. Each must get the answer of the contract, and the socket must stay open. */
  async function send(key: TestKey, world: World, random: Random, mayTrade: boolean): Promise<void> {
    const client = await openStream(stack.url, key);
    const cases: Case[] = [];
    let last = 0;
    while (cases.length < PER_SOCKET - 1) {
      const one = randomCase(random, world, last, mayTrade);
      cases.push(one);
      if (one.nonce !== undefined) last = Math.max(last, one.nonce);
    }
    cases.push({ text: JSON.stringify({ nonce: last + 1, status: {} }), nonce: last + 1, answer: "status" });
    for (const { text } of cases) client.sendRaw(text);
    const answers = () => client.frames.filter((frame) => frame["delta"] === undefined);
    await untilWithin(30_000, () => answers().length >= cases.length).catch(() => undefined);
    const name = (nonce: number | undefined, answer: string): string => `${nonce ?? "none"} ${answer}`;
    const wanted = cases.map(({ nonce, answer }) => name(nonce, answer)).sort();
    const wantedOf = new Map(cases.map(({ nonce, answer }) => [nonce, answer]));
    const got = answers()
      .map((frame) => {
        const [nonce, answer] = [frame["nonce"] as number | undefined, answerOf(frame)];
        if (answer !== "UNAVAILABLE" || nonce === undefined) return name(nonce, answer);
        unavailable += 1;
        return name(nonce, wantedOf.get(nonce) ?? answer);
      })
      .sort();
    const unexpected = got.filter((answer) => !wanted.includes(answer));
    const texts = cases
      .filter(({ nonce }) => unexpected.some((answer) => answer.startsWith(`${nonce ?? "none"} `)))
      .map(({ text, answer }) => `${answer}: ${text.slice(0, 300)}`);
    expect(got, `seed ${SEED}: ${texts.join("\n")}`).to.deep.equal(wanted);
    await client.close();
  }

  it(`get the right answer, ${FRAMES} of them, and leave no memory in use (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    const { eventId, marketId, outcomes } = await newMarket(stack);
    const world = { eventId, marketId, outcomeId: outcomes[0] };
    const { management, trading } = await newTrader(stack);
    const reading = makeKey("Ed25519");
    const manager = new RestClient(stack.connect(), new Signer(management.key, management.brand));
    const issued = await manager.issueKey(trading.key.keyId, {
      name: "reader",
      publicKey: reading.publicKey,
      algorithm: "Ed25519",
      scope: "trading::read",
    });
    const readKey = { key: { ...reading, keyId: issued.keyId }, brand: trading.brand };
    const run = async (frames: number): Promise<void> => {
      for (let sent = 0; sent < frames; sent += 2 * PER_SOCKET) {
        const reads = random.chance(0.2);
        await Promise.all([
          send(trading, world, random, true),
          send(reads ? readKey : trading, world, random, !reads),
        ]);
      }
    };
    await run(WARM_UP);
    const before = bytesInUse();
    await run(FRAMES);
    const grown = bytesInUse() - before;
    console.log(`      ${FRAMES} messages left ${(grown / 1e6).toFixed(1)} MB in use`);
    expect(grown).to.be.below(MEMORY_BYTES);
    // A state that does not arrive within a second is unavailable, which happens on a busy machine.
    expect(unavailable).to.be.at.most(FRAMES / 1_000);
    expect(warnings).to.deep.equal([]);
  });

  it("that close a socket close only their own, with the right code", async () => {
    const { trading } = await newTrader(stack);
    const other = await openStream(stack.url, trading);
    const ends = async (
      code: number,
      wire: (raw: Awaited<ReturnType<typeof openStream>>) => void,
    ): Promise<void> => {
      const client = await openStream(stack.url, trading);
      wire(client);
      expect((await client.closed).code).to.equal(code);
    };
    await ends(1003, (client) => client.sendRaw(Buffer.from(`{"nonce":1,"status":{}}`)));
    await ends(1009, (client) => client.sendRaw(`{"nonce":1,"status":"${"x".repeat(65_536)}"}`));
    await ends(1007, (client) => client.socket.send(Buffer.from([0x7b, 0xff, 0xfe]), { binary: false }));
    expect(await other.request("status", {})).to.have.property("status");
    const largest = `{"nonce":2,"status":{}}`.padEnd(65_536);
    other.sendRaw(largest);
    expect(await other.next((frame) => frame["nonce"] === 2)).to.have.property("status");
    await other.close();
  });
});
