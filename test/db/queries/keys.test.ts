import { createHash, generateKeyPairSync, randomUUID } from "node:crypto";
import { expect } from "chai";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import {
  findKey,
  hasLiveKey,
  liveKeys,
  MAX_LIVE_READ_KEYS,
  mintKey,
  revokeKey,
  recordKeyUse,
  type NewKey,
} from "../../../db/queries/accounts/keys.js";
import {
  findSubaccountByKey,
  listSubaccounts,
  openSubaccount,
  relabelSubaccount,
  type Subaccount,
} from "../../../db/queries/accounts/subaccounts.js";
import { createTrader, findTraderByEmail, setTraderState } from "../../../db/queries/accounts/traders.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";

const NOW = 1_700_000_000_000;

describe("keys and subaccounts", () => {
  let database: FreshDatabase;
  let db: Database;
  let traderId: string;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    traderId = await newTrader();
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  async function newTrader(): Promise<string> {
    const id = randomUUID();
    await createTrader(db, {
      traderId: id,
      email: `${id}@example.org`,
      passwordHash: "hash",
      role: "trader",
      nowTs: NOW,
    });
    return id;
  }

  function key(scope: NewKey["scope"], fields: Partial<NewKey> = {}): NewKey {
    const { publicKey } = generateKeyPairSync("ed25519");
    const publicKeyDer = publicKey.export({ type: "spki", format: "der" });
    return {
      keyId: randomUUID(),
      traderId,
      scope,
      algorithm: "Ed25519",
      publicKeyPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
      publicKeyDer,
      fingerprint: `sha256:${createHash("sha256").update(publicKeyDer).digest("hex")}`,
      name: "a key",
      createdTs: NOW,
      ...fields,
    };
  }

  async function open(label: string): Promise<{ subaccount: Subaccount; trading: NewKey }> {
    const subaccount = { subaccountId: randomUUID(), traderId, label, createdTs: NOW, closedTs: null };
    const trading = key("trading", { subaccountId: subaccount.subaccountId });
    expect(await openSubaccount(db, subaccount, trading)).to.deep.equal({ ok: true });
    return { subaccount, trading };
  }

  it("keeps one live management key per trader when several are created at once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => mintKey(db, key("management"))));
    expect(answers.filter(({ ok }) => ok)).to.have.length(1);
    expect(answers).to.deep.include({ ok: false, refusal: "MANAGEMENT_KEY_EXISTS" });
    const [live] = await liveKeys(db, traderId, NOW);
    expect(await revokeKey(db, traderId, live?.key.keyId ?? "", NOW)).to.equal(true);
    expect(await revokeKey(db, traderId, live?.key.keyId ?? "", NOW)).to.equal(false);
    expect(await mintKey(db, key("management"))).to.deep.equal({ ok: true });
  });

  it("keeps one live trading key in each subaccount", async () => {
    const { subaccount, trading } = await open("first");
    await open("second");
    const again = key("trading", { subaccountId: subaccount.subaccountId });
    expect(await mintKey(db, again)).to.deep.equal({ ok: false, refusal: "TRADING_KEY_EXISTS" });
    expect(await hasLiveKey(db, subaccount.subaccountId, "trading", NOW)).to.equal(true);
    await revokeKey(db, traderId, trading.keyId, NOW);
    expect(await hasLiveKey(db, subaccount.subaccountId, "trading", NOW)).to.equal(false);
    expect(await mintKey(db, again)).to.deep.equal({ ok: true });
  });

  it("refuses a public key that is live anywhere, and accepts it again after it has expired", async () => {
    const first = key("management::read", { expiresTs: NOW + 1_000 });
    await mintKey(db, first);
    const other = await newTrader();
    const copy = { ...first, keyId: randomUUID(), traderId: other, expiresTs: undefined };
    expect(await mintKey(db, copy)).to.deep.equal({ ok: false, refusal: "KEY_EXISTS" });
    expect(await mintKey(db, { ...copy, createdTs: NOW + 2_000 })).to.deep.equal({ ok: true });
    expect(await liveKeys(db, traderId, NOW + 2_000)).to.deep.equal([]);
    expect((await findKey(db, first.keyId))?.key.revokedTs).to.equal(NOW + 1_000);
  });

  it("limits the number of read keys", async () => {
    for (let n = 0; n < MAX_LIVE_READ_KEYS; n += 1) await mintKey(db, key("management::read"));
    expect(await mintKey(db, key("management::read"))).to.deep.equal({ ok: false, refusal: "TOO_MANY_KEYS" });
    expect(await liveKeys(db, traderId, NOW)).to.have.length(MAX_LIVE_READ_KEYS);
    expect(await mintKey(db, key("management"))).to.deep.equal({ ok: true });
  });

  it("opens at most five subaccounts when several are opened at once, each with its key", async () => {
    const opening = Array.from({ length: 7 }, (_, n) => {
      const subaccount = {
        subaccountId: randomUUID(),
        traderId,
        label: `${n}`,
        createdTs: NOW + n,
        closedTs: null,
      };
      return openSubaccount(db, subaccount, key("trading", { subaccountId: subaccount.subaccountId }));
    });
    const answers = await Promise.all(opening);
    expect(answers.filter(({ ok }) => ok)).to.have.length(5);
    expect(answers).to.deep.include({ ok: false, refusal: "TOO_MANY_SUBACCOUNTS" });
    expect(await listSubaccounts(db, traderId, NOW)).to.have.length(5);
    expect(await liveKeys(db, traderId, NOW)).to.have.length(5);
  });

  it("does not open a subaccount whose key is already live", async () => {
    const { trading } = await open("first");
    const subaccount = {
      subaccountId: randomUUID(),
      traderId,
      label: "second",
      createdTs: NOW,
      closedTs: null,
    };
    const copy = { ...trading, keyId: randomUUID(), subaccountId: subaccount.subaccountId };
    expect(await openSubaccount(db, subaccount, copy)).to.deep.equal({ ok: false, refusal: "KEY_EXISTS" });
    expect(await listSubaccounts(db, traderId, NOW)).to.have.length(1);
  });

  it("names a subaccount by its oldest live key, and finds it by any key", async () => {
    const { subaccount, trading } = await open("first");
    const { subaccountId } = subaccount;
    const reading = key("trading::read", { subaccountId, createdTs: NOW + 1 });
    await mintKey(db, reading);
    const named = async (): Promise<string | undefined> =>
      (await listSubaccounts(db, traderId, NOW + 9))[0]?.keyId;
    expect(await named()).to.equal(trading.keyId);
    await revokeKey(db, traderId, trading.keyId, NOW + 2);
    expect(await named()).to.equal(reading.keyId);
    await revokeKey(db, traderId, reading.keyId, NOW + 3);
    expect(await named()).to.equal(reading.keyId);

    expect(await findSubaccountByKey(db, traderId, trading.keyId)).to.deep.equal(subaccount);
    expect(await findSubaccountByKey(db, await newTrader(), trading.keyId), "of another trader").to.equal(
      undefined,
    );
    const management = key("management");
    await mintKey(db, management);
    expect(await findSubaccountByKey(db, traderId, management.keyId)).to.equal("NOT_A_SUBACCOUNT_KEY");
    expect(await relabelSubaccount(db, subaccountId, "renamed")).to.equal(true);
    expect((await findKey(db, reading.keyId))?.label).to.equal("renamed");
  });

  it("finds a key with the state of its trader, and records the time of its last use", async () => {
    const management = key("management");
    await mintKey(db, management);
    await setTraderState(db, traderId, { state: "LOCKED", reason: "a test", nowTs: NOW + 1 });
    await recordKeyUse(db, new Map([[management.keyId, NOW + 50]]));
    await recordKeyUse(db, new Map([[management.keyId, NOW + 20]]));
    const found = await findKey(db, management.keyId);
    expect(found?.trader).to.include({ traderId, state: "LOCKED", kyc: "NONE" });
    expect(found?.key.lastUsedTs).to.equal(NOW + 50);
    expect(found?.key.publicKeyDer.equals(management.publicKeyDer)).to.equal(true);
    expect(await findKey(db, randomUUID())).to.equal(undefined);
  });

  it("allows one trader per e-mail address, ignoring case and spaces", async () => {
    const email = "Some.One@Example.org";
    const fields = { email, passwordHash: "hash", role: "operator", nowTs: NOW } as const;
    expect(await createTrader(db, { ...fields, traderId: randomUUID() })).to.include({ kyc: "NONE" });
    const second = { ...fields, traderId: randomUUID(), email: " some.one@example.ORG" };
    expect(await createTrader(db, second)).to.equal(undefined);
    expect(await findTraderByEmail(db, "SOME.ONE@EXAMPLE.ORG")).to.include({ role: "operator" });
  });
});
