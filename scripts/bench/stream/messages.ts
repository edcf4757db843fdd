/** What the processes of the stream benches say to each other, and how one asks another. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Channel } from "../../../stream/ws/channels.js";

/** Who is measured: the bridge of the gateway, or `ws` as one uses it. */
export type Contestant = "bridge" | "ws";

export type ServerRequest =
  | { readonly kind: "serve"; readonly as: Contestant }
  /** Sends `frames` in each turn of the event loop, and begins the next when every socket has taken them. */
  | { readonly kind: "flood"; readonly frames: number; readonly seconds: number }
  /** Sends `frames` so many times a second, whoever takes them. */
  | { readonly kind: "pace"; readonly frames: number; readonly perSecond: number; readonly seconds: number }
  | { readonly kind: "look" };

export interface Served {
  readonly port: number;
}

export interface Sent {
  /** Frames, each of which goes to every socket. */
  readonly frames: number;
  readonly seconds: number;
  /** Of the server's core. */
  readonly cpuSeconds: number;
}

export interface Looked {
  /** Of heap and buffers, once all is collected that can be. */
  readonly inUseBytes: number;
  readonly rssBytes: number;
  readonly sockets: number;
  /** Sockets closed by the server, by code and reason. */
  readonly closed: Readonly<Record<string, number>>;
}

export type ReadersRequest =
  /** With no channels, readers ask for nothing: bare `ws` sends to everyone. */
  | {
      readonly kind: "connect";
      readonly port: number;
      readonly sockets: number;
      readonly channels: readonly Channel[];
    }
  /** Stops reading, on all of this process's sockets. */
  | { readonly kind: "stall" }
  /** Forgets the delays so far. */
  | { readonly kind: "forget" }
  | { readonly kind: "count" };

export interface Counted {
  readonly frames: number;
  readonly bytes: number;
  /** From when the server made a frame until it was read, a sample, ms. */
  readonly delaysMs: readonly number[];
  readonly open: number;
}

/** A process of a bench, that answers one request after another. */
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

  /** Wait for the answer before asking again. */
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

/** Answers requests of the bench, one after another. */
export function answer(perform: (request: unknown) => Promise<unknown>): void {
  let last: Promise<unknown> = Promise.resolve();
  process.on("message", (request) => {
    last = last.then(async () => process.send?.(await perform(request)));
  });
  process.on("disconnect", () => process.exit());
}
