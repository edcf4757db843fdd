import { expect } from "chai";
import fc from "fast-check";
import { ledgerActor } from "../../actors/actor.js";
import { type Format, FORMATS, LATEST_FORMAT } from "../../actors/format.js";
import type { AccountOrder } from "../../actors/ledger/account.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { CollateralPolicy } from "../../actors/ledger/types.js";
import type { EffectDelta } from "../../actors/market/deltas.js";
import { type Voids, VOID_KINDS } from "../../actors/market/types.js";
import { contracts, millicents, ticks } from "../../actors/units.js";
import { feeFor } from "./naive/arithmetic.js";
import { net } from "./naive/netting.js";
import { REPLACING_MUTANTS, RESERVE_MUTANTS } from "./differential/mutants.js";
import { FEES, pick, uuid } from "./differential/world.js";
import { checkLedger } from "./invariants.js";
import { unreachable } from "../../actors/unreachable.js";
import { restoredCopy, savedText } from "../support/exchange/saved.js";

const MARKET = uuid(3, 1);
const WALLET = uuid(1, 1);
const DEPOSIT_MILLICENTS = 1_000_000_000;

/** Action of the market on a wallet's orders, or of the wallet itself. */
type Move =
  | {
      readonly do: "place";
      readonly outcome: number;
      readonly price: number;
      readonly qty: number;
      readonly postOnly: boolean;
    }
  | { readonly do: "replace"; readonly order: number; readonly price: number; readonly qty: number }
  | { readonly do: "spend" | "restore" }
  | { readonly do: "format"; readonly format: Format }
  | { readonly do: "rest" | "cancel"; readonly order: number }
  | { readonly do: "fill"; readonly order: number; readonly qty: number; readonly better: number };

interface Setting {
  readonly outcomes: number;
  readonly voids: Voids;
  readonly policy: CollateralPolicy;
  readonly fee: number;
}

interface Open {
  readonly orderId: string;
  readonly outcome: number;
  readonly price: number;
  readonly postOnly: boolean;
  remaining: number;
  pending: boolean;
  /** The order that this one replaces, with its remainder at that time, until the market has answered. */
  replaces: { readonly original: Open; readonly remaining: number } | undefined;
}

/** Wallet in a market that the test plays. That market fills any order at any time, at its limit or better. */
class WalletUnderTest {
  readonly #setting: Setting;
  #state = ledger.create(ledgerActor(0));
  readonly #open: Open[] = [];
  readonly #position: { holdings: { qty: number; cost: number }[]; win: number; push: number };
  #ids = 0;
  #format: Format;
  readonly #emitted: LedgerDelta[] = [];

  constructor(setting: Setting, format: Format = LATEST_FORMAT) {
    this.#setting = setting;
    this.#format = format;
    const holdings = Array.from({ length: setting.outcomes }, () => ({ qty: 0, cost: 0 }));
    this.#position = { holdings, win: 0, push: 0 };
    this.#transact("DEPOSIT", DEPOSIT_MILLICENTS);
    this.#ask({ kind: "setPolicy", wallet: WALLET, trader: WALLET, policy: setting.policy });
  }

  #ask(command: LedgerCommand): LedgerReply | undefined {
    const { deltas, reply } = ledger.decide(this.#state, command, 0, this.#format);
    this.#emitted.push(...deltas);
    return reply;
  }

