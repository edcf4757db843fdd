/** Commands of a simulation. Traders trade; operators open, pause, grade and remediate markets. */

import { type ActorId, ledgerActor, marketActor } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import { type MarketTerms, type OrderRequest, RESTRICTIONS } from "../../actors/ledger/types.js";
import type { MarketCommand, MarketReply } from "../../actors/market/commands.js";
import { CURRENCIES, type MarketDefinition, SELF_TRADE_MODES } from "../../actors/market/types.js";
import { contracts, millicents } from "../../actors/units.js";
import {
  ACTIONS,
  COARSE,
  FEES,
  gradeOf,
  priceOf,
  type TestWallet,
  TRANSACTIONS,
} from "../actors/differential/world.js";
import { GRID } from "../support/exchange/commands.js";
import type { Clients } from "./clients.js";
import type { Journal } from "./journal.js";
import type { Random } from "./machine/random.js";
import type { SignedClients } from "./signed.js";
import type { Tables } from "./tables.js";
import { rulesOf, TIMES_IN_FORCE } from "../../actors/market/time-in-force.js";

export interface TradingPorts {
  readonly clients: Clients;
  readonly journal: Journal;
  readonly tables: Tables;
  readonly count: (name: string) => void;
  readonly random: Random;
  readonly wallets: readonly TestWallet[];
  readonly definitions: readonly MarketDefinition[];
  readonly signed: SignedClients;
  /** Number of pieces of a poisoned command before the one that fails. */
  readonly piecesOfPoison: number;
  /** True once the deployment is being healed. No loop sends a new command after that. */
  readonly isHealing: () => boolean;
}

interface PlacedOrder {
  readonly orderId: string;
  readonly wallet: TestWallet;
}

export class Trading {
  readonly #ports: TradingPorts;
  readonly #orders: PlacedOrder[] = [];
  /** Cached terms of each market. Like the cache of a gateway, these may be out of date. */
  readonly #terms = new Map<string, MarketTerms>();

  constructor(ports: TradingPorts) {
    this.#ports = ports;
  }

