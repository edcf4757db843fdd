import { expect } from "chai";
import { connect, type Database, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { tooManyWait } from "../../../http/auth/passwords/fair-slots.js";
import type { Passwords } from "../../../http/auth/passwords/passwords.js";
import type { SecondFactors } from "../../../http/auth/second-factors.js";
import { SignIns } from "../../../http/auth/sign-ins.js";
import { Refused } from "../../../http/request/errors.js";
import { type FreshDatabase, freshDatabase } from "../../support/servers.js";
import { until } from "../../support/until.js";

describe("a sign-in for whose password there is no place", () => {
  let database: FreshDatabase;
  let db: Database;

  before(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
  });
  after(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("lets its account wait at its address for a second, in which it costs nothing, and nobody else", async () => {
    let checks = 0;
    let spent = 0;
    const signIns = new SignIns({
      db,
      passwords: {
        matches: () => {
          checks += 1;
          return Promise.reject(tooManyWait());
        },
      } as unknown as Passwords,
      secondFactors: {} as unknown as SecondFactors,
      buckets: {
        spend: () => {
          spent += 1;
          return Promise.resolve({ granted: true, buckets: [] });
        },
      },
    });
    const signIn = async (ip: string, email = "a@example.com"): Promise<string> => {
      const from = { ip, receivedMs: Date.now(), heldMs: 0 };
      const error: unknown = await signIns
        .signIn(email, { password: "x" }, from)
        .catch((refused: unknown) => refused);
      return error instanceof Refused ? `${error.code} ${error.headers["Retry-After"] ?? ""}` : String(error);
    };
    expect(await signIn("192.0.2.1")).to.equal("UNAVAILABLE 1");
    const before = { checks, spent };
    expect(before).to.deep.equal({ checks: 1, spent: 5 });
    for (const email of ["a@example.com", "A@example.com"])
      expect(await signIn("192.0.2.1", email)).to.equal("UNAVAILABLE 1");
    expect({ checks, spent }).to.deep.equal(before);
    await signIn("192.0.2.1", "b@example.com");
    expect(checks, "another account at the address").to.equal(2);
    await signIn("192.0.2.2");
    expect(checks, "the account at another address").to.equal(3);
    await until(async () => {
      await signIn("192.0.2.1");
      return checks > 3;
    });
  });
});
