/**
 * Measures 2,000 sockets on one bridge: the delivery to the others, and the memory of the server, when 200 sockets stop
 * reading. The bridge must close the stalled sockets with 1008 `SLOW_CONSUMER`.
 */

import { type Channel, CHANNELS } from "../../stream/ws/channels.js";
import { type Counted, type Inspected, Peer, type Sent, type Served } from "./stream/messages.js";
import { percentile, type Row } from "./table.js";

const READING = 1_800;
const STALLED = 200;
const PROCESSES = 2;
/** Commands in one entry of the market; the sockets that stall watch all channels, the others only the best bids. */
const COMMANDS = 100;
/** Entries per second. */
const PER_SECOND = 10;
const WARM_UP_S = 5;
const SECONDS = 20;
const SLICE_S = 2;
const CLOSE_TIMEOUT_S = 120;
const BENCH = `${READING + STALLED} sockets at a market of ${COMMANDS * PER_SECOND} commands/s`;

interface Phase {
  /** Frames per second over all readers. */
  readonly perSecond: number;
  readonly delaysMs: readonly number[];
  /** CPU time of the server as a share of one core. */
  readonly coreShare: number;
  readonly seconds: number;
}

function all(readers: readonly Peer[], kind: "reset" | "count"): Promise<Counted[]> {
  return Promise.all(readers.map((peer) => peer.ask<Counted>({ kind })));
}

function framesOf(counted: readonly Counted[]): number {
  return counted.reduce((sum, { frames }) => sum + frames, 0);
}

async function phase(
  sending: Peer,
  reading: readonly Peer[],
  enough: (seconds: number, seen: Inspected) => boolean,
  onInspect: (seen: Inspected) => void,
): Promise<Phase> {
  const began = await all(reading, "reset");
  let cpuSeconds = 0;
  let seconds = 0;
  for (;;) {
    const sent = await sending.ask<Sent>({
      kind: "pace",
      frames: COMMANDS,
      perSecond: PER_SECOND,
      seconds: SLICE_S,
    });
    cpuSeconds += sent.cpuSeconds;
    seconds += sent.seconds;
    const seen = await sending.ask<Inspected>({ kind: "inspect" });
    onInspect(seen);
    if (enough(seconds, seen)) break;
  }
  const ended = await all(reading, "count");
  const frames = framesOf(ended) - framesOf(began);
  const delaysMs = ended.flatMap((one) => one.delaysMs);
  return { delaysMs, perSecond: frames / seconds, coreShare: cpuSeconds / seconds, seconds };
}

const closedAsSlow = ({ closed }: Inspected): number => closed["1008 SLOW_CONSUMER"] ?? 0;

export async function streamSockets(): Promise<Row[]> {
  const sending = new Peer("server");
  const reading = Array.from({ length: PROCESSES }, () => new Peer("readers"));
  const stalling = new Peer("readers");
  try {
    const { port } = await sending.ask<Served>({ kind: "serve", as: "bridge" });
    const connect = (peer: Peer, sockets: number, channels: readonly Channel[]): Promise<Counted> =>
      peer.ask({ kind: "connect", port, sockets, channels });
    for (const peer of reading) await connect(peer, READING / PROCESSES, ["bbo"]);
    await connect(stalling, STALLED, CHANNELS);
    const ignore = (): void => undefined;
    await phase(sending, reading, (seconds) => seconds >= WARM_UP_S, ignore);

    let before = { rss: 0, inUse: 0 };
    const undisturbed = await phase(
      sending,
      reading,
      (seconds) => seconds >= SECONDS,
      (seen) => {
        before = { rss: Math.max(before.rss, seen.rssBytes), inUse: Math.max(before.inUse, seen.inUseBytes) };
      },
    );
    await stalling.ask({ kind: "stall" });
    let most = { rss: 0, inUse: 0 };
    let closed = 0;
    const stalled = await phase(
      sending,
      reading,
      (seconds, seen) => seconds >= CLOSE_TIMEOUT_S || closedAsSlow(seen) >= STALLED,
      (seen) => {
        most = { rss: Math.max(most.rss, seen.rssBytes), inUse: Math.max(most.inUse, seen.inUseBytes) };
        closed = closedAsSlow(seen);
      },
    );
    const counted = await all(reading, "count");
    const row = (measure: string, figure: number, unit: string, ratio?: number): Row => ({
      bench: BENCH,
      measure,
      figure,
      unit,
      ratio,
    });
    const [p99, p99Stalled] = [undisturbed, stalled].map(({ delaysMs }) => percentile(delaysMs, 0.99));
    return [
      row("all read: deliveries to the others", undisturbed.perSecond, "per s"),
      row("all read: delivery, p50", percentile(undisturbed.delaysMs, 0.5), "ms"),
      row("all read: delivery, p99", p99 ?? Number.NaN, "ms"),
      row("200 stalled: the others' delivery, p50", percentile(stalled.delaysMs, 0.5), "ms"),
      row("200 stalled: the others' delivery, p99", p99Stalled ?? Number.NaN, "ms"),
      row("all read: share of a core", 100 * undisturbed.coreShare, "%"),
      row("200 stalled: share of a core", 100 * stalled.coreShare, "%"),
      row("memory of 200 stalled sockets, heap and buffers", (most.inUse - before.inUse) / 1e6, "MB"),
      row("memory of 200 stalled sockets, RSS", (most.rss - before.rss) / 1e6, "MB"),
      row("closed with 1008 SLOW_CONSUMER", closed, "sockets"),
      row("time until the last of them was closed", stalled.seconds, "s"),
      row(
        "others still open",
        counted.reduce((sum, { open }) => sum + open, 0),
        "sockets",
      ),
    ];
  } finally {
    for (const peer of [sending, ...reading, stalling]) await peer.end();
  }
}
