/** Requests of the HTTP tests: exact bytes, each on its own socket, signed or not. */

import { connect } from "node:net";
import { signatureHeaders } from "./keys.js";
import { checkAnswer } from "../support/documented.js";
import type { TestKey } from "../support/traders.js";

export interface Raw {
  readonly method?: string;
  /** Target as sent, with its query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** Body as JSON, or `{}` when it is not JSON. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Headers of a client that asks for HTTP/2 on its connection. */
export const H2C = {
  Upgrade: "h2c",
  Connection: "keep-alive, Upgrade, HTTP2-Settings",
  "HTTP2-Settings": "AAMAAABkAAQCAAAAAAIAAAAA",
};

/** Sends exactly these bytes, which a client library might change. */
export function send(url: string, raw: Raw): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const body = Buffer.from(raw.body ?? "");
  const pairs = Array.isArray(raw.headers) ? raw.headers : Object.entries(raw.headers ?? {});
  const lines = [
    `${raw.method ?? "GET"} ${raw.target} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    ...(raw.body === undefined ? [] : [`Content-Length: ${body.length}`]),
    ...pairs.map(([name, value]: readonly [string, string]) => `${name}: ${value}`),
  ];
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname);
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => {
      const answer = read(Buffer.concat(chunks));
      const isUpgrade = pairs.some(([name]: readonly [string, string]) => name.toLowerCase() === "upgrade");
      if (isUpgrade && /^\/v3\/ws(?:\?|$)/.test(raw.target) && answer.headers.has("content-length")) {
        const { status, headers, text } = answer;
        const sent = { method: raw.method ?? "GET", target: raw.target, status, body: Buffer.from(text) };
        checkAnswer(url, { ...sent, headers: Object.fromEntries(headers) });
      }
      resolve(answer);
    });
    socket.write(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]));
  });
}

function read(bytes: Buffer): Answer {
  const end = bytes.indexOf("\r\n\r\n");
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const text = bytes.subarray(end + 4).toString("utf8");
  return { status: Number(first.split(" ")[1]), headers, text, json: parse(text) };
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Signs a request over exactly the bytes that are sent. */
export function signed({ key, brand }: TestKey, raw: Raw, nowMs = Date.now()): Raw {
  const { method = "GET", target, body } = raw;
  const own = signatureHeaders(key, brand, { method, target, body }, nowMs);
  const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
  return { ...raw, headers: { ...type, ...own, ...(raw.headers as Record<string, string> | undefined) } };
}
