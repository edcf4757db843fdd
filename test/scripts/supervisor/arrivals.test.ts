import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { Arrivals } from "../../../scripts/supervisor/arrivals.js";

const MOST = 5;

describe("arrivals", () => {
  let arrivals: Arrivals;
  let server: net.Server;
  let accepted: net.Socket[];
  let clients: net.Socket[];

  beforeEach(async () => {
    arrivals = new Arrivals();
    accepted = [];
    clients = [];
    server = net.createServer({ pauseOnConnect: true }, (socket) => {
      accepted.push(socket);
      arrivals.add({ socket, most: MOST });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterEach(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy();
    server.close();
  });

  /** Opens connections, one after the other, and returns the ends that were accepted. */
  async function open(count: number): Promise<net.Socket[]> {
    const { port } = server.address() as net.AddressInfo;
    const before = accepted.length;
    for (let n = 0; n < count; n += 1) {
      const arrived = once(server, "connection");
      clients.push(net.connect(port, "127.0.0.1"));
      await arrived;
    }
    return accepted.slice(before);
  }

  /** Adds a connection under an address that the machine of the test need not have. */
  async function from(address: string): Promise<net.Socket> {
    const pair = net.createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
    await once(pair, "listening");
    clients.push(net.connect((pair.address() as net.AddressInfo).port, "127.0.0.1"));
    const [socket] = (await once(pair, "connection")) as [net.Socket];
    pair.close();
    accepted.push(socket);
    Object.defineProperty(socket, "remoteAddress", { value: address });
    arrivals.add({ socket, most: MOST });
    return socket;
  }

  const next = (): net.Socket | undefined => arrivals.take()?.socket;

  it("come in order, and addresses in turn", async () => {
    const [first, second, third] = await open(3);
    const other = await from("192.0.2.1");
    expect([next(), next(), next(), next()]).to.deep.equal([first, other, second, third]);
    expect(arrivals.take()).to.equal(undefined);
    expect(arrivals.size).to.equal(0);
  });

  it("share a turn in a network of IPv6 that one subscriber has", async () => {
    const [a, b] = [await from("2001:db8::1"), await from("2001:db8::2")];
    const other = await from("2001:db8:0:1::1");
    expect([next(), next(), next()]).to.deep.equal([a, other, b]);
  });

  it("are closed when too many wait, and forgotten when they close", async () => {
    const all = await open(MOST + 1);
    expect(all.map(({ destroyed }) => destroyed)).to.deep.equal([...Array<boolean>(MOST).fill(false), true]);
    const [first, second] = all;
    if (first !== undefined) await once(first.destroy(), "close");
    expect(arrivals.size).to.equal(MOST - 1);
    expect(next()).to.equal(second);
  });
});
