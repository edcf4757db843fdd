/** Sends many requests as bytes over a few connections, which stay open as long as the server keeps them. */

import { connect, type Socket } from "node:net";

/** Answer to a request; `status` is 0 when the connection ended without an answer. */
export interface Reply {
  readonly status: number;
  readonly text: string;
}

const HEAD_END = "\r\n\r\n";
/** Longest wait for an answer on a busy machine, in ms. */
const ANSWER_TIMEOUT_MS = 20_000;

/** Returns the first answer in the received bytes; `undefined` until it is complete. */
function readReply(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const head = bytes.subarray(0, end).toString("latin1");
  const status = Number(head.split(" ", 2)[1]);
  // An interim answer such as 100 Continue is not the answer to the request.
  if (status < 200 && status >= 100) return readReply(bytes.subarray(end + HEAD_END.length));
  const length = Number(
    /\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? (status === 204 || status === 304 ? 0 : NaN),
  );
  if (!(bytes.length >= end + HEAD_END.length + length)) return undefined;
  return { status, text: bytes.subarray(end + HEAD_END.length).toString("utf8") };
}

/** Returns the status of an answer whose end is missing. */
function cutOff(bytes: Buffer): Reply {
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)/.exec(bytes.subarray(0, 12).toString("latin1"))?.[1] ?? 0);
  return { status, text: "" };
}

/** One connection at a time; opens a new one when the server has closed it. */
class Lane {
  #socket: Socket | undefined;
  #received = Buffer.alloc(0);
  #answered: ((reply: Reply) => void) | undefined;

  constructor(private readonly url: URL) {}

  /** Sends bytes and resolves with the answer. `last` ends the connection after this request. */
  ask(request: Buffer, last: boolean): Promise<Reply> {
    const socket = (this.#socket ??= this.#open());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no answer")), ANSWER_TIMEOUT_MS);
      this.#answered = (reply) => {
        clearTimeout(timer);
        this.#answered = undefined;
        this.#received = Buffer.alloc(0);
        resolve(reply);
      };
      if (last) socket.end(request);
      else socket.write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect(Number(this.url.port), this.url.hostname);
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      const reply = readReply(this.#received);
      if (reply === undefined) return;
      if (
        /^HTTP\/1\.[01] .*\r\nconnection: close/is.test(this.#received.subarray(0, 2_048).toString("latin1"))
      ) {
        this.#socket = undefined;
        socket.destroy();
      }
      this.#answered?.(reply);
    });
    // The `close` event that follows an error reports the lost connection.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
      else return;
      this.#answered?.(readReply(this.#received) ?? cutOff(this.#received));
    });
    return socket;
  }
}

export interface Flood {
  readonly url: string;
  readonly lanes: number;
  readonly requests: readonly Buffer[];
  /** True: each request has a connection of its own. */
  readonly alone?: boolean;
  /** Checks an answer; throws when the answer is wrong. */
  readonly check: (index: number, reply: Reply) => void;
}

/** Sends all requests over `lanes` connections. Rejects when `check` throws. */
export async function flood({ url, lanes, requests, alone = false, check }: Flood): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    const lane = new Lane(new URL(url));
    try {
      for (let index = next++; index < requests.length; index = next++) {
        const request = requests[index];
        if (request === undefined) return;
        check(index, await lane.ask(request, alone));
        if (alone) lane.close();
      }
    } finally {
      lane.close();
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
}