  #transact(transaction: "DEPOSIT" | "WITHDRAWAL", amount: number): void {
    this.#ids += 1;
    const common = { kind: "transact", wallet: WALLET, trader: WALLET, currency: "CASH", ref: "" } as const;
    this.#ask({ ...common, transactionId: uuid(9, this.#ids), transaction, amount: millicents(amount) });
  }

  get available(): number {
    const funds = this.#state.wallets.get(WALLET)?.funds.CASH;
    return funds === undefined ? 0 : funds.total - funds.reserved;
  }

  /** Returns the current reserve, and the reserve of the same wallet after a restore. */
  get reserved(): readonly [number, number] {
    const funds = this.#state.wallets.get(WALLET)?.funds.CASH;
    const restored = restoredCopy(ledger, ledgerActor(0), this.#state).wallets.get(WALLET);
    const accounts = [...(restored?.accounts.values() ?? [])];
    return [funds?.reserved ?? 0, accounts.reduce((sum, { reserved }) => sum + reserved, 0)];
  }

  /** Number of open orders of the wallet, an order and its replacement counted apart. */
  get orders(): number {
    return this.#state.wallets.get(WALLET)?.orders.size ?? 0;
  }

  /** Throws unless the reserve is the one of the naive exchange. */
  checkInvariants(): void {
    checkLedger(this.#state, new Set());
  }

  /** Throws unless the emitted deltas fold to the state. Each balance among them is checked. */
  checkFold(): void {
    const folded = ledger.create(ledgerActor(0));
    for (const delta of this.#emitted) ledger.evolve(folded, delta, 0);
    expect(savedText(ledger, folded)).to.equal(savedText(ledger, this.#state));
  }

  /** Returns the position and the number of open orders that the limits see. */
  sizes(outcome: number): readonly [number, number] {
    const account = [...(this.#state.wallets.get(WALLET)?.accounts.values() ?? [])][0];
    return [account?.exposure(outcome) ?? 0, account?.openOrders ?? 0];
  }

  /** Returns the reserve of the account with one more order, and the most that it can be. */
  withOneMore(n: number): readonly [reserve: number, most: number] {
    const account = [...(this.#state.wallets.get(WALLET)?.accounts.values() ?? [])][0];
    if (account === undefined) return [0, 0];
    const { outcomes, policy, fee } = this.#setting;
    const order: AccountOrder = {
      orderId: uuid(11, n),
      wallet: WALLET,
      marketId: MARKET,
      currency: "CASH",
      outcome: n % outcomes,
      price: ticks(1 + ((37 * n) % 998)),
      tif: "GTC",
      fee: pick(FEES, fee),
      feeReserved: true,
      selfTrade: "wash",
      clientId: undefined,
      groupId: undefined,
      expiresAt: undefined,
      remaining: contracts(1 + ((7 * n) % 50)),
      pending: true,
      replaces: undefined,
    };
    const most = account.mostWith(order);
    account.add(order);
    const reserve = account.reserve(policy);
    account.remove(order);
    return [reserve, most];
  }

  play(move: Move): void {
    switch (move.do) {
      case "place":
        this.#place(move);
        return;
      case "spend":
        if (this.available > 0) this.#transact("WITHDRAWAL", this.available);
        return;
      case "format":
        this.#format = move.format;
        return;
      case "restore":
        this.#state = restoredCopy(ledger, ledgerActor(0), this.#state);
        return;
      case "replace":
      case "rest":
      case "cancel":
      case "fill": {
        const order = this.#open[move.order % Math.max(1, this.#open.length)];
        if (order === undefined) return;
        if (move.do === "replace") this.#replace(order, move.price, move.qty);
        else if (!this.#answered(order)) return;
        else if (move.do === "fill") this.#fill(order, move.qty, move.better);
        else if (move.do === "rest") this.#rest(order);
        else this.#cancel(order);
        return;
      }
      default:
        unreachable(move);
    }
  }

  #place({ outcome, price, qty, postOnly }: Extract<Move, { do: "place" }>): void {
    const { outcomes, voids, fee } = this.#setting;
    this.#ids += 1;
    const order = {
      orderId: uuid(10, this.#ids),
      terms: { marketId: MARKET, outcomes, voids, fee: pick(FEES, fee), live: true },
      currency: "CASH",
      outcome: outcome % outcomes,
      price: ticks(price),
      qty: contracts(qty),
      tif: postOnly ? "PO" : "GTC",
      selfTrade: "wash",
    } as const;
    const reply = this.#ask({
      kind: "place",
      wallet: WALLET,
      trader: WALLET,
      orders: [order],
      atomic: false,
    });
    if (reply?.ok !== true || reply.kind !== "placed" || reply.results[0]?.ok !== true) return;
    const { orderId } = order;
    this.#open.push({
      orderId,
      outcome: order.outcome,
      price,
      postOnly,
      remaining: qty,
      pending: true,
      replaces: undefined,
    });
  }

  /** Asks for a replacement, which the market answers when it does something with that order. */
  #replace(original: Open, price: number, qty: number): void {
    const { outcomes, voids, fee } = this.#setting;
    this.#ids += 1;
    const orderId = uuid(10, this.#ids);
    const terms = { marketId: MARKET, outcomes, voids, fee: pick(FEES, fee), live: true };
    const { remaining } = original;
    const command = { kind: "amend", wallet: WALLET, orderId: original.orderId } as const;
    const change = { price: ticks(price), qty: contracts(qty), replacement: { orderId, terms } };
    const known = this.#state.wallets.get(WALLET)?.orders.get(original.orderId)?.remaining;
    const reply = this.#ask({ ...command, ...change });
    if (reply?.ok !== true || reply.kind !== "amended") return;
    if (reply.orderId === orderId)
      this.#open.push({
        ...{ orderId, outcome: original.outcome, price, postOnly: original.postOnly },
        ...{ remaining: qty, pending: true, replaces: { original, remaining: known ?? remaining } },
      });
  }

  /** Replaces an order as its market does. Returns false when the replacement is rejected. */
  #answered(order: Open): boolean {
    const { replaces, orderId } = order;
    if (replaces === undefined) return true;
    order.replaces = undefined;
    const { original } = replaces;
    // The market takes the requests of a wallet in their order.
    this.#answered(original);
    const common = { orderId, wallet: WALLET, ledger: 0 } as const;
    const isOpen = this.#open.includes(original);
    const left = order.remaining - (replaces.remaining - original.remaining);
    if (isOpen) this.#cancel(original);
    if (!isOpen || left <= 0) {
      this.#open.splice(this.#open.indexOf(order), 1);
      this.#effects({ type: "order", kind: "reject", ...common, reason: "CANCELED" });
      return false;
    }
    if (left < order.remaining)
      this.#effects({ type: "order", kind: "reduce", ...common, remaining: contracts(left) });
    order.remaining = left;
    return true;
  }

  #effects(...deltas: EffectDelta[]): void {
    this.#ask({ kind: "effects", marketId: MARKET, ts: 0, deltas });
  }

  #rest(order: Open): void {
    if (!order.pending) return;
    order.pending = false;
    const { orderId, outcome, price, remaining } = order;
    const qty = contracts(remaining);
    const fee = pick(FEES, this.#setting.fee);
    const common = { orderId, wallet: WALLET, trader: WALLET, ledger: 0, currency: "CASH", outcome } as const;
    const rest = {
      price: ticks(price),
      qty,
      tif: "GTC",
      selfTrade: "wash",
      fee,
      feeReserved: true,
      acceptedTs: 0,
    } as const;
    this.#effects({ type: "order", kind: "open", order: { ...common, ...rest }, qty });
  }

  #cancel(order: Open): void {
    this.#open.splice(this.#open.indexOf(order), 1);
    const { orderId, remaining } = order;
    const common = { orderId, wallet: WALLET, ledger: 0 } as const;
    this.#effects({ type: "order", kind: "cancel", ...common, remaining: contracts(remaining) });
  }

  #fill(order: Open, maxQty: number, better: number): void {
    const { outcome, orderId } = order;
    const { voids, fee } = this.#setting;
    const qty = Math.min(maxQty, order.remaining);
    const taker = order.pending && !order.postOnly;
    if (order.pending && order.postOnly) this.#rest(order);
    const price = Math.max(1, order.price - better);
    order.remaining -= qty;
    if (order.remaining === 0) this.#open.splice(this.#open.indexOf(order), 1);
    const { holdings } = this.#position;
    const bought = holdings[outcome];
    if (bought === undefined) return;
    bought.qty += qty;
    bought.cost += price * qty;
    const payout = net(this.#position, voids);
    const charged = taker ? feeFor(pick(FEES, fee), price, qty) : 0;
    this.#ids += 1;
    const common = { orderId, wallet: WALLET, ledger: 0, currency: "CASH", outcome } as const;
    const ids = { fillId: uuid(11, this.#ids), matchId: uuid(12, this.#ids) };
    const positions = holdings
      .map((holding, i) => ({ i, ...holding }))
      .sort((a, b) => Number(b.qty > 0) - Number(a.qty > 0));
    this.#effects(
      {
        type: "order",
        kind: "fill",
        ...common,
        ...ids,
        price: ticks(price),
        qty: contracts(qty),
        remaining: contracts(order.remaining),
        cost: millicents(price * qty),
        payout: millicents(payout),
        fee: millicents(charged),
        credit: millicents(0),
        taker,
        wash: false,
      },
      ...positions.map(({ i, qty: held, cost }): EffectDelta => ({
        type: "position",
        ...common,
        outcome: i,
        qty: contracts(held),
        cost: millicents(cost),
      })),
    );
  }
}

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("place" as const),
      outcome: fc.nat(2),
      price: fc.oneof(
        fc.constantFrom(1, 100, 400, 499, 500, 501, 600, 900, 999),
        fc.integer({ min: 1, max: 999 }),
      ),
      qty: fc.integer({ min: 1, max: 4 }),
      postOnly: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("spend" as const, "restore" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("format" as const), format: fc.constantFrom(...FORMATS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("rest" as const, "cancel" as const), order: fc.nat(5) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("replace" as const),
      order: fc.nat(5),
      price: fc.oneof(fc.constantFrom(1, 400, 500, 600, 999), fc.integer({ min: 1, max: 999 })),
      qty: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("fill" as const),
      order: fc.nat(5),
      qty: fc.integer({ min: 1, max: 4 }),
      better: fc.constantFrom(0, 0, 1, 37, 250, 998),
    }),
  },
);

