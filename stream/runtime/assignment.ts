/**
 * Assignment of partitions to live workers. Every worker computes the same assignment from the leases, and no partition
 * moves without need: one without a live owner goes to the worker with the fewest, and one worker at a time hands one
 * partition over to a worker that has at least two fewer.
 */

import type { LiveWorker } from "../log/log.js";

/** The live owner of each partition, `undefined` for none, in the order in which partitions are assigned. */
export type Owners = ReadonlyMap<string, string | undefined>;

/** A hand-over between live workers of one of the partitions of a kind. */
export interface Move {
  readonly from: string;
  readonly kind: string;
}

/** Notice of a worker about a partition that moves: its former owner releases it, its new owner has loaded its actors. */
export type MoveNotice =
  | {
      readonly kind: "released";
      readonly partition: string;
      /** Id of the former owner, if that worker stops. */
      readonly stopping?: string | undefined;
    }
  | { readonly kind: "served"; readonly partition: string };

/** Returns the text of a notice, which ends with the id of a worker that stops. */
export function packMoveNotice(notice: MoveNotice): string {
  const words = [notice.kind, notice.partition];
  if (notice.kind === "released" && notice.stopping !== undefined) words.push(notice.stopping);
  return words.join(" ");
}

/** Parses the text of a notice. Earlier builds publish the partition that they release, and nothing else. */
export function parseMoveNotice(text: string): MoveNotice {
  const [kind = "", partition, ...words] = text.split(" ");
  if (partition === undefined) return { kind: "released", partition: kind };
  if (kind === "served") return { kind, partition };
  return { kind: "released", partition, ...(words.length > 0 ? { stopping: words.join(" ") } : {}) };
}

/** Time for which a worker must be live before others hand partitions over to it, in ms. */
const SETTLED_MS = 2_000;

/** Partitions of one kind cost about the same, so each kind is spread by itself. A name begins with its kind. */
export function kindOf(partition: string): string {
  return partition.charAt(0);
}

/** Number of partitions of each worker: of one kind, and of all kinds. */
class Shares {
  readonly #counts = new Map<string, number>();

  constructor(owners: Owners) {
    for (const [partition, owner] of owners) if (owner !== undefined) this.add(owner, partition);
  }

  add(worker: string, partition: string): void {
    for (const key of [worker, `${worker} ${kindOf(partition)}`])
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  of(worker: string, kind: string): number {
    return this.#counts.get(`${worker} ${kind}`) ?? 0;
  }

  /** Orders workers by their share of a kind, then of all kinds, then by name. */
  compare(kind: string, a: string, b: string): number {
    const ofKind = this.of(a, kind) - this.of(b, kind);
    const ofAll = (this.#counts.get(a) ?? 0) - (this.#counts.get(b) ?? 0);
    return ofKind || ofAll || (a < b ? -1 : 1);
  }
}

/** Returns the partitions without a live owner that a worker must take. */
export function adoptedBy(worker: string, owners: Owners, live: readonly LiveWorker[]): readonly string[] {
  const takers = live.filter(({ takes }) => takes).map(({ name }) => name);
  const shares = new Shares(owners);
  const adopted: string[] = [];
  for (const [partition, owner] of owners) {
    if (owner !== undefined) continue;
    const [taker] = takers.toSorted((a, b) => shares.compare(kindOf(partition), a, b));
    if (taker === undefined) return [];
    shares.add(taker, partition);
    if (taker === worker) adopted.push(partition);
  }
  return adopted;
}

/** Returns the next hand-over between live workers. None is due while a partition has no live owner. */
export function nextMove(owners: Owners, live: readonly LiveWorker[]): Move | undefined {
  if ([...owners.values()].includes(undefined)) return undefined;
  const shares = new Shares(owners);
  const givers = live.filter(({ takes }) => takes).map(({ name }) => name);
  const takers = live.filter(({ takes, liveMs }) => takes && liveMs >= SETTLED_MS).map(({ name }) => name);
  for (const kind of new Set([...owners.keys()].map(kindOf))) {
    const from = givers.toSorted((a, b) => shares.compare(kind, b, a))[0];
    const to = takers.toSorted((a, b) => shares.compare(kind, a, b))[0];
    if (from === undefined || to === undefined) return undefined;
    if (shares.of(from, kind) - shares.of(to, kind) >= 2) return { from, kind };
  }
  return undefined;
}
