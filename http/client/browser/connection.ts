/** Connections of browsers: `fetch`, and the browser's own websockets, whose upgrades cannot be signed. */

import {
  ATTEMPT_MS,
  Connection,
  HANDSHAKE_MS,
  type PlatformSocket,
  type PlatformSocketEvents,
  type RawAnswer,
  type RawRequest,
} from "../connection.js";

/** The part of the browser's websocket that is used here. */
interface BrowserSocket {
  send(text: string): void;
  close(code?: number): void;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number }) => void) | null;
}

/** Requests and websockets to one origin. */
export class BrowserConnection extends Connection {
  override readonly signsUpgrades = false;

  override async attempt({ method, target, headers, body }: RawRequest): Promise<RawAnswer> {
    const hasBody = body.length > 0;
    const options = {
      method,
      headers: hasBody ? { ...headers, "Content-Type": "application/json" } : headers,
      ...(hasBody && { body: Uint8Array.from(body) }),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(ATTEMPT_MS),
    } as const;
    const answer = await fetch(new URL(target, this.url), options);
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: await answer.text(),
    };
  }

  override openSocket(
    target: string,
    _headers: Readonly<Record<string, string>>,
    events: PlatformSocketEvents,
  ): PlatformSocket {
    const address = new URL(target, this.url);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const { WebSocket } = globalThis as unknown as { WebSocket: new (url: string) => BrowserSocket };
    const socket = new WebSocket(address.href);
    const end = (reason: string): void => {
      clearTimeout(handshake);
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
      events.onEnd({ reason });
    };
    const handshake = setTimeout(
      () => end(`the connection did not open within ${HANDSHAKE_MS} ms`),
      HANDSHAKE_MS,
    );
    socket.onopen = () => {
      clearTimeout(handshake);
      events.onOpen();
    };
    socket.onmessage = ({ data }) => events.onText(String(data));
    socket.onclose = ({ code }) => end(`the connection was closed (${code})`);
    return {
      send: (text) => socket.send(text),
      close: () => socket.close(1000),
      // A browser waits for the farewell of a dead connection; the end is reported without it.
      drop: () => end("the connection was dropped"),
    };
  }

  /** Does nothing: the browser owns its connections. */
  override close(): void {
    return undefined;
  }
}
