/**
 * Cancel on disconnect for a gateway that dies (contract section 6.13). A gateway renews its lease every second from a
 * thread, because the clients of a gateway that is merely busy have not disconnected, and registers the wallets of its
 * armed sockets. When the lease expires, another process cancels the orders of those wallets.
 */

import { createHash } from "node:crypto";
import { ledgerShardOf } from "../../actors/actor.js";
import { type Exchange, Unavailable } from "../log/ports.js";
import { type Beat, Beats } from "../redis/beats.js";
import { orUnavailable, type ServiceConnection } from "./connection.js";

/** A gateway that has not renewed its lease for this long is expired. */
const LEASE_MS = 3_000;
const HEARTBEAT_MS = 1_000;
/** Stall of the event loop, in ms, after which a gateway stops renewing its lease: it does not serve its sockets any more. */
const STALL_MS = 10_000;
const CHECK_MS = 1_000;
/** Longest time between two checks, of any process. After a longer one, the gateways get the time to renew their leases. */
const LATE_CHECK_MS = 1_500;
/** Longest time between the first cancel command for a wallet of an expired gateway and its last repeat. */
const REMEMBER_MS = 65_000;
const UNAVAILABLE = "the gateway registry cannot be reached; try again";

export interface GatewayLeaseOptions {
  /** Returns a globally unique id. */
  readonly newId: () => string;
  /** Called when the lease has expired: other processes cancel the orders of the armed wallets. */
  readonly onLost: () => void;
  /** Receives the errors of renewing the lease. */
  readonly onError: (error: unknown) => void;
}

/**
 * Undoes one `arm`; the last one disarms the wallet. Throws `Unavailable`: the wallet may then be armed or not, and the
 * call can be repeated.
 */
export type Disarm = () => Promise<void>;

/** The lease of a live gateway, and the wallets armed under it. */
export class GatewayLease {
  readonly #connection: ServiceConnection;
  readonly #options: GatewayLeaseOptions;
  /** The armings of each wallet under the present id. */
  readonly #armed = new Map<string, Set<Disarm>>();
  /** The last change of each wallet that is under way. */
  readonly #changes = new Map<string, Promise<void>>();
  #id: string;
  /** True while `#id` is registered. */
  #joined = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #beats: Beats | undefined;

  constructor(connection: ServiceConnection, options: GatewayLeaseOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#id = options.newId();
  }

