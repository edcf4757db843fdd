/**
 * Takes snapshots from the log: restores the last snapshot of an actor, folds the entries since, and writes the parts
 * that have changed. The owner of the actor takes no part in it, so its event loop never waits for a snapshot.
 */

import type { ActorId } from "../../../actors/actor.js";
import { laterFormat, OLDEST_FORMAT } from "../../../actors/format.js";
import type { Clock } from "../../log/clock.js";
import type { Head, Log, Snapshot, SnapshotPart } from "../../log/log.js";
import { packSnapshot, partHash } from "../../log/packing.js";
import { type Instance, PART_KINDS, type PartKind, type SavedParts } from "../instance.js";
import { catchUp, loadActor, type Recovered, type RecoveryPorts, soundParts } from "../recovery.js";
import { Pace } from "./pace.js";
import type { SnapshotRequest, Snapshots, SnapshotTaken } from "./snapshots.js";

export interface SnapshotWriterPorts extends RecoveryPorts {
  readonly log: Log;
  readonly clock: Clock;
  /** True where snapshots rest, so that others have the cores (default false). */
  readonly isPaced?: boolean | undefined;
  /** Most bytes of the snapshots whose actors stay in memory (default 32 MB). An actor takes several times its snapshot. */
  readonly keptBytes?: number | undefined;
}

/** An actor that stays in memory, so that its next snapshot only folds the entries since. */
interface Kept extends Recovered {
  readonly epoch: number;
  /** Size of its last snapshot. */
  readonly bytes: number;
}

/** A snapshot that is packed and, except for the switch to it, written. */
interface Packed {
  readonly snapshot: Snapshot;
  readonly parts: readonly string[];
  readonly bytes: number;
  readonly writtenBytes: number;
}

const KEPT_BYTES = 32 * 1024 * 1024;
/** Approximate bytes of the parts that are written at once. */
const PIECE_BYTES = 256 * 1024;
/** Parts that are removed at once. */
const REMOVED_PARTS = 32;

/** The log may have lost entries with its connection, so a snapshot that has begun before must not be written. */
class LogLost extends Error {
  override readonly name = "LogLost";
}

export class SnapshotWriter implements Snapshots {
  readonly #ports: SnapshotWriterPorts;
  /** The actors in memory, the least recently used first. */
  readonly #kept = new Map<ActorId, Kept>();
  readonly #stopWatchingConnection: () => void;
  #losses = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Number of calls of `hurry` whose snapshots have not ended. */
  #hurries = 0;
  readonly #pace = new Pace(() => this.#hurries > 0);

