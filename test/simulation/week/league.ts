/** The markets and the traders of a simulated week. */

import { type ActorId, ledgerActor, ledgerShardOf, marketActor } from "../../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../../actors/ledger/commands.js";
import type { MarketTerms, OrderRequest, Transfer } from "../../../actors/ledger/types.js";
import type { MarketCommand, MarketReply } from "../../../actors/market/commands.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import type { TimeInForce } from "../../../actors/market/time-in-force.js";
import { contracts, millicents } from "../../../actors/units.js";
import { definitionOf, gradeOf, priceOf, uuid } from "../../actors/differential/world.js";
import { GRID } from "../../support/exchange/commands.js";
import { must } from "../checks.js";
import type { Random } from "../machine/random.js";
import type { Callers } from "./callers.js";
import { IN_PLAY_MS, MARKET_LIFE_MS, type WeekPlan } from "./plan.js";
import type { ReadModel } from "./read-model.js";
import { Tally } from "./tally.js";

const HOUR_MS = 3_600_000;
const SETTLE_WALLETS = 100;
const DEPOSIT = 5_000_000;
/** Traders who quote both sides of a market, and their share of the requests. */
const MAKERS = 100;
const MAKER_SHARE = 0.25;
/** Orders in a placement: the least and the most. */
const MAKER_ORDERS: readonly [number, number] = [10, 30];
const TRADER_ORDERS: readonly [number, number] = [1, 4];
/** Requests of each session that may be repeated later. */
const REPEATABLE = 40;

type Placement = Extract<LedgerCommand, { kind: "place" }>;

interface LeagueMarket {
  readonly definition: MarketDefinition;
  readonly inPlayMs: number;
  readonly closesMs: number;
  live: boolean;
}

interface Wallet {
  readonly wallet: string;
  readonly trader: string;
}

/** A request, and the ids of the orders that it opened. */
interface Placed {
  readonly command: Placement;
  readonly orderIds: readonly string[];
  readonly atMs: number;
}

export interface LeaguePorts {
  readonly plan: WeekPlan;
  readonly callers: Callers;
  readonly random: Random;
  readonly readModel: ReadModel;
  /** Returns true when the read model has every entry of an actor. */
  readonly isProjected: (actor: ActorId) => boolean;
  readonly now: () => number;
  readonly count: (event: string) => void;
}

export class League {
  /** Acknowledged orders, operator's transactions and transfers. */
  readonly effects = new Tally();
  readonly #ports: LeaguePorts;
  readonly #markets: LeagueMarket[] = [];
  #open: LeagueMarket[] = [];
  readonly #settled: MarketDefinition[] = [];
  /** Requests that may be repeated, oldest first, and those of the present session. */
  readonly #placed: Placed[] = [];
  readonly #recent: { readonly wallet: Wallet; readonly orderId: string; readonly terms: MarketTerms }[] = [];
  #ids = 0;

  constructor(ports: LeaguePorts) {
    this.#ports = ports;
  }

  get markets(): number {
    return this.#markets.length;
  }

  get openMarkets(): number {
    return this.#open.length;
  }

  #newId(): string {
    this.#ids += 1;
    return uuid(0x40, this.#ids);
  }

