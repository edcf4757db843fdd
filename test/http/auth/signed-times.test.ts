import { createPublicKey, randomUUID } from "node:crypto";
import { expect } from "chai";
import { Signatures } from "../../../http/auth/signatures.js";
import { Refused } from "../../../http/request/errors.js";
import type { ConfirmedJump } from "../../../stream/log/log.js";
import { makeKey, signatureHeaders } from "../keys.js";

const NOW = 1_790_000_000_000;
const HOUR_MS = 3_600_000;

describe("the time of a signature", () => {
  const pair = makeKey();
  const keyId = randomUUID();
  const signatures = new Signatures("Svc", {
    find: () =>
      Promise.resolve({
        keyId,
        traderId: randomUUID(),
        subaccountId: randomUUID(),
        scope: "trading",
        algorithm: pair.algorithm,
        publicKey: createPublicKey(pair.publicKey),
        expiresTs: undefined,
        kyc: "VERIFIED",
        state: "ACTIVE",
      }),
  });

  /** Identifies the caller of a request; returns its command id, or the reason of the refusal. */
  async function identify(
    signedMs: number,
    receivedMs: number,
    heldMs: number,
    lastJump?: ConfirmedJump,
  ): Promise<string> {
    const signed = { method: "GET", target: "/v3/limits" };
    const headers = signatureHeaders({ keyId, ...pair }, "Svc", signed, signedMs);
    const sent = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const request = {
      method: signed.method,
      target: { path: signed.target, query: "" },
      body: Buffer.alloc(0),
      ip: "192.0.2.1",
      receivedMs,
      heldMs,
      lastJump,
      header: (name: string) => sent.get(name),
    };
    try {
      return (await signatures.identify(request)).commandId;
    } catch (error) {
      if (error instanceof Refused) return error.message.split(":")[0] ?? "";
      throw error;
    }
  }

  it("is compared with engine time", async () => {
    expect(await identify(NOW + 30_000, NOW, 0)).to.match(/^[0-9a-f]{64}$/);
    expect(await identify(NOW - 30_000, NOW, 0)).to.match(/^[0-9a-f]{64}$/);
    expect(await identify(NOW + 30_001, NOW, 0)).to.equal("timestamp too far in the future");
    expect(await identify(NOW - 30_001, NOW, 0)).to.equal("timestamp too old");
  });

  for (const heldMs of [HOUR_MS, -HOUR_MS, 130_001, -130_001]) {
    it(`may also be that of the clock of Redis while ${heldMs} ms are held, as another request`, async () => {
      const redisMs = NOW - heldMs;
      const ids = [
        await identify(NOW, NOW, heldMs),
        await identify(redisMs, NOW, heldMs),
        await identify(redisMs + 30_000, NOW, heldMs),
        await identify(redisMs - 30_000, NOW, heldMs),
      ];
      expect(ids.join(" ")).to.match(/^[0-9a-f]{64}( [0-9a-f]{64}){3}$/);
      // A repeat is the same request, also when it comes later.
      expect(await identify(redisMs, NOW + 20_000, heldMs)).to.equal(ids[1]);
      expect(await identify(NOW, NOW + 20_000, heldMs)).to.equal(ids[0]);
      expect(await identify(NOW, NOW, 0)).to.equal(ids[0]);
      // Engine time may reach the timestamp later.
      expect(await identify(redisMs, redisMs, heldMs))
        .to.match(/^[0-9a-f]{64}$/)
        .and.not.equal(ids[1]);
      for (const between of [redisMs + 30_001, redisMs - 30_001])
        expect(await identify(between, NOW, heldMs)).to.match(/^timestamp too/);
    });

    it(`is refused if it is from before a confirmed jump for which ${heldMs} ms were held`, async () => {
      const redisMs = NOW - heldMs;
      const jump = { atMs: redisMs, heldMs };
      for (const signedMs of [redisMs - 30_000, redisMs, redisMs + 5_000]) {
        expect(await identify(signedMs, NOW, heldMs)).to.match(/^[0-9a-f]{64}$/);
        expect(await identify(signedMs, redisMs, 0, jump), `signed at ${signedMs}`).to.equal(
          "timestamp too old",
        );
      }
    });

    it(`is the same request for a gateway that does not know yet that ${heldMs} ms are confirmed`, async () => {
      const redisMs = NOW - heldMs;
      const jump = { atMs: redisMs, heldMs };
      for (const signedMs of [redisMs + 5_001, redisMs + 65_000]) {
        const known = await identify(signedMs, redisMs + 35_000, 0, jump);
        expect(known).to.match(/^[0-9a-f]{64}$/);
        expect(await identify(signedMs, NOW + 35_000, heldMs)).to.equal(known);
      }
    });

    it(`is another request when engine time comes to it again after ${heldMs} ms are confirmed`, async () => {
      const redisMs = NOW - heldMs;
      const jump = { atMs: redisMs, heldMs };
      expect(await identify(NOW, redisMs, 0, jump)).to.match(/^timestamp too/);
      const later = redisMs + 65_001;
      const plain = await identify(later, later, 0);
      const again = await identify(later, later, 0, jump);
      if (heldMs < 0) expect(again).to.equal(plain);
      else
        expect(again)
          .to.match(/^[0-9a-f]{64}$/)
          .and.not.equal(plain);
      const ended = redisMs + Math.max(0, heldMs) + 65_001;
      expect(await identify(ended, ended, 0, jump)).to.equal(await identify(ended, ended, 0));
    });
  }

  it("is compared with engine time alone while less is held, because a repeat could come into the other window", async () => {
    for (const heldMs of [130_000, -130_000])
      expect(await identify(NOW - heldMs, NOW, heldMs)).to.match(/^timestamp too/);
  });

  it("is the same request before and after a small jump is confirmed, by engine time alone", async () => {
    for (const heldMs of [20_000, -20_000]) {
      const jump = { atMs: NOW - heldMs, heldMs };
      expect(await identify(NOW, NOW - heldMs, 0, jump)).to.equal(await identify(NOW, NOW, heldMs));
    }
  });
});
