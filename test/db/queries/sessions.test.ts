import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Database, connect, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { findLocation, listCheckIns, recordLocation } from "../../../db/queries/accounts/device-locations.js";
import { isTokenRevoked, revokeToken } from "../../../db/queries/accounts/revoked-tokens.js";
import { isKnownAddress, rememberAddress } from "../../../db/queries/accounts/sign-ins.js";
import { createTrader } from "../../../db/queries/accounts/traders.js";
import { knownAddresses } from "../../../db/schema/accounts.js";
import { type FreshDatabase, freshDatabase } from "../../support/servers.js";
import { readAll } from "../read-all.js";

const NOW = 1_700_000_000_000;

describe("queries of sessions", () => {
  let database: FreshDatabase;
  let db: Database;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("revokes tokens, and deletes those that have expired", async () => {
    await revokeToken(db, { tokenId: "old", expiresTs: NOW + 1, nowTs: NOW });
    await revokeToken(db, { tokenId: "new", expiresTs: NOW + 100, nowTs: NOW + 50 });
    expect([await isTokenRevoked(db, "old"), await isTokenRevoked(db, "new")]).to.deep.equal([false, true]);
  });

  it("keeps the last check-in of a trader", async () => {
    const traderId = randomUUID();
    await createTrader(db, { traderId, email: "x@y.z", passwordHash: "h", role: "trader", nowTs: NOW });
    const nowhere = { region: null, latitude: null, longitude: null, accuracyMetres: null };
    await recordLocation(db, { traderId, failed: true, ...nowhere, ts: NOW });
    await recordLocation(db, { traderId, failed: false, ...nowhere, region: "US-NY", ts: NOW + 1 });
    expect(await findLocation(db, traderId)).to.include({ failed: false, region: "US-NY", ts: NOW + 1 });
  });

  it("lists the last check-in of each minute for 90 days", async () => {
    const [traderId, other] = [randomUUID(), randomUUID()];
    for (const id of [traderId, other])
      await createTrader(db, {
        traderId: id,
        email: `${id}@y.z`,
        passwordHash: "h",
        role: "trader",
        nowTs: NOW,
      });
    const DAY_MS = 86_400_000;
    const times = [NOW, NOW + 1, NOW + 60_000, NOW + 89 * DAY_MS];
    const nowhere = { failed: true, region: null, latitude: null, longitude: null, accuracyMetres: null };
    for (const ts of times) await recordLocation(db, { traderId, ...nowhere, ts });
    await recordLocation(db, { traderId: other, ...nowhere, ts: NOW + 2 });
    const listed = async (): Promise<number[]> =>
      (await readAll((after) => listCheckIns(db, traderId, { limit: 1, after }))).map(({ ts }) => ts);
    expect(await listed()).to.deep.equal(times.slice(1).toReversed());
    await recordLocation(db, { traderId, ...nowhere, ts: NOW + 91 * DAY_MS });
    expect(await listed()).to.deep.equal([NOW + 91 * DAY_MS, NOW + 89 * DAY_MS]);
  });

  it("knows the addresses of sign-ins for 90 days", async () => {
    const traderId = randomUUID();
    await createTrader(db, { traderId, email: "x@y.z", passwordHash: "h", role: "trader", nowTs: NOW });
    const DAY_MS = 86_400_000;
    const known = (address: string, nowTs: number) => isKnownAddress(db, { traderId, address, nowTs });
    await rememberAddress(db, { traderId, address: "192.0.2.1", nowTs: NOW });
    expect(await known("192.0.2.1", NOW + 89 * DAY_MS)).to.equal(true);
    expect(await known("192.0.2.1", NOW + 91 * DAY_MS)).to.equal(false);
    expect(await known("192.0.2.2", NOW)).to.equal(false);
    await rememberAddress(db, { traderId, address: "192.0.2.2", nowTs: NOW + 91 * DAY_MS });
    expect(await db.select().from(knownAddresses)).to.have.length(1);
  });
});
