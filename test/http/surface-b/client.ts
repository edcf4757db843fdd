/** Plain client of surface B, and its creation by an operator. */

import { PREFIX, type Stack } from "../../support/stack.js";
import type { TestTrader } from "../../support/traders.js";

export interface EmmAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

async function answerOf(response: Response): Promise<EmmAnswer> {
  const text = await response.text();
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}

/** Calls a route with the headers, and with `body` as JSON. */
export async function call(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<EmmAnswer> {
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  const payload = body === undefined ? {} : { body: JSON.stringify(body) };
  return answerOf(await fetch(url, { method, headers: { ...json, ...headers }, ...payload }));
}

/** Calls a route of the operator. */
export async function operate(stack: Stack, line: string, body?: unknown): Promise<EmmAnswer> {
  const [method = "", path = ""] = line.split(" ");
  return call(
    `${stack.url}/admin/v1${path}`,
    method,
    { Authorization: `Bearer ${await stack.operatorToken()}` },
    body,
  );
}

/** Creates a client for the subaccount of a trader. */
export async function newClient(stack: Stack, trader: TestTrader): Promise<ClientCredentials> {
  const { keyId } = trader.account.tradingKey;
  const made = await operate(stack, "POST /emm-clients", { subaccountKeyId: keyId, name: "maker" });
  if (made.status !== 201) throw new Error(`no client: ${JSON.stringify(made.body)}`);
  return made.body as ClientCredentials;
}

/** Requests a token with a JSON body. */
export function askToken(
  url: string,
  credentials: ClientCredentials,
  headers: Readonly<Record<string, string>> = {},
  prefix = PREFIX,
): Promise<EmmAnswer> {
  return call(`${url}/${prefix}/v1/auth/emm-token`, "POST", headers, {
    grant_type: "client_credentials",
    client_id: credentials.clientId,
    client_secret: credentials.clientSecret,
  });
}

/** Calls surface B as one client; the first call creates its token. */
export class EmmClient {
  #token: Promise<string> | undefined;

  constructor(
    readonly url: string,
    readonly credentials: ClientCredentials,
    readonly prefix = PREFIX,
  ) {}

  token(): Promise<string> {
    this.#token ??= askToken(this.url, this.credentials, {}, this.prefix).then(({ status, body }) => {
      if (status !== 200) throw new Error(`no token: ${JSON.stringify(body)}`);
      return (body as { access_token: string }).access_token;
    });
    return this.#token;
  }

  /** Calls a route; `line` is a method and a path below `/svc/v2/emm`. */
  async call(line: string, body?: unknown): Promise<EmmAnswer> {
    const [method = "", path = ""] = line.split(" ");
    const headers = { Authorization: `Bearer ${await this.token()}` };
    return call(`${this.url}/${this.prefix}/v2/emm${path}`, method, headers, body);
  }

  /** Returns the body of a successful GET, after the rate allows it. */
  async read<T>(path: string): Promise<T> {
    const { status, headers, body } = await this.call(`GET ${path}`);
    if (status === 429) {
      await new Promise((resolve) => setTimeout(resolve, 1_000 * Number(headers.get("retry-after"))));
      return this.read(path);
    }
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body as T;
  }
}