describe("the reserve of open orders", () => {
  it("lets each closing order pay its fee from the sets that this order closes", () => {
    const wallet = new WalletUnderTest({ outcomes: 2, voids: "PUSH", policy: "hold", fee: 3 });
    const place = { do: "place", qty: 1, postOnly: false } as const;
    for (const price of [100, 1]) {
      wallet.play({ ...place, outcome: 0, price });
      wallet.play({ do: "fill", order: 0, qty: 1, better: 0 });
    }
    for (const price of [1, 900]) wallet.play({ ...place, outcome: 1, price });
    wallet.play({ do: "spend" });
    wallet.play({ do: "fill", order: 1, qty: 1, better: 400 });
    expect(wallet.available).to.be.at.least(0);
  });

  it("counts the cost of held contracts as refunded under net on a PUSH market", () => {
    const wallet = new WalletUnderTest({ outcomes: 2, voids: "PUSH", policy: "net", fee: 2 });
    const place = { do: "place", qty: 1, postOnly: false } as const;
    for (const price of [500, 100]) wallet.play({ ...place, outcome: 0, price });
    for (const price of [500, 400]) wallet.play({ ...place, outcome: 1, price });
    wallet.play({ do: "spend" });
    wallet.play({ do: "fill", order: 0, qty: 1, better: 0 });
    expect(wallet.available).to.be.at.least(0);
  });

  const place = { do: "place", postOnly: false } as const;

  /** Returns a wallet without money that holds `held` contracts of the first outcome at 0.600. */
  function holding(voids: Voids, held: number, fee = 1): WalletUnderTest {
    const wallet = new WalletUnderTest({ outcomes: 2, voids, policy: "hold", fee });
    wallet.play({ ...place, outcome: 0, price: 600, qty: held, postOnly: true });
    wallet.play({ do: "fill", order: 0, qty: held, better: 0 });
    wallet.play({ do: "spend" });
    expect(wallet.available).to.equal(0);
    return wallet;
  }

  for (const voids of VOID_KINDS) {
    it(`is nothing for an order that closes a holding on a ${voids} market, fee included`, () => {
      const wallet = holding(voids, 10);
      wallet.play({ ...place, outcome: 1, price: 300, qty: 10 });
      expect(wallet.orders).to.equal(1);
      expect(wallet.reserved[0]).to.equal(0);
    });

    it(`counts a held contract once on a ${voids} market, however many orders close it`, () => {
      const wallet = holding(voids, 10);
      wallet.play({ ...place, outcome: 1, price: 300, qty: 10 });
      wallet.play({ ...place, outcome: 1, price: 300, qty: 1 });
      expect(wallet.orders, "orders that the wallet can pay").to.equal(1);
    });

    it(`is nothing on a ${voids} market while the proceeds of an order cover what it opens beyond`, () => {
      const wallet = holding(voids, 10);
      wallet.play({ ...place, outcome: 1, price: 300, qty: 14 });
      expect(wallet.orders).to.equal(1);
      wallet.play({ do: "fill", order: 0, qty: 14, better: 0 });
      expect(wallet.available).to.be.at.least(0);
    });
  }

  it("lets a closing order pay its fee on an FMV market beside an order that opens more", () => {
    const wallet = new WalletUnderTest({ outcomes: 2, voids: "FMV", policy: "hold", fee: 1 });
    wallet.play({ ...place, outcome: 0, price: 600, qty: 10, postOnly: true });
    wallet.play({ do: "fill", order: 0, qty: 10, better: 0 });
    wallet.play({ ...place, outcome: 0, price: 100, qty: 4, postOnly: true });
    wallet.play({ do: "spend" });
    wallet.play({ ...place, outcome: 1, price: 300, qty: 10 });
    expect(wallet.orders).to.equal(2);
    expect(wallet.reserved[0]).to.equal(400);
  });

  it("falls, if it changes, when the wallet of an earlier build changes over", () => {
    const wallet = new WalletUnderTest({ outcomes: 2, voids: "FMV", policy: "hold", fee: 1 }, 3);
    wallet.play({ ...place, outcome: 0, price: 600, qty: 10, postOnly: true });
    wallet.play({ do: "fill", order: 0, qty: 10, better: 0 });
    wallet.play({ ...place, outcome: 1, price: 300, qty: 14 });
    const before = wallet.reserved[0];
    expect(before).to.be.above(4 * 300);
    wallet.play({ do: "format", format: LATEST_FORMAT });
    wallet.play({ do: "spend" });
    expect(wallet.reserved[0]).to.equal(0);
    wallet.checkFold();
  });

  describe("of an order and its replacement", () => {
    /** Returns the reserve, the position and the number of orders after the replacement of 10 contracts at 0.400. */
    function replaced(price: number, qty: number): readonly number[] {
      const wallet = new WalletUnderTest({ outcomes: 2, voids: "FMV", policy: "hold", fee: 2 });
      wallet.play({ ...place, outcome: 0, price: 400, qty: 10 });
      wallet.play({ do: "rest", order: 0 });
      wallet.play({ do: "replace", order: 0, price, qty });
      return [wallet.reserved[0], ...wallet.sizes(0)];
    }

    it("is that of the dearer course, and the limits see one order", () => {
      expect(replaced(500, 10)).to.deep.equal([5_000, 10, 1]);
      expect(replaced(300, 10)).to.deep.equal([4_000, 10, 1]);
      expect(replaced(300, 14)).to.deep.equal([4_000 + 4 * 300, 14, 1]);
      expect(replaced(500, 5)).to.deep.equal([4_000, 10, 1]);
      expect(replaced(900, 5)).to.deep.equal([4_500, 10, 1]);
    });

    it("lets a wallet that has nothing left move its order to a lower price", () => {
      const wallet = new WalletUnderTest({ outcomes: 2, voids: "FMV", policy: "hold", fee: 2 });
      wallet.play({ ...place, outcome: 0, price: 400, qty: 10 });
      wallet.play({ do: "rest", order: 0 });
      wallet.play({ do: "spend" });
      wallet.play({ do: "replace", order: 0, price: 300, qty: 10 });
      expect(wallet.orders).to.equal(2);
      wallet.play({ do: "fill", order: 0, qty: 4, better: 0 });
      expect([wallet.available, wallet.reserved[0]]).to.deep.equal([0, 2_400]);
      wallet.play({ do: "rest", order: 1 });
      expect([wallet.available, wallet.reserved[0]]).to.deep.equal([600, 1_800]);
    });
  });

  /** Returns whether the reserve covers every fill, and is the one of the naive exchange. */
  const covers = (voids: Voids, policy: CollateralPolicy) =>
    fc.property(
      fc.constantFrom(2, 2, 2, 3),
      fc.nat(4),
      fc.constantFrom(LATEST_FORMAT, LATEST_FORMAT, ...FORMATS),
      fc.array(move, { minLength: 4, maxLength: 24, size: "max" }),
      (outcomes, fee, format, moves) => {
        const wallet = new WalletUnderTest({ outcomes, voids, policy, fee }, format);
        for (const [i, one] of moves.entries()) {
          wallet.play(one);
          expect(wallet.available, `available after move ${i}`).to.be.at.least(0);
          const [reserved, restored] = wallet.reserved;
          expect(reserved, `reserved after move ${i}, before and after a restore`).to.equal(restored);
          wallet.checkInvariants();
          const [reserve, most] = wallet.withOneMore(i);
          expect(reserve, `reserve with one more order after move ${i}`).to.be.at.most(most);
        }
        wallet.checkFold();
      },
    );

  for (const policy of ["hold", "net"] as const) {
    for (const voids of VOID_KINDS) {
      it(`covers every fill, at the limit or better, under ${policy} on a ${voids} market`, () => {
        fc.assert(covers(voids, policy), { numRuns: 1_000 });
      });
    }
  }

  for (const mutant of [...RESERVE_MUTANTS, ...REPLACING_MUTANTS]) {
    it(`is wrong when ${mutant.name}`, () => {
      const restore = mutant.patch?.();
      try {
        const found = VOID_KINDS.some((voids) => fc.check(covers(voids, "hold"), { numRuns: 1_000 }).failed);
        expect(found).to.equal(true);
      } finally {
        restore?.();
      }
    });
  }
});