  #ledger(wallet: TestWallet, command: LedgerCommand, tries?: number): Promise<LedgerReply | undefined> {
    const { clients } = this.#ports;
    return clients.ask(ledgerActor(wallet.shard), command, tries) as Promise<LedgerReply | undefined>;
  }

  #market(marketId: string, command: MarketCommand, tries?: number): Promise<MarketReply | undefined> {
    const { clients } = this.#ports;
    return clients.ask(marketActor(marketId), command, tries) as Promise<MarketReply | undefined>;
  }

  /** Creates the markets and funds every wallet. */
  async open(): Promise<void> {
    const { definitions, wallets, random } = this.#ports;
    await Promise.all(
      definitions.map((definition) => {
        const live = random.chance(0.3);
        return this.#market(definition.marketId, { kind: "create", definition, open: true, live }, Infinity);
      }),
    );
    await Promise.all(
      wallets.flatMap((wallet) =>
        CURRENCIES.map((currency) => this.#transact(wallet, "DEPOSIT", 60_000, currency)),
      ),
    );
  }

  #transact(
    wallet: TestWallet,
    transaction: (typeof TRANSACTIONS)[number],
    amount: number,
    currency = this.#ports.random.pick(CURRENCIES),
  ): Promise<LedgerReply | undefined> {
    const { random, wallets } = this.#ports;
    const command = {
      kind: "transact",
      transactionId: random.uuid(),
      transaction,
      wallet: wallet.wallet,
      trader: wallet.trader,
      currency,
      amount: millicents(amount),
      ref: "",
      clientRef: random.chance(0.3) ? `ref ${random.below(6)}` : undefined,
    } as const;
    const ofTrader = wallets.flatMap(({ trader, wallet: id }) => (trader === wallet.trader ? [id] : []));
    return this.#withLookUp(wallet, command, (tables, ledger, [ref = ""]) => ({
      ...command,
      transactionId: random.uuid(),
      lookedUp: { first: tables.firstTransaction(ledger, ofTrader, ref) },
    }));
  }

  /**
   * Sends a command, and after an uncertain answer the command with what the tables have about its ids. Gives up when
   * the tables stay behind, as a gateway does.
   */
  async #withLookUp(
    wallet: TestWallet,
    command: LedgerCommand,
    lookedUp: (tables: Tables, ledger: ActorId, ids: readonly string[]) => LedgerCommand,
  ): Promise<LedgerReply | undefined> {
    const { clients, tables, count } = this.#ports;
    const reply = await this.#ledger(wallet, command);
    if (reply?.ok !== true || reply.kind !== "uncertain") return reply;
    const ledger = ledgerActor(wallet.shard);
    if (!(await tables.reach(ledger, (ms) => clients.sleep(ms), reply.sinceMs))) {
      count("uncertain, and the tables are behind");
      return undefined;
    }
    count(`uncertain ${command.kind}`);
    return this.#ledger(wallet, lookedUp(tables, ledger, reply.ids));
  }

  /** Sends one trading command after another until the deployment is healed. */
  async trade(): Promise<void> {
    const { random, clients, isHealing } = this.#ports;
    while (!isHealing()) {
      await clients.sleep(random.between(1, 120));
      await this.#act(random.pick(this.#ports.wallets));
    }
  }

  async #act(wallet: TestWallet): Promise<void> {
    const { random, clients, definitions } = this.#ports;
    if (random.chance(0.01)) {
      const actor = random.pick([ledgerActor(wallet.shard), marketActor(random.pick(definitions).marketId)]);
      await clients.ask(actor, { kind: "poison", pieces: this.#ports.piecesOfPoison });
      return;
    }
    const roll = random.below(100);
    if (roll < 55) await this.#place(wallet);
    else if (roll < 70) await this.#placeSigned(wallet);
    else if (roll < 80) await this.#cancelOrAmend();
    else if (roll < 84) {
      const { wallet: id } = wallet;
      const reason = random.chance(0.5) ? "MAINTENANCE" : undefined;
      await this.#ledger(wallet, { kind: "cancelAll", wallet: id, filter: {}, reason });
    } else if (roll < 88) await this.#transact(wallet, random.pick(TRANSACTIONS), random.between(1, 30_000));
    else if (roll < 92) await this.#transfer(wallet);
    else if (roll < 95) {
      const timeoutMs = random.pick([0, 500, 3_000]);
      await this.#ledger(wallet, {
        kind: "deadman",
        wallet: wallet.wallet,
        trader: wallet.trader,
        timeoutMs,
      });
    } else if (roll < 97) {
      const policy = random.pick(["hold", "net"] as const);
      await this.#ledger(wallet, { kind: "setPolicy", wallet: wallet.wallet, trader: wallet.trader, policy });
    } else await this.#ledger(wallet, { kind: "wallet", wallet: wallet.wallet });
  }

  async #place(wallet: TestWallet): Promise<void> {
    const { random } = this.#ports;
    const orders = Array.from({ length: random.pick([1, 1, 1, 2, 4]) }, () => this.#request());
    const { wallet: id, trader } = wallet;
    const command = { kind: "place", wallet: id, trader, orders, atomic: random.chance(0.3) } as const;
    const reply = await this.#withLookUp(wallet, command, (tables, ledger, ids) => ({
      ...command,
      orders: orders.map((order) => ({ ...order, orderId: random.uuid() })),
      lookedUp: ids.map((clientId) => ({ clientId, first: tables.firstOrder(ledger, id, clientId) })),
    }));
    if (reply?.ok !== true || reply.kind !== "placed") return;
    for (const result of reply.results) if (result.ok) this.#orders.push({ orderId: result.orderId, wallet });
  }

  async #placeSigned(wallet: TestWallet): Promise<void> {
    const { random, signed } = this.#ports;
    const orders = Array.from({ length: random.pick([1, 1, 2, 4]) }, (): OrderRequest => {
      return { ...this.#request(), clientId: undefined };
    });
    const accepted = await signed.place(wallet, orders, random.chance(0.3));
    for (const orderId of accepted) this.#orders.push({ orderId, wallet });
  }

  #termsOf(marketId: string): MarketTerms {
    const { random, journal } = this.#ports;
    const cached = this.#terms.get(marketId);
    if (cached !== undefined && random.chance(0.9)) return cached;
    const { definition, live } = journal.market(marketActor(marketId));
    if (definition === undefined) throw new Error(`market ${marketId} does not exist`);
    const { voids, fee, outcomes } = definition;
    const terms = { marketId, outcomes: outcomes.length, voids, fee, live };
    this.#terms.set(marketId, terms);
    return terms;
  }

  #request(): OrderRequest {
    const { random, definitions, clients } = this.#ports;
    const { marketId, outcomes } = random.pick(definitions);
    const tif = random.pick(random.chance(0.5) ? ["GTC" as const] : TIMES_IN_FORCE);
    const { ttl } = rulesOf(tif);
    const expires = ttl === "required" || (ttl === "optional" && random.chance(0.5));
    return {
      orderId: random.uuid(),
      terms: this.#termsOf(marketId),
      currency: random.chance(0.8) ? "CASH" : "COIN",
      outcome: random.below(outcomes.length),
      price: priceOf(random.below(1_000), outcomes.length, GRID),
      qty: contracts(random.chance(0.8) ? random.between(1, 12) : random.between(1, 100)),
      tif,
      ttlMs: expires ? random.between(1_000, 6_000) : undefined,
      clientId: random.chance(0.1) ? `client ${random.below(4)}` : undefined,
      selfTrade: random.chance(0.7) ? "wash" : random.pick(SELF_TRADE_MODES),
      notAfter: random.chance(0.1) ? clients.nowMs + random.between(0, 300) : undefined,
    };
  }

  async #cancelOrAmend(): Promise<void> {
    const { random } = this.#ports;
    if (this.#orders.length === 0) return;
    const order = random.pick(this.#orders.slice(-20));
    if (random.chance(0.5)) {
      const { orderId, wallet } = order;
      await this.#ledger(wallet, { kind: "cancel", wallet: wallet.wallet, orderIds: [orderId] });
    } else await this.#amend(order);
  }

  async #amend({ orderId, wallet }: PlacedOrder): Promise<void> {
    const { random } = this.#ports;
    const { terms, price } = this.#request();
    const replacement = { orderId: random.uuid(), terms: { ...terms, ...this.#termsOfOrder(orderId) } };
    await this.#ledger(wallet, {
      kind: "amend",
      wallet: wallet.wallet,
      orderId,
      qty: contracts(random.between(1, 15)),
      price: random.chance(0.5) ? price : undefined,
      replacement,
    });
  }

  /** Returns the terms of the market that an open order is in. */
  #termsOfOrder(orderId: string): MarketTerms | undefined {
    for (const { wallets } of this.#ports.journal.ledgers) {
      for (const { orders } of wallets.values()) {
        const order = orders.get(orderId);
        if (order !== undefined) return this.#termsOf(order.marketId);
      }
    }
    return undefined;
  }

  async #transfer({ trader, shard }: TestWallet): Promise<void> {
    const { random, wallets } = this.#ports;
    const sub = wallets.find((wallet) => wallet.trader === trader && wallet.wallet !== trader);
    if (sub === undefined) return;
    const command = {
      kind: "transfer",
      transferId: random.uuid(),
      direction: random.pick(["fund", "defund"] as const),
      trader,
      wallet: sub.wallet,
      currency: random.chance(0.3) ? "COIN" : undefined,
      amount: millicents(random.between(1, 30_000)),
      clientTransferId: random.chance(0.2) ? `transfer ${random.below(4)}` : undefined,
    } as const;
    await this.#withLookUp({ wallet: trader, trader, shard }, command, (tables, ledger, [id = ""]) => ({
      ...command,
      transferId: random.uuid(),
      lookedUp: { first: tables.firstTransfer(ledger, trader, id) },
    }));
  }

  /** Sends random operator commands until the deployment is healed. */
  async operate(): Promise<void> {
    const { random, clients, definitions, isHealing } = this.#ports;
    while (!isHealing()) {
      await clients.sleep(random.between(100, 1_200));
      if (random.chance(0.15)) await this.#restrict(random.pick(this.#ports.wallets));
      const { marketId, outcomes } = random.pick(definitions);
      const roll = random.below(100);
      if (roll < 50) {
        const byEvent = random.chance(0.5) ? true : undefined;
        await this.#market(marketId, { kind: "lifecycle", actions: [random.pick(ACTIONS)], byEvent });
      } else if (roll < 70) await this.#market(marketId, { kind: "lifecycle", actions: ["open", "resume"] });
      else if (roll < 80) {
        const ticks = random.chance(0.3) ? COARSE : GRID;
        const liveDelayMs = random.pick([0, 0, 400]);
        await this.#market(marketId, { kind: "configure", fee: random.pick(FEES), liveDelayMs, ticks });
      } else if (roll < 85) {
        const { shard } = random.pick(this.#ports.wallets);
        await clients.ask(ledgerActor(shard), { kind: "cancelEveryone", reason: "MAINTENANCE" });
      } else await this.#gradeAndSettle(marketId, outcomes.length);
      if (random.chance(0.5))
        await this.#market(marketId, { kind: "lifecycle", actions: ["open", "resume"] });
    }
  }

  /** Restricts a trader, as an operator does who locks an account, and mostly releases the trader after a while. */
  async #restrict(wallet: TestWallet): Promise<void> {
    const { random, clients, wallets, count } = this.#ports;
    const { trader } = wallet;
    const ofTrader = wallets.flatMap((other) => (other.trader === trader ? [other.wallet] : []));
    const restriction = random.pick(RESTRICTIONS);
    const command = { kind: "restrict", trader, wallets: ofTrader } as const;
    const restricted = this.#ledger(wallet, { ...command, restriction });
    // The trader amends an order meanwhile, which is still open while its cancel is on the way.
    const order = this.#orders.findLast((placed) => placed.wallet.trader === trader);
    await Promise.all([restricted, order === undefined ? undefined : this.#amend(order)]);
    count("trader restricted");
    await clients.sleep(random.between(0, 600));
    if (random.chance(0.9)) await this.#ledger(wallet, command);
  }

  async #gradeAndSettle(marketId: string, outcomes: number): Promise<void> {
    const { random } = this.#ports;
    const grade = gradeOf(random.below(3), random.below(outcomes), outcomes);
    await this.#market(marketId, { kind: "grade", settlementId: random.uuid(), grade });
    await this.#settleInBatches(marketId, 6);
    if (random.chance(0.5)) return;
    await this.#market(marketId, { kind: "remediate", reason: "wrong result" });
    await this.#settleInBatches(marketId, 6);
  }

  /** Settles in batches, as the settlement job does. A batch may be requested twice. */
  async #settleInBatches(marketId: string, rounds: number): Promise<void> {
    const { random } = this.#ports;
    for (let round = 0; round < rounds; round += 1) {
      const reply = await this.#market(marketId, { kind: "settle", limit: random.between(1, 3) });
      if (reply !== undefined && (!reply.ok || (reply.kind === "settlement" && reply.done))) return;
    }
  }

  /** Settles every market. */
  async close(): Promise<void> {
    await Promise.all(
      this.#ports.definitions.map(async ({ marketId, voids, outcomes }) => {
        const grade = gradeOf(voids === "PUSH" ? 1 : 2, 1, outcomes.length);
        // A settlement or a remediation in progress must finish before the last grade.
        await this.#settleInBatches(marketId, Infinity);
        await this.#market(marketId, { kind: "grade", settlementId: `last ${marketId}`, grade }, Infinity);
        await this.#settleInBatches(marketId, Infinity);
      }),
    );
  }
}
