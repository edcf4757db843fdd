/** Browser contexts of visitors who have logged in before. */

import type { BrowserContextOptions } from "playwright-core";
import { openCalls } from "../../http/calls.js";
import type { Stack } from "../stack.js";
import type { TestTrader } from "../traders.js";

/** Logs a trader in, and returns the options of a browser context that holds the session. */
export async function signedIn(
  { url }: Pick<Stack, "url">,
  { account }: TestTrader,
  options: BrowserContextOptions = {},
): Promise<BrowserContextOptions> {
  const { email, password, traderId: accountId } = account;
  const { json } = await openCalls(url)("POST /v3/session", { email, password });
  const value = JSON.stringify({ ...json, accountId, role: "trader", email });
  const localStorage = [{ name: "overround.session", value }];
  return {
    storageState: { cookies: [], origins: [{ origin: new URL(url).origin, localStorage }] },
    ...options,
  };
}