  constructor(ports: SnapshotWriterPorts) {
    this.#ports = ports.isPaced === true ? { ...ports, rest: () => this.#pace.rest() } : ports;
    this.#stopWatchingConnection = ports.log.onLost(() => {
      // A snapshot of another partition is only taken again.
      this.#losses += 1;
      this.#kept.clear();
    });
  }

  /** Takes one snapshot after the other. An urgent one hurries those before it. */
  take(request: SnapshotRequest): Promise<SnapshotTaken | undefined> {
    const askedRestedMs = this.#pace.restedMs;
    const taken = this.#last
      .then(() => this.#take(request))
      .then((one) => (one === undefined ? one : { ...one, restedMs: this.#pace.restedMs - askedRestedMs }));
    this.#last = taken.catch(() => undefined);
    if (request.isUrgent) this.hurry();
    return taken;
  }

  hurry(): void {
    this.#hurries += 1;
    void this.#last.then(() => {
      this.#hurries -= 1;
    });
  }

  close(): Promise<void> {
    this.#stopWatchingConnection();
    this.#kept.clear();
    return Promise.resolve();
  }

  async #take(request: SnapshotRequest): Promise<Omit<SnapshotTaken, "restedMs"> | undefined> {
    const { log, clock } = this.#ports;
    const { partition, epoch, actor, both } = request;
    const startMs = clock.monotonic();
    const restedBefore = this.#pace.restedMs;
    const losses = this.#losses;
    const [head] = await log.heads(partition, [actor]);
    if (head === undefined || head.seq === 0) return undefined;
    // The archive has the last snapshot of a removed actor.
    if (head.removed !== undefined) return { seq: head.seq, bytes: 0, writtenBytes: 0, durationMs: 0 };
    const { instance, parts: stored } = await this.#load(request, head);
    // An entry that only answers has no time, so the time of the last entry may be long ago.
    instance.forgetExpired(request.nowMs);
    // In an earlier format than that of its state an older build would read a part of the state, without a word.
    const format = laterFormat(request.format, instance.format);
    const packed = await this.#pack({ ...request, format }, instance, stored, losses);
    if (packed === undefined) return undefined;
    const { snapshot, parts, bytes, writtenBytes } = packed;
    for (let copy = 0; copy < (both ? 2 : 1); copy += 1) {
      this.#checkConnection(losses);
      if (!(await log.writeSnapshot(partition, epoch, actor, snapshot, parts))) return undefined;
    }
    this.#checkConnection(losses);
    this.#keep(actor, { epoch, instance, parts, bytes });
    while ((await log.removeParts(partition, epoch, actor, REMOVED_PARTS)) > 0);
    const restedMs = this.#pace.restedMs - restedBefore;
    const durationMs = Math.max(0, clock.monotonic() - startMs - restedMs);
    return { seq: snapshot.seq, bytes, writtenBytes, durationMs };
  }

  /** Packs a snapshot, and writes its parts. Returns `undefined` when the epoch is fenced. */
  async #pack(
    request: SnapshotRequest,
    instance: Instance,
    stored: readonly string[],
    losses: number,
  ): Promise<Packed | undefined> {
    if (request.format !== OLDEST_FORMAT) return this.#writeParts(request, instance, stored, losses);
    const snapshot = packSnapshot(instance.seq, instance.cursor, instance.saveWhole(), request.format);
    const bytes = snapshot.body.length;
    return { snapshot, parts: [], bytes, writtenBytes: bytes };
  }

  /** Returns the actor at its last entry, with the stored parts that are sound. */
  async #load({ partition, epoch, actor }: SnapshotRequest, head: Head): Promise<Recovered> {
    const kept = this.#kept.get(actor);
    this.#kept.delete(actor);
    // Entries may have been lost between two ownerships, so an actor is kept for one epoch alone. The log may lack the
    // entries before its latest snapshot, as after a removal and a restoration.
    if (kept?.epoch !== epoch || kept.instance.seq < head.snapshot)
      return loadActor(this.#ports, partition, actor);
    const { instance } = kept;
    await catchUp(this.#ports, partition, instance, head);
    return { instance, parts: await soundParts(this.#ports, partition, actor, kept.parts) };
  }

  /** Writes the parts that are not stored yet, some at a time. Returns `undefined` when the epoch is fenced. */
  async #writeParts(
    { partition, epoch, actor, format }: SnapshotRequest,
    instance: Instance,
    stored: readonly string[],
    losses: number,
  ): Promise<Packed | undefined> {
    const { log } = this.#ports;
    const hashes: Record<PartKind, string[]> = { inbox: [], state: [] };
    const written = new Set(stored);
    let [bytes, writtenBytes] = [0, 0];
    let piece: SnapshotPart[] = [];
    let pieceBytes = 0;
    const writePiece = async (): Promise<boolean> => {
      this.#checkConnection(losses);
      const parts = piece;
      [piece, pieceBytes] = [[], 0];
      return parts.length === 0 || log.writeParts(partition, epoch, actor, parts);
    };
    for (const kind of PART_KINDS) {
      for (const body of instance.parts(kind)) {
        await this.#ports.rest?.();
        const hash = partHash(body);
        hashes[kind].push(hash);
        bytes += body.length;
        if (written.has(hash)) continue;
        written.add(hash);
        piece.push({ hash, body });
        pieceBytes += body.length;
        writtenBytes += body.length;
        if (pieceBytes >= PIECE_BYTES && !(await writePiece())) return undefined;
      }
    }
    if (!(await writePiece())) return undefined;
    const saved: SavedParts = { parts: hashes, lastTs: instance.lastTs };
    const snapshot = packSnapshot(instance.seq, instance.cursor, saved, format);
    const parts = [...hashes.inbox, ...hashes.state];
    return { snapshot, parts, bytes: bytes + snapshot.body.length, writtenBytes };
  }

  #checkConnection(losses: number): void {
    if (this.#losses !== losses) throw new LogLost("the connection to the log was lost during a snapshot");
  }

  /** Keeps an actor in memory, and drops the least recently used ones above the limit. */
  #keep(actor: ActorId, kept: Kept): void {
    const { keptBytes = KEPT_BYTES } = this.#ports;
    this.#kept.set(actor, kept);
    let bytes = [...this.#kept.values()].reduce((sum, other) => sum + other.bytes, 0);
    for (const [other, dropped] of this.#kept) {
      if (bytes <= keptBytes) return;
      this.#kept.delete(other);
      bytes -= dropped.bytes;
    }
  }
}
