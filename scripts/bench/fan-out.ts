/**
 * Measures deliveries per second to 1,000 sockets that watch one market: the bridge and plain `ws` in turns, with the
 * same frames. A delivery is one frame at one socket. A busy machine affects the rates, but hardly the CPU time of the
 * server per delivery.
 */

import { CHANNELS } from "../../stream/ws/channels.js";
import { type Contestant, type Counted, Peer, type Sent, type Served } from "./stream/messages.js";
import { median, type Row } from "./table.js";

const SOCKETS = 1_000;
const PROCESSES = 2;
const SECONDS = 3;
const RUNS = 3;
/** Frames that one turn of the event loop sends: a quiet market, a busy one, and one that commits in batches. */
const FRAMES = [1, 10, 50];

interface Measured {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

class Match {
  readonly #server = new Peer("server");
  readonly #readers = Array.from({ length: PROCESSES }, () => new Peer("readers"));

  async open(as: Contestant): Promise<void> {
    const { port } = await this.#server.ask<Served>({ kind: "serve", as });
    for (const readers of this.#readers) {
      const channels = as === "bridge" ? CHANNELS : [];
      await readers.ask({ kind: "connect", port, sockets: SOCKETS / PROCESSES, channels });
    }
    await this.run(10, 1);
  }

  /** Floods the sockets; throws when a frame does not arrive. */
  async run(frames: number, seconds: number): Promise<Measured> {
    await this.#read(() => true);
    const before = await this.#frames();
    const sent = await this.#server.ask<Sent>({ kind: "flood", frames, seconds });
    const deliveries = sent.frames * SOCKETS;
    await this.#read((read) => read - before >= deliveries);
    return { perSecond: deliveries / sent.seconds, cpuMicroseconds: (1e6 * sent.cpuSeconds) / deliveries };
  }

  async close(): Promise<void> {
    for (const peer of [this.#server, ...this.#readers]) await peer.end();
  }

  async #frames(): Promise<number> {
    const counted = await Promise.all(this.#readers.map((peer) => peer.ask<Counted>({ kind: "count" })));
    for (const peer of this.#readers) await peer.ask({ kind: "reset" });
    return counted.reduce((sum, { frames }) => sum + frames, 0);
  }

  async #read(enough: (frames: number) => boolean): Promise<void> {
    for (const deadlineMs = Date.now() + 30_000; !enough(await this.#frames());) {
      if (Date.now() > deadlineMs) throw new Error("frames are missing");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

export async function fanOut(): Promise<Row[]> {
  const matches = { bridge: new Match(), ws: new Match() };
  try {
    await matches.bridge.open("bridge");
    await matches.ws.open("ws");
    const rows: Row[] = [];
    for (const frames of FRAMES) {
      const runs: Record<Contestant, Measured[]> = { bridge: [], ws: [] };
      for (let run = 0; run < RUNS; run += 1) {
        for (const as of ["bridge", "ws"] as const) runs[as].push(await matches[as].run(frames, SECONDS));
      }
      rows.push(...rowsOf(frames, runs));
    }
    return rows;
  } finally {
    await matches.bridge.close();
    await matches.ws.close();
  }
}

function rowsOf(frames: number, runs: Readonly<Record<Contestant, readonly Measured[]>>): Row[] {
  const bench = `fan-out to ${SOCKETS} sockets, ${frames} frame${frames === 1 ? "" : "s"} per turn`;
  const [ours, theirs] = [runs.bridge, runs.ws].map((measured) => ({
    perSecond: median(measured.map(({ perSecond }) => perSecond)),
    cpu: median(measured.map(({ cpuMicroseconds }) => cpuMicroseconds)),
  }));
  if (ours === undefined || theirs === undefined) return [];
  return [
    { bench, measure: "bridge", figure: ours.perSecond, unit: "deliveries/s" },
    {
      bench,
      measure: "plain ws",
      figure: theirs.perSecond,
      unit: "deliveries/s",
      ratio: ours.perSecond / theirs.perSecond,
    },
    { bench, measure: "bridge: CPU time of the server", figure: ours.cpu, unit: "µs" },
    { bench, measure: "plain ws: CPU time of the server", figure: theirs.cpu, unit: "µs" },
  ];
}
