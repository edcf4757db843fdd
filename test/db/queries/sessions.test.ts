import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Database, connect, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { findLocation, recordLocation } from "../../../db/queries/accounts/device-locations.js";
import { isTokenRevoked, revokeToken } from "../../../db/queries/accounts/revoked-tokens.js";
import { createTrader } from "../../../db/queries/accounts/traders.js";
import { type FreshDatabase, freshDatabase } from "../../support/servers.js";

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
});
