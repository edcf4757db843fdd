import { expect } from "chai";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { setTimeout } from "node:timers/promises";
import { listen } from "../../../http/server.js";

const HOST = "127.0.0.1";

describe("a listening server", () => {
  const servers: Server[] = [];
  const newServer = (): Server => {
    const server = createServer();
    servers.push(server);
    return server;
  };
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  it("is not begun on a port that another one has", async () => {
    const first = newServer();
    await listen(first, 0, HOST);
    const { port } = first.address() as AddressInfo;
    const error = await listen(newServer(), port, HOST).catch((thrown: unknown) => thrown);
    expect(error).to.have.property("code", "EADDRINUSE");
  });

  it("warns once a second of connections that it cannot accept, and goes on", async () => {
    const server = newServer();
    await listen(server, 0, HOST);
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on("warning", onWarning);
    for (let n = 0; n < 3; n += 1) server.emit("error", new Error("accept ENFILE"));
    await once(process, "warning");
    await setTimeout(1_000);
    server.emit("error", new Error("accept EMFILE"));
    await once(process, "warning");
    process.off("warning", onWarning);
    expect(warnings).to.deep.equal([
      "cannot accept connections: accept ENFILE",
      "cannot accept connections: accept EMFILE",
    ]);
    expect(server.listening).to.equal(true);
  });
});
