import { expect } from "chai";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { freePort } from "../../../scripts/embedded/ports.js";
import { SharedPort } from "../../../scripts/supervisor/shared-port.js";
import { until } from "../../support/until.js";

const SERVER = path.join(import.meta.dirname, "fixtures", "server.ts");
const CONNECTIONS = 50;

/** Connection that stays open after its first answer, whose body is the name of its server. */
interface Kept {
  readonly name: string;
  readonly closed: Promise<unknown>;
  readonly end: () => void;
}

describe("a shared port", function () {
  this.timeout(60_000);
  let port: number;
  let shared: SharedPort;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    port = await freePort();
    shared = new SharedPort(CONNECTIONS);
    await shared.listen(port, "127.0.0.1");
  });
  afterEach(async () => {
    shared.closeWithLast();
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });

  async function spawn(name: string): Promise<ChildProcess> {
    const child = fork(SERVER, [], { env: { ...process.env, NAME: name }, execArgv: ["--import", "tsx"] });
    children.push(child);
    await once(child, "message");
    return child;
  }

  /** Starts a server on the port. */
  async function start(name: string): Promise<ChildProcess> {
    const child = await spawn(name);
    shared.add(child);
    return child;
  }

  /** Opens a connection, which stays open. */
  async function connect(): Promise<Kept> {
    const agent = new http.Agent({ keepAlive: true });
    const request = http.get({ port, host: "127.0.0.1", agent });
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    const { socket } = response;
    const closed = once(socket, "close");
    let name = "";
    for await (const chunk of response) name += String(chunk);
    return { name, closed, end: () => agent.destroy() };
  }

  async function connectAll(count: number): Promise<Kept[]> {
    return Promise.all(Array.from({ length: count }, () => connect()));
  }

  function countsOf(connections: readonly Kept[]): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { name } of connections) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  }

  it("spreads its connections evenly, also after one process has lost all of its own", async () => {
    const a = await start("a");
    await start("b");
    const first = await connectAll(8);
    expect(countsOf(first)).to.deep.equal({ a: 4, b: 4 });
    a.kill("SIGKILL");
    await Promise.all(first.filter(({ name }) => name === "a").map(({ closed }) => closed));
    await until(() => a.signalCode !== null);
    await start("c");
    const second = await connectAll(4);
    expect(countsOf(second)).to.deep.equal({ c: 4 });
    for (const { end } of first) end();
    // The ends of the connections arrive one by one.
    await until(async () => {
      const probe = await connect();
      probe.end();
      return probe.name === "b";
    });
    for (const { end } of second) end();
  });

  it("keeps the connections that come while no process runs for the next one", async () => {
    const waiting = connectAll(3);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await start("a");
    const connections = await waiting;
    expect(countsOf(connections)).to.deep.equal({ a: 3 });
    for (const { end } of connections) end();
  });

  it("loses no connection while a process is replaced under load", async () => {
    let current = await start("a");
    let stopped = false;
    const names = new Set<string>();
    const client = async (): Promise<void> => {
      while (!stopped) {
        const connection = await connect();
        names.add(connection.name);
        connection.end();
      }
    };
    const clients = Promise.all(Array.from({ length: 8 }, () => client()));
    for (const name of ["b", "c"]) {
      const next = await start(name);
      current.kill("SIGTERM");
      const [code] = (await once(current, "exit")) as [number | null];
      expect(code).to.equal(0);
      current = next;
    }
    stopped = true;
    await clients;
    expect([...names]).to.have.members(["a", "b", "c"]);
  });

  it("leaves the limits on slow clients in force", async () => {
    await start("a");
    const socket = net.connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).to.match(/^HTTP\/1\.1 408 /);
    socket.destroy();
  });

  it("closes a connection above the limit of every process", async () => {
    await start("a");
    const connections = await connectAll(CONNECTIONS);
    const refused = net.connect(port, "127.0.0.1");
    await once(refused, "close");
    for (const { end } of connections) end();
    await until(async () => {
      const next = await connect();
      next.end();
      return next.name === "a";
    });
  });

  it("shares further ports in the same way, also while clients take every connection of the first", async () => {
    await start("a");
    const further = await freePort();
    await shared.listen(further, "127.0.0.1", "further");
    const connections = await connectAll(CONNECTIONS);
    const answer = await fetch(`http://127.0.0.1:${further}`);
    expect(await answer.text()).to.equal("a");
    expect(answer.headers.get("x-port")).to.equal(String(further));
    for (const { end } of connections) end();
  });

  it("refuses connections once it closes and its last process drains", async () => {
    const a = await start("a");
    shared.closeWithLast();
    const before = await connect();
    a.kill("SIGTERM");
    await before.closed;
    const failure = await connect().then(
      () => undefined,
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    expect(failure).to.equal("ECONNREFUSED");
  });
});
