/**
 * Cancel on disconnect when it is the gateway that goes (contract section 6). A gateway says every second that it
 * lives, and for which wallets it watches a socket; where it falls silent, somebody else cancels their orders.
 */

import { createHash } from "node:crypto";
import { ledgerShardOf } from "../../actors/actor.js";
import { connect, type Connection } from "../redis/connection.js";
import { Keys } from "../redis/keys.js";
import { loadScripts, type RunScript } from "../redis/scripts.js";
import { type Exchange, Unavailable } from "../log/ports.js";

/** A gateway that was not heard of for so long has fallen. */
const LEASE_MS = 3_000;
const HEARTBEAT_MS = 1_000;
const CHECK_MS = 1_000;
/** A command of a fallen gateway's wallet is repeated at most this long after the first. */
const REMEMBER_MS = 65_000;

export interface GatewaysOptions {
  /** One URL, or a comma list of nodes of a Redis Cluster. */
  readonly url: string;
  /** In front of every key; no braces. */
  readonly prefix?: string | undefined;
  readonly onError: (error: unknown) => void;
}

export interface GatewayLeaseOptions extends GatewaysOptions {
  /** Makes ids that nobody else makes. */
  readonly newId: () => string;
  /** This process was taken for dead: the orders of its armed wallets are being canceled. */
  readonly onLost: () => void;
}

/** The place of all this in Redis. */
class Register {
  readonly connection: Connection;
  readonly run: RunScript;
  readonly keys: Keys;

  constructor({ url, prefix = "overround:" }: GatewaysOptions) {
    this.connection = connect(url);
    this.run = loadScripts(this.connection);
    this.keys = new Keys(prefix);
  }

  readonly ask = async <Answer>(question: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await question();
    } catch (error) {
      throw new Unavailable("the register of gateways cannot be reached", { cause: error });
    }
  };
}

/** The side of a gateway that lives. */
export class GatewayLease {
  readonly #options: GatewayLeaseOptions;
  readonly #register: Register;
  /** By wallet, how many sockets armed it. */
  readonly #armed = new Map<string, number>();
  #id: string;
  /** Whether the register has this id. */
  #joined = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: GatewayLeaseOptions) {
    this.#options = options;
    this.#register = new Register(options);
    this.#id = options.newId();
  }

  start(): void {
    this.#timer = setInterval(() => void this.#renew().catch(this.#options.onError), HEARTBEAT_MS);
    this.#timer.unref();
  }

  /** When this resolves, the wallet's orders go if this gateway dies. Throws `Unavailable`. */
  async arm(wallet: string, traderId: string): Promise<void> {
    const alive = await this.#renew(wallet, traderId);
    if (!alive) throw new Unavailable("this gateway was taken for dead a moment ago; try again");
    this.#armed.set(wallet, (this.#armed.get(wallet) ?? 0) + 1);
  }

  /** Takes back one `arm`; the wallet's last one disarms it. Throws `Unavailable`: it is armed still, then. */
  async disarm(wallet: string): Promise<void> {
    const { connection, keys, ask } = this.#register;
    if (this.#armed.get(wallet) === 1) await ask(() => connection.hdel(keys.armed(this.#id), wallet));
    const left = (this.#armed.get(wallet) ?? 0) - 1;
    if (left > 0) this.#armed.set(wallet, left);
    else this.#armed.delete(wallet);
  }

  /** Leaves the register, unless wallets are armed still: those are left to be found. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { connection, keys } = this.#register;
    try {
      if (this.#armed.size === 0) await connection.zrem(keys.gateways(), this.#id);
    } catch (error) {
      this.#options.onError(error);
    }
    connection.disconnect();
  }

  async #renew(...wallet: string[]): Promise<boolean> {
    const { run, keys, ask } = this.#register;
    const id = this.#id;
    const mode = this.#joined ? "stay" : "join";
    const names = [keys.gateways(), keys.armed(id)];
    const known = (await ask(() => run("gateway", names, [id, mode, ...wallet]))) === 1;
    if (id !== this.#id) return false;
    this.#joined = known;
    if (!known) {
      this.#id = this.#options.newId();
      this.#armed.clear();
      this.#options.onLost();
    }
    return known;
  }
}

/** The side that looks for gateways which fell, and cancels for their sockets. Any number of processes may. */
export class ExpiredGateways {
  readonly #options: GatewaysOptions & { readonly exchange: Pick<Exchange, "ledger"> };
  readonly #register: Register;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: Promise<void> = Promise.resolve();
  #stopped = false;
  /** Since when Redis could be reached without a break: whoever could not tell that it lives gets time to. */
  #reachedSince: number | undefined;

  constructor(options: GatewaysOptions & { readonly exchange: Pick<Exchange, "ledger"> }) {
    this.#options = options;
    this.#register = new Register(options);
  }

  start(): void {
    this.#checking = this.#check().finally(() => {
      if (this.#stopped) return;
      this.#timer = setTimeout(() => this.start(), CHECK_MS);
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#checking;
    this.#register.connection.disconnect();
  }

  async #check(): Promise<void> {
    const { connection, keys, run } = this.#register;
    try {
      const now = performance.now();
      if (this.#reachedSince === undefined || now - this.#reachedSince < LEASE_MS) {
        await connection.exists(keys.gateways());
        this.#reachedSince ??= now;
        return;
      }
      const names = [keys.gateways(), keys.expiredGateways()];
      for (const gateway of (await run("expired-gateways", names, [LEASE_MS])) as string[])
        await this.#cancelFor(gateway);
    } catch (error) {
      this.#reachedSince = undefined;
      this.#options.onError(error);
    }
  }

  /** Cancels for every armed wallet; a repeat, or somebody else who does the same, changes nothing. */
  async #cancelFor(gateway: string): Promise<void> {
    const { connection, keys } = this.#register;
    const armed = await connection.hgetall(keys.armed(gateway));
    await Promise.all(
      Object.entries(armed).map(([wallet, traderId]) =>
        this.#options.exchange.ledger(
          ledgerShardOf(traderId),
          { kind: "cancelAll", wallet, filter: {}, reason: "DISCONNECTED" },
          { id: commandId(gateway, wallet), rememberMs: REMEMBER_MS },
        ),
      ),
    );
    await connection.del(keys.armed(gateway));
    await connection.srem(keys.expiredGateways(), gateway);
  }
}

function commandId(gateway: string, wallet: string): string {
  return createHash("sha256").update(`disconnect ${gateway} ${wallet}`).digest("hex");
}
