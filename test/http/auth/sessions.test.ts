import { expect } from "chai";
import jwt from "jsonwebtoken";
import { Passwords } from "../../../http/auth/passwords/passwords.js";
import { ScryptThreads } from "../../../http/auth/passwords/scrypt.js";
import { endOfSessions, hasEnded, WebTokens } from "../../../http/auth/web-tokens.js";

const SECRET = "a secret of the tests, long enough for HS256";
const ACCOUNT = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

describe("web tokens", () => {
  const now = 1_790_000_000_000;
  const tokens = new WebTokens(SECRET, () => now);
  const claims = () => jwt.decode(tokens.mint(ACCOUNT, "trader").token) as jwt.JwtPayload;
  const forge = (payload: object, options: jwt.SignOptions = {}, secret: string | null = SECRET) =>
    jwt.sign(payload, secret ?? "", {
      header: { alg: "HS256", typ: "web+jwt" },
      ...options,
    } as jwt.SignOptions);

  it("identify their account for twelve hours", () => {
    const { token, session } = tokens.mint(ACCOUNT, "operator");
    expect(tokens.read(token)).to.deep.equal(session);
    expect(session.expiresAt - now).to.equal(12 * 60 * 60 * 1000);
    expect(new WebTokens(SECRET, () => session.expiresAt - 1_000).read(token)).to.deep.equal(session);
    expect(new WebTokens(SECRET, () => session.expiresAt).read(token)).to.equal(undefined);
  });

  it("begin after the end of all earlier ones, which their account remembers", () => {
    const before = tokens.mint(ACCOUNT, "trader").session;
    const sessionsEndedTs = endOfSessions(now);
    const after = tokens.mint(ACCOUNT, "trader", sessionsEndedTs).session;
    expect(hasEnded(before, { sessionsEndedTs: null })).to.equal(false);
    expect(hasEnded(before, { sessionsEndedTs })).to.equal(true);
    expect(hasEnded(after, { sessionsEndedTs })).to.equal(false);
    const ahead = new WebTokens(SECRET, () => now + 4_000).mint(ACCOUNT, "trader").session;
    expect(hasEnded(ahead, { sessionsEndedTs }), "of a gateway whose clock is ahead").to.equal(true);
  });

  it("accept a forgery with the same claims and secret, from which each attack below differs", () => {
    expect(tokens.read(forge(claims()))?.accountId).to.equal(ACCOUNT);
  });

  const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const attacks: Readonly<Record<string, () => string>> = {
    "alg none": () => `${base64url({ alg: "none", typ: "web+jwt" })}.${base64url(claims())}.`,
    "alg None": () => `${base64url({ alg: "None", typ: "web+jwt" })}.${base64url(claims())}.`,
    "another secret": () => forge(claims(), {}, "another secret of at least thirty-two letters"),
    HS512: () => forge(claims(), { algorithm: "HS512", header: { alg: "HS512", typ: "web+jwt" } }),
    "another issuer": () => forge({ ...claims(), iss: "elsewhere" }),
    "the audience of surface B": () => forge({ ...claims(), aud: "emm" }),
    "two audiences": () => forge({ ...claims(), aud: ["web", "emm"] }),
    "another typ": () => forge(claims(), { header: { alg: "HS256", typ: "JWT" } }),
    "a key id": () => forge(claims(), { header: { alg: "HS256", typ: "web+jwt", kid: "../../dev/null" } }),
    "a key address": () =>
      forge(claims(), { header: { alg: "HS256", typ: "web+jwt", jku: "http://localhost/" } }),
    "an unknown role": () => forge({ ...claims(), role: "root" }),
    "no expiry": () => {
      const rest = claims();
      delete rest.exp;
      return forge(rest);
    },
    expired: () => forge({ ...claims(), exp: Math.floor(now / 1000) - 1 }),
    "a cut signature": () => tokens.mint(ACCOUNT, "trader").token.slice(0, -2),
    nothing: () => "",
  };
  for (const [name, attack] of Object.entries(attacks)) {
    it(`refuse ${name}`, () => expect(tokens.read(attack())).to.equal(undefined));
  }
});

const TURN = { sender: "192.0.2.1", operator: false };

describe("passwords", () => {
  const passwords = new Passwords({ log2N: 10, p: 1 });

  it("match only themselves", async () => {
    const stored = await passwords.hash("correct horse");
    expect(stored).to.not.include("horse");
    expect(await passwords.matches("correct horse", stored, TURN)).to.equal(true);
    expect(await passwords.matches("correct horse ", stored, TURN)).to.equal(false);
  });

  it("are salted", async () => {
    expect(await passwords.hash("same")).to.not.equal(await passwords.hash("same"));
  });

  it("match no missing hash, after the same work", async () => {
    expect(await passwords.matches("anything", undefined, TURN)).to.equal(false);
  });

  it("match no missing hash either where no hash could be computed at the start", async () => {
    const hash = Object.getOwnPropertyDescriptor(ScryptThreads.prototype, "hash") ?? {};
    ScryptThreads.prototype.hash = () => Promise.reject(new Error("a hash took too long"));
    const started = new Passwords({ log2N: 10, p: 1 });
    await new Promise(setImmediate);
    Object.defineProperty(ScryptThreads.prototype, "hash", hash);
    expect(await started.matches("anything", undefined, TURN)).to.equal(false);
  });

  it("are hashed a few at a time, and refused when too many wait", async () => {
    // No slot of these rests for a wrong password.
    const rested = new Passwords({ log2N: 10, p: 1 });
    const stored = await rested.hash("x");
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, n) => rested.matches("x", stored, { ...TURN, sender: `192.0.2.${n}` })),
    );
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused.length).to.equal(58);
    expect(refused.every(({ reason }) => (reason as { code: string }).code === "UNAVAILABLE")).to.equal(true);
  });

  it("of operators are checked while those of others wait", async () => {
    const slow = new Passwords({ log2N: 15, p: 1 });
    const stored = await slow.hash("x");
    const ended: string[] = [];
    const check = async (name: string, operator: boolean): Promise<void> => {
      await slow.matches("x", stored, { sender: name, operator });
      ended.push(name);
    };
    const others = Array.from({ length: 20 }, (_, index) => check(`other ${index}`, false));
    await check("operator", true);
    expect(ended.length).to.be.below(10);
    // A busy machine refuses checks that wait for too long.
    await Promise.allSettled(others);
  });
});
