/** Cancels all orders of a wallet when its socket closes or this process dies (contract section 6.13). */

import type { Caller, Disconnects, Trading } from "../ports.js";

const RETRY_MS = 1_000;

/** Everything the switch depends on. */
export interface CancelOnDisconnectPorts {
  readonly trading: Trading;
  readonly disconnects: Disconnects;
  readonly onError: (error: unknown) => void;
  /** Returns true while this process shuts down. */
  readonly isClosing: () => boolean;
}

/** The cancel-on-disconnect switch of one socket. */
export class CancelOnDisconnect {
  readonly #ports: CancelOnDisconnectPorts;
  readonly #caller: Caller;
  /** Reverts the arming of the wallet, while the switch is on. */
  #disarm: (() => Promise<void>) | undefined;

  constructor(ports: CancelOnDisconnectPorts, caller: Caller) {
    this.#ports = ports;
    this.#caller = caller;
  }

  get armed(): boolean {
    return this.#disarm !== undefined;
  }

  /**
   * Arms or disarms the switch. Throws `Unavailable` and then leaves the switch as it was. A switch that is on is armed
   * again, because a failed disarm may have disarmed the wallet.
   */
  async arm(on: boolean): Promise<void> {
    const { wallet, traderId } = this.#caller;
    const disarm = this.#disarm;
    if (on) this.#disarm = await this.#ports.disconnects.arm(wallet, traderId);
    await disarm?.();
    if (!on) this.#disarm = undefined;
  }

  /** Cancels after the socket closed; retries until it succeeds. The wallet stays armed when this process ends first. */
  async end(): Promise<void> {
    const { trading, onError, isClosing } = this.#ports;
    while (this.armed) {
      try {
        await trading.cancelAll(this.#caller, {}, "DISCONNECTED");
        await this.arm(false);
      } catch (error) {
        onError(error);
        if (isClosing()) return;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}
