/** Opens pages of the console as an operator who has signed in. */

import type { BrowserContextOptions } from "playwright-core";
import type { OperatorRole } from "../../../db/schema/operator-roles.js";
import type { Credentials } from "../../../http/client/client.js";
import { bearerCalls } from "../../http/calls.js";
import { login } from "../stack.js";
import type { ServedConsole, WatchedPage } from "./browser.js";

/** Opens a page as an operator who has signed in. */
export async function visitAsOperator(
  served: ServedConsole,
  operator: Credentials,
  role: OperatorRole,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const { url } = served.stack;
  const token = await login(url, operator);
  const { json } = await bearerCalls(url, token)("GET /v3/session");
  const session = {
    token,
    expiresAt: Date.now() + 3_600_000,
    accountId: json["traderId"],
    role: "operator",
    operatorRole: role,
    email: operator.email,
  };
  const localStorage = [{ name: "overround.session", value: JSON.stringify(session) }];
  const storageState = { cookies: [], origins: [{ origin: url, localStorage }] };
  return served.visit(address, { ...options, storageState });
}
