import { expect } from "chai";
import os from "node:os";
import path from "node:path";
import { ConfigError, loadConfig, requireComplete } from "../../scripts/config.js";

/** Variables with which a gateway of production starts. */
const PRODUCTION = {
  EXCHANGE_ENV: "production",
  OPERATOR_EMAIL: "ada@example.com",
  OPERATOR_PASSWORD: "a long password",
  JWT_WEB_SECRET: "w".repeat(32),
  JWT_SERVICE_SECRET: "s".repeat(32),
  TRUST_PROXY: "none",
  GEOIP_FILES: "none",
};

function problemsOf(env: NodeJS.ProcessEnv): string {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "none";
}

describe("the configuration", () => {
  it("has the contract's defaults when nothing is set", () => {
    const config = loadConfig({});
    expect(config).to.deep.include({
      port: 8080,
      host: "127.0.0.1",
      redisUrl: undefined,
      databaseUrl: undefined,
      databaseReadUrl: undefined,
      dataDir: path.resolve(".data"),
      exchangeEnv: "dev",
      signatureBrand: "Svc",
      servicePrefix: "svc",
      redisFsync: "always",
      trustProxy: undefined,
      demo: true,
      settlementApprovals: 1,
    });
    expect(config.edge).to.deep.equal({
      ratePerSecond: 2_000,
      burst: 4_000,
      publicRatePerSecond: 50,
      publicBurst: 200,
      bodyBytes: 65_536,
    });
    expect(Object.isFrozen(config)).to.equal(true);
  });

  it("treats an empty variable as absent", () => {
    expect(loadConfig({ PORT: "", REDIS_URL: " ", EDGE_RATE: "" })).to.deep.equal(loadConfig({}));
  });

  it("accepts one Redis or the nodes of a cluster", () => {
    expect(loadConfig({ REDIS_URL: "redis://a:1, redis://b:2" }).redisUrl).to.equal(
      "redis://a:1,redis://b:2",
    );
    expect(problemsOf({ REDIS_URL: "redis://a:1,http://b:2" })).to.match(/^REDIS_URL: must be a URL/);
  });

  it("accepts sentinels with the name of the primary", () => {
    const url = "redis+sentinel://:secret@a:1,b/exchange";
    expect(loadConfig({ REDIS_URL: url }).redisUrl).to.equal(url);
    for (const wrong of [
      "redis+sentinel://a:1,b:2",
      "redis+sentinel://a:1,/exchange",
      "redis+sentinel:///exchange",
    ])
      expect(problemsOf({ REDIS_URL: wrong }), wrong).to.match(/^REDIS_URL: must be a URL/);
  });

  it("accepts a number of proxies or their networks, but nothing that trusts every address", () => {
    expect(loadConfig({ TRUST_PROXY: "2" }).trustProxy).to.equal(2);
    expect(loadConfig({ TRUST_PROXY: "10.0.0.0/8, ::1" }).trustProxy).to.deep.equal(["10.0.0.0/8", "::1"]);
    for (const wrong of ["true", "0", "all", "loopback", "0.0.0.0/0", "999.1.1.1"]) {
      expect(problemsOf({ TRUST_PROXY: wrong }), wrong).to.match(/^TRUST_PROXY: must be a number of proxies/);
    }
  });

  it("takes none for the proxies and the files of networks", () => {
    const config = loadConfig({ TRUST_PROXY: "none", GEOIP_FILES: "none" });
    expect(config).to.deep.include({ trustProxy: undefined, geoIpFiles: [] });
  });

  it("names every variable that production requires in one message", () => {
    const config = loadConfig({ EXCHANGE_ENV: "production", JWT_WEB_SECRET: "w".repeat(32) });
    expect(() => requireComplete(config))
      .to.throw(ConfigError)
      .with.property("message")
      .that.matches(
        /^EXCHANGE_ENV=production needs OPERATOR_EMAIL, OPERATOR_PASSWORD, JWT_SERVICE_SECRET, TRUST_PROXY, GEOIP_FILES:/,
      );
    for (const EXCHANGE_ENV of ["dev", "qa"]) requireComplete(loadConfig({ EXCHANGE_ENV }));
  });

  it("starts production with every variable, and a role that needs none of them without", () => {
    requireComplete(loadConfig(PRODUCTION));
    for (const name of Object.keys(PRODUCTION).filter(
      (one) => !["EXCHANGE_ENV", "OPERATOR_EMAIL", "OPERATOR_PASSWORD"].includes(one),
    )) {
      const config = loadConfig({ ...PRODUCTION, [name]: "" });
      expect(() => requireComplete(config), name).to.throw(`needs ${name}:`);
    }
  });

  it("refuses two uses of one port", () => {
    expect(problemsOf({ OPS_PORT: "8080" })).to.equal("PORT, OPS_PORT: set each to a port of its own");
    expect(problemsOf({ OPS_PORT: "9000", ADMIN_PORT: "9000" })).to.match(/^PORT, OPS_PORT, ADMIN_PORT: /);
    expect(loadConfig({ OPS_PORT: "9000", ADMIN_PORT: "9001" }).otherPorts).to.deep.equal({
      operations: 9_000,
      admin: 9_001,
    });
  });

  it("accepts the origins of web pages, and no other URL", () => {
    const given = { ADMIN_ORIGINS: "https://a.example, http://localhost:3000" };
    expect(loadConfig(given).adminOrigins).to.deep.equal(["https://a.example", "http://localhost:3000"]);
    for (const wrong of ["*", "https://a.example/", "a.example", "https://a.example/desk"])
      expect(problemsOf({ ADMIN_ORIGINS: wrong }), wrong).to.match(
        /^ADMIN_ORIGINS: must be a comma list of origins/,
      );
  });

  it("runs one process of each role unless a number or auto is given", () => {
    expect(loadConfig({}).counts).to.deep.equal({ worker: 1, projector: 1, jobs: 1, gateway: 1 });
    const counts = loadConfig({ WORKERS: "3", GATEWAYS: "64", PROJECTORS: "auto" }).counts;
    expect(counts).to.include({ worker: 3, gateway: 64 });
    expect(counts.projector).to.equal(Math.min(64, Math.max(1, Math.round(os.availableParallelism() / 8))));
  });

  it("runs the demo in dev only", () => {
    expect(loadConfig({ DEMO: "off" }).demo).to.equal(false);
    expect(loadConfig({ EXCHANGE_ENV: "qa", DEMO: "on" }).demo).to.equal(false);
  });

  for (const [name, value, wanted] of [
    ["PORT", "80 80", "a whole number from 1 to 65535"],
    ["PORT", "70000", "a whole number from 1 to 65535"],
    ["PORT", "8080.5", "a whole number from 1 to 65535"],
    ["WORKERS", "0", "a whole number from 1 to 64, or auto"],
    ["WORKERS", "1.5", "a whole number from 1 to 64, or auto"],
    ["GATEWAYS", "many", "a whole number from 1 to 64, or auto"],
    ["PROJECTORS", "1000", "a whole number from 1 to 64, or auto"],
    ["PROJECTORS", "-1", "a whole number from 1 to 64, or auto"],
    ["PROCESS_NAME", "worker 1", "a word of letters"],
    ["EXCHANGE_ENV", "prod", "one of dev, qa, production"],
    ["REDIS_FSYNC", "no", "one of always, everysec"],
    ["LOG_LEVEL", "loud", "one of fatal, error"],
    ["SIGNATURE_BRAND", "svc", "a capitalized word"],
    ["SERVICE_PREFIX", "a/b", "one lower-case path segment"],
    ["EDGE_BURST", "-1", "a whole number"],
    ["MIN_FREE_DISK_MB", "-1", "a whole number from 0"],
    ["RESUME_WINDOW_MB", "0", "a whole number from 1"],
    ["LEASE_MS", "1", "a whole number from 100"],
    ["SETTLEMENT_APPROVALS", "3", "one of 1, 2"],
  ] as const) {
    it(`names ${name} when it is "${value}"`, () => {
      const problems = problemsOf({ [name]: value });
      expect(problems).to.match(new RegExp(`^${name}: must be `));
      expect(problems).to.include(wanted).and.to.include(`(it is "${value}")`);
    });
  }

  it("reports all problems at once", () => {
    const problems = problemsOf({ PORT: "x", EXCHANGE_ENV: "y", OPERATOR_EMAIL: "ada@example.com" });
    expect(problems.split("\n")).to.have.length(3);
    expect(problems).to.include("OPERATOR_EMAIL and OPERATOR_PASSWORD must be set together");
  });

  it("refuses a replica without the database of which it is one", () => {
    const replica = { DATABASE_READ_URL: "postgres://b/exchange" };
    expect(problemsOf(replica)).to.match(/^DATABASE_READ_URL: set DATABASE_URL too/);
    const both = loadConfig({ ...replica, DATABASE_URL: "postgres://a/exchange" });
    expect(both.databaseReadUrl).to.equal("postgres://b/exchange");
  });

  it("refuses a misspelled edge limit instead of ignoring it", () => {
    expect(problemsOf({ EDGE_RAET: "5" })).to.match(/^EDGE_RAET: there is no such limit;/);
  });

  it("never repeats a secret in an error", () => {
    const problems = problemsOf({
      DATABASE_URL: "mysql://user:canary@host/db",
      DATABASE_READ_URL: "mysql://user:canary@host/db",
      JWT_WEB_SECRET: "canary",
      OPERATOR_EMAIL: "ada@example.com",
      OPERATOR_PASSWORD: "canary",
    });
    expect(problems)
      .to.include("DATABASE_URL")
      .and.to.include("DATABASE_READ_URL")
      .and.to.include("JWT_WEB_SECRET")
      .and.to.include("OPERATOR_PASSWORD");
    expect(problems).not.to.include("canary");
  });
});
