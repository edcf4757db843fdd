/** Steps between a registration and the first order. */

import type { ComponentChildren } from "preact";
import type { z } from "zod";
import type { Key, Subaccount } from "../../surface-a/schemas/account.js";
import { Link, useQuery } from "../app/router.js";
import { call } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { Notice } from "../parts/notice.js";
import { checkInEnd, type AccountAnswer } from "./facts.js";

const NOTHING = "0.00000";

/** Lists what is left before the trader can trade from this page; shows nothing once all of it is done. */
export function NextSteps({ account }: { readonly account: AccountAnswer }) {
  const [next] = useQuery("next");
  const held = useResource(
    async (signal) => ({
      keys: await call<readonly z.infer<typeof Key>[]>("GET", "/v3/keys", { signal }),
      subaccounts: await call<readonly z.infer<typeof Subaccount>[]>("GET", "/v3/account/subaccounts", {
        signal,
      }),
    }),
    [],
  );
  if (held.value === undefined) return <Notice refusal={held.refusal} />;
  const { keys, subaccounts } = held.value;
  const isFunded = subaccounts.some(({ balance }) => balance !== NOTHING);
  const steps: readonly (readonly [done: boolean, step: ComponentChildren])[] = [
    [checkInEnd(account.location) !== undefined, <a href="#check-in">Check in where you are</a>],
    [account.kyc === "VERIFIED", "The operator verifies your identity"],
    [keys.some(({ scope }) => scope === "management"), <Link to="/keys">Make your management key</Link>],
    [subaccounts.length > 0, <Link to="/keys">Open a subaccount to trade in</Link>],
    [isFunded || account.cash.CASH !== NOTHING, "The operator deposits your money"],
    [isFunded, <Link to="/keys">Move money into the subaccount</Link>],
  ];
  // A subaccount that has money, such as play money, trades without a management key.
  const isDone = checkInEnd(account.location) !== undefined && account.kyc === "VERIFIED" && isFunded;
  if (isDone && next === "") return null;
  return (
    <section>
      <h2>{isDone ? "Ready to trade" : "Before you can trade"}</h2>
      {!isDone && (
        <ol class="account-steps">
          {steps.map(([done, step], index) => (
            <li key={index} class={done ? "account-step-done" : undefined}>
              {step} <span class="quiet">· {done ? "done" : "to do"}</span>
            </li>
          ))}
        </ol>
      )}
      {next.startsWith("/") && (
        <p>
          <Link to={next}>Go back to the page that you came from</Link>
        </p>
      )}
    </section>
  );
}
