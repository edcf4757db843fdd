/** A fixed flow of orders for the matching benches: of a hundred operations 60 rest, 30 cancel and 10 cross. */

export interface Add {
  readonly kind: "add";
  readonly orderId: string;
  readonly wallet: string;
  /** 0 bids on the first outcome, 1 on the second. */
  readonly outcome: 0 | 1;
  readonly priceTicks: number;
  readonly qty: number;
  /** Meant to take what is there and leave nothing. */
  readonly crosses: boolean;
}

export interface Cancel {
  readonly kind: "cancel";
  readonly orderId: string;
}

export type Operation = Add | Cancel;

/** A small generator of whole numbers below a bound, the same for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export interface Flow {
  readonly warm: readonly Add[];
  /** The operations as they come off the wire: JSON texts of a batch each. */
  readonly batches: readonly string[];
}

/** What a worker reads at once when much waits. */
const BATCH = 500;

/** `length` operations after a warm book of `resting` orders; prices on the grid's half cents around one half. */
export function flow(length: number, resting: number, seed = 1): Flow {
  const next = numbers(seed);
  const open: string[] = [];
  let ids = 0;
  const add = (crosses: boolean): Add => {
    ids += 1;
    const orderId = `00000000-0000-4000-8000-${String(ids).padStart(12, "0")}`;
    if (!crosses) open.push(orderId);
    const distance = 1 + next(80);
    return {
      kind: "add",
      orderId,
      wallet: `wallet-${next(1_000)}`,
      outcome: next(2) === 0 ? 0 : 1,
      priceTicks: crosses ? 510 + 5 * next(4) : 500 - 5 * distance,
      qty: 1 + next(crosses ? 40 : 20),
      crosses,
    };
  };
  const cancel = (): Cancel => {
    const index = next(open.length);
    const orderId = open[index] ?? "";
    const last = open.pop();
    if (last !== undefined && index < open.length) open[index] = last;
    return { kind: "cancel", orderId };
  };
  const warm = Array.from({ length: resting }, () => add(false));
  const operation = (): Operation => {
    const kind = next(100);
    return kind < 60 ? add(false) : kind < 90 && open.length > 0 ? cancel() : add(true);
  };
  const batches = Array.from({ length: Math.ceil(length / BATCH) }, (_, batch) =>
    JSON.stringify(Array.from({ length: Math.min(BATCH, length - batch * BATCH) }, operation)),
  );
  return { warm, batches };
}
