/** Messages between the processes of the stream benches. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Channel } from "../../../stream/ws/channels.js";

/** Measured server: the bridge of the gateway, or plain `ws`. */
export type Contestant = "bridge" | "ws";

export type ServerRequest =
  | { readonly kind: "serve"; readonly as: Contestant }
  /** Sends `frames` in each turn of the event loop, and begins the next turn when every socket has accepted them. */
  | { readonly kind: "flood"; readonly frames: number; readonly seconds: number }
  /** Sends `frames` at a steady rate, independent of the readers. */
  | { readonly kind: "pace"; readonly frames: number; readonly perSecond: number; readonly seconds: number }
  | { readonly kind: "inspect" };

export interface Served {
  readonly port: number;
}

export interface Sent {
  /** Frames, each of which goes to every socket. */
  readonly frames: number;
  readonly seconds: number;
  /** CPU time of the server. */
  readonly cpuSeconds: number;
}

export interface Inspected {
  /** Heap and buffers after a garbage collection. */
  readonly inUseBytes: number;
  readonly rssBytes: number;
  readonly sockets: number;
  /** Sockets closed by the server, by code and reason. */
  readonly closed: Readonly<Record<string, number>>;
}

export type ReadersRequest =
  /** Without channels the readers subscribe to nothing: plain `ws` sends to every socket. */
  | {
      readonly kind: "connect";
      readonly port: number;
      readonly sockets: number;
      readonly channels: readonly Channel[];
    }
  /** Stops reading on all sockets of this process. */
  | { readonly kind: "stall" }
  /** Drops the delays measured so far. */
  | { readonly kind: "reset" }
  | { readonly kind: "count" };

export interface Counted {
  readonly frames: number;
  readonly bytes: number;
  /** Sample of the times between the creation and the receipt of a frame, in ms. */
  readonly delaysMs: readonly number[];
  readonly open: number;
}

/** Process of a bench, which answers one request after another. */
export class Peer {
  readonly #child: ChildProcess;
  #onAnswer: (answer: unknown) => void = () => undefined;
  #onEnd: (error: Error) => void = () => undefined;

  constructor(entry: "server" | "readers") {
    const file = fileURLToPath(new URL(`${entry}.js`, import.meta.url));
    this.#child = fork(file, [], { execArgv: ["--expose-gc"] });
    this.#child.on("message", (answer) => this.#onAnswer(answer));
    this.#child.on("exit", (code) =>
      this.#onEnd(new Error(`the ${entry} of the bench ended (${code ?? "killed"})`)),
    );
  }

  /** Sends a request; the caller awaits the answer before the next request. */
  ask<Answer>(request: ServerRequest | ReadersRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#onAnswer = (answer) => resolve(answer as Answer);
      this.#onEnd = reject;
      this.#child.send(request);
    });
  }

  async end(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

/** Answers the requests of the bench in this process, one after another. */
export function serveRequests(perform: (request: unknown) => Promise<unknown>): void {
  let last: Promise<unknown> = Promise.resolve();
  process.on("message", (request) => {
    last = last.then(async () => process.send?.(await perform(request)));
  });
  process.on("disconnect", () => process.exit());
}
