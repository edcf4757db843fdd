import { expect } from "chai";
import { Connection } from "../../db/connection.js";
import { isUnavailable } from "../../db/database.js";
import { type Proxy, startProxy } from "../support/proxy.js";
import { databaseUrl } from "../support/servers.js";

const SILENCE_MS = 500;

const failureOf = (query: Promise<unknown>): Promise<unknown> =>
  query.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("connection beside the pools", () => {
  let proxy: Proxy;
  let connection: Connection;

  beforeEach(async () => {
    proxy = await startProxy(await databaseUrl());
    connection = new Connection(proxy.url, { name: "test", silenceMs: SILENCE_MS });
    await connection.open();
  });

  afterEach(async () => {
    await connection.close();
    await proxy.close();
  });

  it("waits for a statement that takes long, while the server answers", async () => {
    const { rows } = await connection.client.query("select 1 as one from pg_sleep(2)");
    expect(rows).to.deep.equal([{ one: 1 }]);
  });

  it("keeps the time limit of a statement, and waits longer where a transaction sets another one", async () => {
    const limited = new Connection(proxy.url, { name: "test", statementTimeoutMs: 300 });
    await limited.open();
    try {
      const { client } = limited;
      expect(await failureOf(client.query("select pg_sleep(10)"))).to.have.property("code", "57014");
      await client.query("begin; set local statement_timeout = 10000");
      const { rows } = await client.query("select 1 as one from pg_sleep(1.5)");
      expect(rows).to.deep.equal([{ one: 1 }]);
      await client.query("commit");
    } finally {
      await limited.close();
    }
  });

  it("fails within seconds when the server goes silent in a statement", async () => {
    const query = failureOf(connection.client.query("select pg_sleep(60)"));
    proxy.silence();
    expect(isUnavailable(await query)).to.equal(true);
    expect(isUnavailable(await failureOf(connection.client.query("select 1")))).to.equal(true);
  });

  it("fails when the server has gone silent between statements", async () => {
    proxy.silence();
    expect(isUnavailable(await failureOf(connection.client.query("select 1")))).to.equal(true);
  });

  it("closes although the server is silent", async () => {
    proxy.silence();
    const began = performance.now();
    await connection.close();
    expect(performance.now() - began).to.be.lessThan(5_000);
  });
});
