import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { EmmClient } from "../../../db/queries/accounts/emm-clients.js";
import type { Passwords } from "../../../http/auth/passwords/passwords.js";
import { Clients, MAX_VERIFIED } from "../../../http/surface-b/auth/clients.js";
import type { ServiceTokens } from "../../../http/surface-b/auth/tokens.js";

describe("the verified secrets of surface B", () => {
  it("save the slow hash of clients that have asked of late, and are forgotten beyond their number", async () => {
    let hashes = 0;
    const granted = { granted: true, buckets: [] };
    const clients = new Clients({
      directory: {
        client: (clientId) =>
          Promise.resolve({ clientId, secretVersion: 1, secretHash: "hash" } as unknown as EmmClient),
      },
      tokens: { mint: () => "token" } as unknown as ServiceTokens,
      passwords: {
        matches: () => {
          hashes += 1;
          return Promise.resolve(true);
        },
      } as unknown as Passwords,
      buckets: { spend: () => Promise.resolve(granted as never) },
    });
    const [first = "", second = "", ...others] = Array.from({ length: MAX_VERIFIED + 1 }, () => randomUUID());
    const ask = (clientId: string) => clients.token(clientId, "the secret", "192.0.2.1");
    for (const clientId of [first, second, ...others.slice(0, -1)]) await ask(clientId);
    expect(hashes).to.equal(MAX_VERIFIED);
    await ask(first);
    expect(hashes, "the first is remembered").to.equal(MAX_VERIFIED);
    // One more takes the place of the second, which has been away for longest.
    await ask(others.at(-1) ?? "");
    await ask(first);
    expect(hashes).to.equal(MAX_VERIFIED + 1);
    await ask(second);
    expect(hashes, "the second is forgotten").to.equal(MAX_VERIFIED + 2);
  });
});
