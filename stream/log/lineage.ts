/**
 * The incarnations of the log that an actor has written in. An incarnation begins when the server of the log changes: at
 * a restart, or at a fail-over to a replica. Only then can the log go back, so two histories of an actor agree up to the
 * end of the last incarnation that both have, and no number of entries written afterwards hides the difference.
 *
 * A lineage is text, such as `4f1c@80@9081,9a02@9120@20121`: each incarnation with the seq of the last entry before it
 * and of its first entry. The seqs between the two are left out. The incarnation before the first of these has no name.
 * Data of a build that recorded no lineage has the empty one.
 */

/** A position in the history of an actor. */
export interface Position {
  readonly seq: number;
  readonly lineage: string;
}

/** The position of an actor without entries. */
export const NOWHERE: Position = { seq: 0, lineage: "" };

interface Incarnation {
  readonly name: string;
  /** Seq of the last entry before this incarnation. */
  readonly after: number;
  /** Seq of its first entry. */
  readonly first: number;
}

const UNNAMED: Incarnation = { name: "", after: 0, first: 1 };

/** Most incarnations in a lineage. The oldest are dropped; a reader is never that many restarts behind. */
const MAX_INCARNATIONS = 64;

/** Returns the name of the last incarnation, `""` for the one without a name. */
export function incarnationOf(lineage: string): string {
  return incarnationsOf(lineage).at(-1)?.name ?? "";
}

/** Returns the lineage of an actor that goes on from a position with the entry `first`, in a new incarnation. */
export function withIncarnation({ seq, lineage }: Position, name: string, first: number): string {
  const before = lineage === "" ? [] : lineage.split(",");
  return [...before, `${name}@${seq}@${first}`].slice(-MAX_INCARNATIONS).join(",");
}

/** Returns the lineage of the position `seq` in a history, without the incarnations that begin after it. */
export function lineageAt({ lineage }: Position, seq: number): string {
  if (lineage === "") return "";
  const isBefore = (text: string): boolean => Number(text.split("@")[2]) <= seq;
  return lineage.split(",").filter(isBefore).join(",");
}

/** Returns the number of entries of a history that a follower at `from` lacks, or has in another form. */
export function entriesAfter(from: Position, head: Position): number {
  const common = commonSeq(from, head) ?? 0;
  const incarnations = incarnationsOf(head.lineage);
  return incarnations.reduce((count, { first }, index) => {
    const last = incarnations[index + 1]?.after ?? head.seq;
    return count + Math.max(0, last - Math.max(first - 1, common));
  }, 0);
}

/**
 * Returns the seq of the last entry that two histories of one actor have in common; `undefined` when their lineages
 * have no incarnation in common. A position is a repeat or a continuation of another one when this is the seq of either.
 */
export function commonSeq(one: Position, other: Position): number | undefined {
  if (one.lineage === other.lineage) return Math.min(one.seq, other.seq);
  const [ours, theirs] = [incarnationsOf(one.lineage), incarnationsOf(other.lineage)];
  for (let index = ours.length - 1; index >= 0; index -= 1) {
    const match = theirs.findIndex(({ name }) => name === ours[index]?.name);
    if (match === -1) continue;
    return Math.min(ours[index + 1]?.after ?? one.seq, theirs[match + 1]?.after ?? other.seq);
  }
  return undefined;
}

function incarnationsOf(lineage: string): readonly Incarnation[] {
  if (lineage === "") return [UNNAMED];
  const named = lineage.split(",").map((text): Incarnation => {
    const [name = "", after, first] = text.split("@");
    return { name, after: Number(after), first: Number(first) };
  });
  return named.length < MAX_INCARNATIONS ? [UNNAMED, ...named] : named;
}