  start(): void {
    const { url } = this.#connection;
    const beats = { url, script: "gateway", intervalMs: HEARTBEAT_MS, stallMs: STALL_MS } as const;
    this.#beats = new Beats(beats, (beat) => this.#renewed(beat));
    // The thread renews the lease from then on.
    const join = (): void => {
      if (!this.#joined) this.#renew().catch(this.#options.onError);
    };
    this.#timer = setInterval(join, HEARTBEAT_MS);
    this.#timer.unref();
    join();
  }

  /**
   * Arms a wallet for one more socket. Once the promise resolves, the death of this gateway cancels the wallet's
   * orders. Throws `Unavailable`.
   */
  arm(wallet: string, traderId: string): Promise<Disarm> {
    return this.#inTurn(wallet, async () => {
      const alive = await this.#renew(wallet, traderId);
      if (!alive) throw new Unavailable("the lease of this gateway has just expired; try again");
      const armings = this.#armed.get(wallet) ?? new Set();
      const disarm: Disarm = () => this.#inTurn(wallet, () => this.#disarm(wallet, armings, disarm));
      this.#armed.set(wallet, armings.add(disarm));
      return disarm;
    });
  }

  async #disarm(wallet: string, armings: Set<Disarm>, disarm: Disarm): Promise<void> {
    const { redis, keys } = this.#connection;
    // The armings of an expired lease are none of the present one.
    const isLast = this.#armed.get(wallet) === armings && armings.size === 1 && armings.has(disarm);
    if (isLast) {
      await orUnavailable(redis.hdel(keys.armed(this.#id), wallet), UNAVAILABLE);
      this.#armed.delete(wallet);
    }
    armings.delete(disarm);
  }

  /** Runs the changes of a wallet one after the other, so that each knows what the one before has left in Redis. */
  #inTurn<Result>(wallet: string, change: () => Promise<Result>): Promise<Result> {
    const changed = (this.#changes.get(wallet) ?? Promise.resolve()).then(change);
    const forget = (): void => {
      if (this.#changes.get(wallet) === ended) this.#changes.delete(wallet);
    };
    const ended: Promise<void> = changed.then(forget, forget);
    this.#changes.set(wallet, ended);
    return changed;
  }

  /** Ends the lease. While wallets are armed it is left to expire, so that their orders are canceled. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { redis, keys } = this.#connection;
    try {
      await this.#beats?.stop();
      if (this.#armed.size > 0) return;
      await redis.zrem(keys.gateways(), this.#id);
      // An arming without a reply may have armed its wallet all the same.
      await redis.del(keys.armed(this.#id));
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Renews the lease and arms a wallet, if one is given. Returns false when the lease has expired. */
  async #renew(...wallet: string[]): Promise<boolean> {
    const { run } = this.#connection;
    const id = this.#id;
    const { keys, args } = this.#call(this.#joined ? "stay" : "join");
    const reply = run("gateway", keys, [...args, ...wallet]);
    const isRegistered = (await orUnavailable(reply, UNAVAILABLE)) === 1;
    // A concurrent renewal has already given this gateway a new id.
    if (id !== this.#id) return false;
    if (!isRegistered) this.#lost();
    else if (!this.#joined) {
      this.#joined = true;
      this.#beats?.repeat(this.#call("stay"));
    }
    return isRegistered;
  }

  #call(mode: "join" | "stay") {
    const { keys } = this.#connection;
    return { keys: [keys.gateways(), keys.armed(this.#id)], args: [this.#id, mode] };
  }

  #renewed({ call, reply, error }: Beat): void {
    if (reply === undefined) this.#options.onError(error);
    else if (reply !== 1 && call.args[0] === this.#id) this.#lost();
  }

  /** Continues under a new id after the lease has expired. */
  #lost(): void {
    this.#joined = false;
    this.#id = this.#options.newId();
    this.#armed.clear();
    this.#options.onLost();
  }
}

export interface ExpiredGatewaysOptions {
  readonly exchange: Pick<Exchange, "ledger">;
  /** Receives the errors of a check; the next check tries again. */
  readonly onError: (error: unknown) => void;
}

/** Finds expired gateways and cancels the orders of their armed wallets. Any number of processes may run this. */
export class ExpiredGateways {
  readonly #connection: ServiceConnection;
  readonly #options: ExpiredGatewaysOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: Promise<void> = Promise.resolve();
  /** The expired gateways for which this process is canceling. */
  readonly #canceling = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(connection: ServiceConnection, options: ExpiredGatewaysOptions) {
    this.#connection = connection;
    this.#options = options;
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
    await Promise.all(this.#canceling.values());
  }

  /** Checks the leases. The next check does not wait for the cancels, because late checks let no lease expire. */
  async #check(): Promise<void> {
    const { keys, run } = this.#connection;
    const names = [keys.gateways(), keys.expiredGateways(), keys.gatewayChecks()];
    try {
      for (const gateway of (await run("expired-gateways", names, [LEASE_MS, LATE_CHECK_MS])) as string[]) {
        if (this.#canceling.has(gateway)) continue;
        const canceling = this.#cancelFor(gateway)
          .catch((error: unknown) => this.#options.onError(error))
          .finally(() => this.#canceling.delete(gateway));
        this.#canceling.set(gateway, canceling);
      }
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /**
   * Cancels the orders of every armed wallet. A repeat, here or in another process, changes nothing. A wallet whose ledger does
   * not answer waits for the next check, and a canceled one leaves the list at once, because its ledger forgets the command.
   */
  async #cancelFor(gateway: string): Promise<void> {
    const { redis, keys } = this.#connection;
    const armed = Object.entries(await redis.hgetall(keys.armed(gateway)));
    const outcomes = await Promise.allSettled(
      armed.map(async ([wallet, traderId]) => {
        await this.#options.exchange.ledger(
          ledgerShardOf(traderId),
          { kind: "cancelAll", wallet, filter: {}, reason: "DISCONNECTED" },
          { id: commandId(gateway, wallet), rememberMs: REMEMBER_MS },
        );
        await redis.hdel(keys.armed(gateway), wallet);
      }),
    );
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    await redis.srem(keys.expiredGateways(), gateway);
  }
}

/** The same id in every process, so that the command takes effect once. */
function commandId(gateway: string, wallet: string): string {
  return createHash("sha256").update(`disconnect ${gateway} ${wallet}`).digest("hex");
}
