/** Many requests as bytes, over a few connections that are kept as long as the server keeps them. */

import { connect, type Socket } from "node:net";

/** `status` is 0 when the connection ended without an answer. */
export interface Reply {
  readonly status: number;
  readonly text: string;
}

const HEAD_END = "\r\n\r\n";
/** How long an answer may take on a busy machine. */
const PATIENCE_MS = 20_000;

/** The first answer in what came so far; `undefined` while some of it is missing. */
function readReply(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const head = bytes.subarray(0, end).toString("latin1");
  const status = Number(head.split(" ", 2)[1]);
  // The answer to "Expect: 100-continue" is not the answer to the request.
  if (status < 200 && status >= 100) return readReply(bytes.subarray(end + HEAD_END.length));
  const length = Number(
    /\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? (status === 204 || status === 304 ? 0 : NaN),
  );
  if (!(bytes.length >= end + HEAD_END.length + length)) return undefined;
  return { status, text: bytes.subarray(end + HEAD_END.length).toString("utf8") };
}

/** What an answer says whose end did not come. */
function cutOff(bytes: Buffer): Reply {
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)/.exec(bytes.subarray(0, 12).toString("latin1"))?.[1] ?? 0);
  return { status, text: "" };
}

/** One connection at a time, made anew when the server ends it. */
class Lane {
  #socket: Socket | undefined;
  #got = Buffer.alloc(0);
  #answered: ((reply: Reply) => void) | undefined;

  constructor(private readonly url: URL) {}

  /** Sends bytes and waits for the answer. With `last` nothing follows on this connection. */
  ask(request: Buffer, last: boolean): Promise<Reply> {
    const socket = (this.#socket ??= this.#open());
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("no answer")), PATIENCE_MS);
      this.#answered = (reply) => {
        clearTimeout(late);
        this.#answered = undefined;
        this.#got = Buffer.alloc(0);
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
      this.#got = this.#got.length === 0 ? chunk : Buffer.concat([this.#got, chunk]);
      const reply = readReply(this.#got);
      if (reply === undefined) return;
      if (/^HTTP\/1\.[01] .*\r\nconnection: close/is.test(this.#got.subarray(0, 2_048).toString("latin1"))) {
        this.#socket = undefined;
        socket.destroy();
      }
      this.#answered?.(reply);
    });
    // A connection that breaks is an answer of its own; the close that follows tells it.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
      else return;
      this.#answered?.(readReply(this.#got) ?? cutOff(this.#got));
    });
    return socket;
  }
}

export interface Flood {
  readonly url: string;
  readonly lanes: number;
  readonly requests: readonly Buffer[];
  /** Whether each request has a connection to itself, which it ends. */
  readonly alone?: boolean;
  /** Looks at each answer; throws when it must not be. */
  readonly judge: (index: number, reply: Reply) => void;
}

/** Sends all requests, `lanes` at a time. Throws what `judge` throws. */
export async function flood({ url, lanes, requests, alone = false, judge }: Flood): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    const lane = new Lane(new URL(url));
    try {
      for (let index = next++; index < requests.length; index = next++) {
        const request = requests[index];
        if (request === undefined) return;
        judge(index, await lane.ask(request, alone));
        if (alone) lane.close();
      }
    } finally {
      lane.close();
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
}