  #ledger({ trader }: Wallet, command: LedgerCommand): Promise<LedgerReply> {
    return this.#ports.callers.ask(ledgerActor(ledgerShardOf(trader)), command) as Promise<LedgerReply>;
  }

  async #market(marketId: string, command: MarketCommand): Promise<MarketReply> {
    const reply = (await this.#ports.callers.ask(marketActor(marketId), command)) as MarketReply;
    must(reply.ok, `${marketId} refuses ${command.kind}: ${JSON.stringify(reply)}`);
    return reply;
  }

  /** Runs tasks, as many at a time as there are callers. */
  async #inTurns(tasks: number, run: (n: number) => Promise<void>): Promise<void> {
    let next = 0;
    const loop = async (): Promise<void> => {
      while (next < tasks) {
        next += 1;
        await run(next - 1);
      }
    };
    await Promise.all(Array.from({ length: this.#ports.plan.callers }, loop));
  }

  #walletOf(n: number): Wallet {
    const trader = uuid(1, n);
    return { trader, wallet: trader };
  }

  /** Returns the wallet of a trader's subaccount. Every fourth trader has one. */
  #subaccountOf(n: number): Wallet {
    const index = n - (n % 4);
    return { trader: uuid(1, index), wallet: uuid(2, index) };
  }

  /** Deposits money into every wallet. */
  async fund(): Promise<void> {
    const { plan } = this.#ports;
    await this.#inTurns(plan.traders, async (n) => {
      const wallet = this.#walletOf(n);
      await this.#transact(wallet, n < MAKERS ? 1_000 * DEPOSIT : DEPOSIT);
      if (n % 4 === 0) await this.#transfer(this.#subaccountOf(n), DEPOSIT / 5);
    });
  }

  /** Trades for one session: markets open, go in play, close and settle meanwhile. */
  async session(): Promise<void> {
    const { plan } = this.#ports;
    await this.#openMarkets();
    const operators = this.#operate();
    this.#recent.length = 0;
    await this.#inTurns(plan.requestsPerSession, () => this.#request());
    await operators;
  }

  /** Closes and settles every market. */
  async close(): Promise<void> {
    await this.#settle(this.#open);
    this.#open = [];
  }

  async #openMarkets(): Promise<void> {
    const { plan, random, now } = this.#ports;
    const opened = Array.from({ length: plan.marketsPerSession }, (_, n): LeagueMarket => {
      const shape = {
        outcomes: random.pick([2, 2, 2, 2, 3]),
        push: random.chance(0.5),
        fee: random.below(5),
      };
      const definition = definitionOf(this.#markets.length + n, { ...shape, delay: 0, live: false });
      const closesMs = now() + random.between(...MARKET_LIFE_MS);
      return { definition, closesMs, inPlayMs: closesMs - IN_PLAY_MS, live: false };
    });
    await this.#inTurns(opened.length, async (n) => {
      const definition = opened[n]?.definition;
      if (definition === undefined) return;
      await this.#market(definition.marketId, { kind: "create", definition, open: true, live: false });
    });
    this.#markets.push(...opened);
    this.#open.push(...opened);
  }

  async #operate(): Promise<void> {
    const { random, now, count } = this.#ports;
    const closing = this.#open.filter(({ closesMs }) => closesMs <= now());
    this.#open = this.#open.filter(({ closesMs }) => closesMs > now());
    for (const market of this.#open) {
      if (market.live || market.inPlayMs > now()) continue;
      market.live = true;
      await this.#market(market.definition.marketId, { kind: "lifecycle", actions: ["golive"] });
    }
    await this.#settle(closing);
    if (this.#settled.length === 0 || !random.chance(0.3)) return;
    const early = random.pick(this.#settled);
    count("remediation");
    await this.#market(early.marketId, { kind: "remediate", reason: "wrong result" });
    await this.#pay(early);
    await this.#gradeAndPay(early);
  }

  async #settle(markets: readonly LeagueMarket[]): Promise<void> {
    for (const { definition } of markets) {
      await this.#market(definition.marketId, { kind: "lifecycle", actions: ["close"] });
      await this.#gradeAndPay(definition);
      this.#settled.push(definition);
    }
  }

  async #gradeAndPay(definition: MarketDefinition): Promise<void> {
    const { random } = this.#ports;
    const { marketId, outcomes, voids } = definition;
    const kind = random.chance(0.9) ? 0 : voids === "PUSH" ? 1 : 2;
    const grade = gradeOf(kind, random.below(outcomes.length), outcomes.length);
    await this.#market(marketId, { kind: "grade", settlementId: this.#newId(), grade });
    await this.#pay(definition);
  }

  async #pay({ marketId }: MarketDefinition): Promise<void> {
    for (;;) {
      const reply = await this.#market(marketId, { kind: "settle", limit: SETTLE_WALLETS });
      if (reply.ok && (reply.kind !== "settlement" || reply.done)) return;
    }
  }

  async #request(): Promise<void> {
    const { random, plan } = this.#ports;
    const isMaker = random.chance(MAKER_SHARE);
    const n = random.below(isMaker ? Math.min(MAKERS, plan.traders) : plan.traders);
    const wallet = !isMaker && random.chance(0.2) ? this.#subaccountOf(n) : this.#walletOf(n);
    const roll = random.below(100);
    if (roll < 80) await this.#place(wallet, isMaker);
    else if (roll < 86) await this.#cancelOrAmend();
    else if (roll < 89) await this.#transact(wallet, random.between(1, 50_000));
    else if (roll < 92) await this.#transfer(this.#subaccountOf(n), random.between(1, 50_000));
    else if (roll < 95) await this.#repeat();
    else if (roll < 97) await this.#cancelAll(wallet);
    else await this.#ledger(wallet, { kind: "wallet", wallet: wallet.wallet });
  }

  #orders({ definition, live }: LeagueMarket, count: number): readonly OrderRequest[] {
    const { random } = this.#ports;
    const { marketId, outcomes, voids, fee } = definition;
    const terms: MarketTerms = { marketId, outcomes: outcomes.length, voids, fee, live };
    return Array.from({ length: count }, () => {
      const tif = random.pick<TimeInForce>([
        "GTC",
        "GTC",
        "GTC",
        "GTC",
        "GTC",
        "GTT",
        "GTT",
        "IOC",
        "FOK",
        "PO",
      ]);
      const outcome = random.below(outcomes.length);
      const orderId = this.#newId();
      return {
        ...{ orderId, terms, outcome, tif, currency: "CASH", selfTrade: "wash" },
        price: priceOf(random.below(900), outcomes.length, GRID),
        qty: contracts(random.between(1, 12)),
        ttlMs: tif === "GTT" ? random.between(HOUR_MS / 6, 3 * HOUR_MS) : undefined,
        clientId: `c-${orderId}`,
      };
    });
  }

  async #place(wallet: Wallet, isMaker: boolean): Promise<void> {
    const { random, now } = this.#ports;
    const market = random.pick(this.#open);
    const orders = this.#orders(market, random.between(...(isMaker ? MAKER_ORDERS : TRADER_ORDERS)));
    const command: Placement = { kind: "place", ...wallet, orders, atomic: false };
    const orderIds = await this.#sendPlacement(wallet, command, () => command);
    const [orderId] = orderIds;
    if (orderId === undefined) return;
    const [{ terms } = { terms: undefined }] = orders;
    if (terms !== undefined && this.#recent.length < 1_000) this.#recent.push({ wallet, orderId, terms });
    if (orderIds.length === orders.length && random.chance(REPEATABLE / this.#ports.plan.requestsPerSession))
      this.#placed.push({ command, orderIds, atMs: now() });
  }

  /** Sends a placement, with what the tables have about its ids if the ledger asks, and returns the ids of its orders. */
  async #sendPlacement(
    wallet: Wallet,
    command: Placement,
    again: () => Placement,
  ): Promise<readonly string[]> {
    const { readModel, count } = this.#ports;
    let reply = await this.#ledger(wallet, command);
    while (reply.ok && reply.kind === "uncertain") {
      count("client id looked up");
      const { ids } = reply;
      await this.#untilProjected(wallet);
      const lookedUp = ids.map((clientId) => ({
        clientId,
        first: readModel.firstOrder(wallet.wallet, clientId),
      }));
      reply = await this.#ledger(wallet, { ...again(), lookedUp });
    }
    if (!reply.ok || reply.kind !== "placed")
      throw new Error(`a place was answered ${JSON.stringify(reply)}`);
    return reply.results.flatMap((result) => {
      if (!result.ok) {
        count(`refused ${result.refusal}`);
        return [];
      }
      if (result.repeated) count("client id repeated");
      else this.effects.add(result.orderId);
      return [result.orderId];
    });
  }

  async #untilProjected({ trader }: Wallet): Promise<void> {
    const actor = ledgerActor(ledgerShardOf(trader));
    while (!this.#ports.isProjected(actor)) await this.#ports.callers.sleep(5);
  }

  /** Sends an earlier placement once more: of this session, or of one within a day. Its orders must not open again. */
  async #repeat(): Promise<void> {
    const { random, now } = this.#ports;
    const oldestMs = now() - 20 * HOUR_MS;
    while ((this.#placed[0]?.atMs ?? oldestMs) < oldestMs) this.#placed.shift();
    if (this.#placed.length === 0) return;
    const { command, orderIds } = random.pick(this.#placed);
    const { wallet, trader } = command;
    const again = (): Placement => ({
      ...command,
      orders: command.orders.map((order) => ({ ...order, orderId: this.#newId() })),
    });
    const repeated = await this.#sendPlacement({ wallet, trader }, again(), again);
    const same = repeated.join() === orderIds.join();
    must(same, `the repeat of ${command.orders[0]?.clientId ?? ""} was answered with other orders`);
  }

  async #cancelOrAmend(): Promise<void> {
    const { random } = this.#ports;
    if (this.#recent.length === 0) return;
    const { wallet, orderId, terms } = random.pick(this.#recent);
    if (random.chance(0.7)) {
      await this.#ledger(wallet, { kind: "cancel", wallet: wallet.wallet, orderIds: [orderId] });
      return;
    }
    const replacement = { orderId: this.#newId(), terms };
    const price = priceOf(random.below(800), terms.outcomes, GRID);
    const qty = contracts(random.between(1, 12));
    const command = { kind: "amend", wallet: wallet.wallet, orderId, qty, price, replacement } as const;
    const reply = await this.#ledger(wallet, command);
    if (reply.ok && reply.kind === "amended" && reply.orderId === replacement.orderId)
      this.effects.add(reply.orderId);
  }

  async #cancelAll(wallet: Wallet): Promise<void> {
    const filter = { marketIds: [this.#ports.random.pick(this.#open).definition.marketId] };
    await this.#ledger(wallet, { kind: "cancelAll", wallet: wallet.wallet, filter });
  }

  async #transact(wallet: Wallet, amount: number): Promise<void> {
    const { readModel } = this.#ports;
    const clientRef = `r-${this.#newId()}`;
    const command = (): Extract<LedgerCommand, { kind: "transact" }> => ({
      ...{ kind: "transact", ...wallet, transactionId: this.#newId(), transaction: "DEPOSIT" },
      ...{ currency: "CASH", amount: millicents(amount), ref: "", clientRef },
    });
    let reply = await this.#ledger(wallet, command());
    while (reply.ok && reply.kind === "uncertain") {
      await this.#untilProjected(wallet);
      const first = readModel.firstTransaction(wallet.wallet, clientRef);
      reply = await this.#ledger(wallet, { ...command(), lookedUp: { first } });
    }
    if (!reply.ok || reply.kind !== "transaction")
      throw new Error(`a deposit was answered ${JSON.stringify(reply)}`);
    this.effects.add(reply.transactionId);
  }

  async #transfer(wallet: Wallet, amount: number): Promise<void> {
    const { readModel, random } = this.#ports;
    const { trader } = wallet;
    const clientTransferId = `t-${this.#newId()}`;
    const direction = random.chance(0.7) ? "fund" : "defund";
    const command = (): Extract<LedgerCommand, { kind: "transfer" }> => ({
      ...{ kind: "transfer", ...wallet, transferId: this.#newId(), direction, clientTransferId },
      amount: millicents(amount),
    });
    let reply = await this.#ledger(wallet, command());
    while (reply.ok && reply.kind === "uncertain") {
      await this.#untilProjected(wallet);
      const first: Transfer | undefined = readModel.firstTransfer(trader, clientTransferId);
      reply = await this.#ledger(wallet, { ...command(), lookedUp: { first } });
    }
    if (!reply.ok || reply.kind !== "transfer")
      throw new Error(`a transfer was answered ${JSON.stringify(reply)}`);
    this.effects.add(reply.transfer.transferId);
  }
}
