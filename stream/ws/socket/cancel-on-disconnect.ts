/** Cancel on disconnect (contract section 6): all of the wallet's orders go with the socket, or with this process. */

import type { Caller, Disconnects, Trading } from "../ports.js";

const RETRY_MS = 1_000;

export interface CancelOnDisconnectPorts {
  readonly trading: Trading;
  readonly disconnects: Disconnects;
  readonly onError: (error: unknown) => void;
  /** Whether this process is about to end. */
  readonly isClosing: () => boolean;
}

export class CancelOnDisconnect {
  readonly #ports: CancelOnDisconnectPorts;
  readonly #caller: Caller;
  #armed = false;

  constructor(ports: CancelOnDisconnectPorts, caller: Caller) {
    this.#ports = ports;
    this.#caller = caller;
  }

  get armed(): boolean {
    return this.#armed;
  }

  /** Throws `Unavailable`: then it is as it was. */
  async arm(on: boolean): Promise<void> {
    const { wallet, traderId } = this.#caller;
    if (on === this.#armed) return;
    if (on) await this.#ports.disconnects.arm(wallet, traderId);
    else await this.#ports.disconnects.disarm(wallet);
    this.#armed = on;
  }

  /** The socket is gone. Tries until the orders are canceled; where this process ends first, it stays armed. */
  async end(): Promise<void> {
    const { trading, onError, isClosing } = this.#ports;
    while (this.#armed) {
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
