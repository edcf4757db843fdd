/** Random steps of a scenario, as plain numbers that each exchange maps to its own orders, wallets and markets. */

import fc from "fast-check";

export interface OrderStep {
  readonly market: number;
  readonly outcome: number;
  readonly price: number;
  readonly qty: number;
  readonly currency: number;
  readonly tif: number;
  readonly selfTrade: number;
  readonly ttlMs: number;
  readonly clientId: number | undefined;
  readonly late: boolean;
  readonly group: number | undefined;
}

export type Step =
  | {
      readonly do: "place";
      readonly wallet: number;
      readonly atomic: boolean;
      readonly orders: readonly OrderStep[];
    }
  | { readonly do: "cancel"; readonly orders: readonly number[] }
  | { readonly do: "cancelAll"; readonly wallet: number; readonly market: number | undefined }
  | {
      readonly do: "amend";
      readonly order: number;
      readonly qty: number;
      readonly price: number | undefined;
    }
  | {
      readonly do: "guard";
      readonly setting: "deadman" | "policy" | "group" | "reset";
      readonly wallet: number;
      readonly group: number;
      readonly bound: number;
    }
  | {
      readonly do: "transact";
      readonly wallet: number;
      readonly kind: number;
      readonly amount: number;
      readonly currency: number;
      readonly clientRef: number | undefined;
    }
  | {
      readonly do: "transfer";
      readonly trader: number;
      readonly fund: boolean;
      readonly amount: number;
      readonly currency: number;
    }
  | {
      readonly do: "lifecycle";
      readonly market: number;
      readonly actions: readonly number[];
      /** True for the steps of an event. */
      readonly byEvent?: boolean | undefined;
    }
  | {
      readonly do: "configure";
      readonly market: number;
      readonly fee: number;
      readonly delay: number;
      readonly coarse: boolean;
    }
  | {
      readonly do: "grade";
      readonly market: number;
      readonly kind: number;
      readonly outcome: number;
      readonly batch: number;
    }
  | { readonly do: "remediate"; readonly market: number; readonly batch: number }
  | { readonly do: "wait"; readonly ms: number };

const small = fc.nat(19);

const order: fc.Arbitrary<OrderStep> = fc.record({
  market: fc.nat(1),
  outcome: fc.nat(3),
  price: fc.nat(1_000),
  qty: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.integer({ min: 1, max: 400 })),
  currency: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.constant(1)),
  tif: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(4)),
  selfTrade: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(2)),
  ttlMs: fc.integer({ min: 1_000, max: 9_000 }),
  clientId: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.nat(1)),
  late: fc.nat(39).map((n) => n === 39),
  group: fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, fc.constantFrom(0, 0, 0, 1)),
});

const place: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("place" as const),
  wallet: small,
  atomic: fc.boolean(),
  orders: fc.oneof(
    { weight: 5, arbitrary: fc.array(order, { minLength: 1, maxLength: 1 }) },
    fc.array(order, { minLength: 1, maxLength: 4 }),
  ),
});

const rare: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("cancel" as const),
    orders: fc.array(fc.nat(200), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    do: fc.constant("cancelAll" as const),
    wallet: small,
    market: fc.option(fc.nat(1), { nil: undefined }),
  }),
  fc.record({
    do: fc.constant("amend" as const),
    order: fc.nat(200),
    qty: fc.integer({ min: 0, max: 12 }),
    price: fc.option(fc.nat(1_000), { nil: undefined, freq: 2 }),
  }),
  fc.record({
    do: fc.constant("guard" as const),
    setting: fc.constantFrom("deadman" as const, "policy" as const, "group" as const, "reset" as const),
    wallet: small,
    group: fc.nat(1),
    bound: fc.nat(9),
  }),
  fc.record({
    do: fc.constant("transact" as const),
    wallet: small,
    kind: fc.nat(5),
    amount: fc.integer({ min: -20_000, max: 40_000 }),
    currency: fc.nat(1),
    clientRef: fc.option(fc.nat(2), { nil: undefined }),
  }),
  fc.record({
    do: fc.constant("transfer" as const),
    trader: small,
    fund: fc.boolean(),
    amount: fc.integer({ min: 1, max: 30_000 }),
    currency: fc.nat(1),
  }),
  fc.record({
    do: fc.constant("lifecycle" as const),
    market: fc.nat(1),
    actions: fc.array(fc.nat(7), { minLength: 1, maxLength: 2 }),
    byEvent: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("configure" as const),
    market: fc.nat(1),
    fee: fc.nat(4),
    delay: fc.nat(2),
    coarse: fc.boolean(),
  }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1_000, max: 9_000 }) }),
);

const ending: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("grade" as const),
    market: fc.nat(1),
    kind: fc.nat(2),
    outcome: fc.nat(3),
    batch: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    do: fc.constant("remediate" as const),
    market: fc.nat(1),
    batch: fc.integer({ min: 1, max: 3 }),
  }),
);

const reopen: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("lifecycle" as const),
  market: fc.nat(1),
  actions: fc.constantFrom([0], [0, 3], [3]),
});

/** The close of an event, and its way into play and out of it. */
const eventStep: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("lifecycle" as const),
  market: fc.nat(1),
  actions: fc.constantFrom([1], [4], [5], [1, 4]),
  byEvent: fc.boolean(),
});

/** Generates one step: mostly placements, sometimes another step. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: place },
  { weight: 8, arbitrary: rare },
  { weight: 1, arbitrary: ending },
  { weight: 2, arbitrary: reopen },
  { weight: 1, arbitrary: eventStep },
);

export interface MarketShape {
  readonly outcomes: number;
  readonly push: boolean;
  readonly fee: number;
  readonly delay: number;
  readonly live: boolean;
}

const shape: fc.Arbitrary<MarketShape> = fc.record({
  outcomes: fc.constantFrom(2, 2, 2, 3, 3, 4),
  push: fc.boolean(),
  fee: fc.nat(4),
  delay: fc.constantFrom(0, 0, 0, 1),
  live: fc.boolean(),
});

export interface Scenario {
  readonly shapes: readonly MarketShape[];
  readonly steps: readonly Step[];
}

export function scenario(maxSteps: number): fc.Arbitrary<Scenario> {
  return fc.record({
    shapes: fc.array(shape, { minLength: 1, maxLength: 2 }),
    steps: fc.array(step, { minLength: 1, maxLength: maxSteps, size: "max" }),
  });
}
