/** Steps of a visitor to the demo: one click to log in, one click for the first order. */

import { useRef, useState } from "preact/hooks";
import type { z } from "zod";
import type { DemoAnswer } from "../../surface-a/schemas/demo.js";
import type { Order } from "../../surface-a/schemas/orders.js";
import { Link } from "../app/router.js";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { session } from "../data/session.js";
import { logIn } from "../data/sign-in.js";
import { Button } from "../parts/button.js";
import { Notice } from "../parts/notice.js";
import { Money, Price, Quantity } from "../parts/values.js";
import { ensureWebKey, WEB, webKeyState } from "../trading/web-key.js";
import { findOffer, placeFirst, type Attempt, type Offer } from "./first-order.js";

type Login = NonNullable<z.infer<typeof DemoAnswer>["login"]>;

/** Interval of the question whether the demo has opened its account, and of the search for an offer, in ms. */
const EVERY_MS = 2_000;

/** The next step of a visitor to the demo. */
export function NextStep() {
  return session.value === undefined ? <LogIn /> : <FirstOrder />;
}

function LogIn() {
  const demo = useResource(
    (signal) => call<z.infer<typeof DemoAnswer>>("GET", "/v3/public/demo", { signal }),
    [],
    {
      everyMs: EVERY_MS,
    },
  );
  const action = useAction(async ({ email, password }: Login) => {
    await logIn(email, password);
  });
  const login = demo.value?.login ?? undefined;
  return (
    <>
      <Notice refusal={action.refusal} />
      <Button
        kind="main"
        busy={action.busy}
        reason={
          login === undefined
            ? (demo.refusal?.message ?? "The demo opens its account; that takes a moment.")
            : undefined
        }
        onClick={() => login !== undefined && action.run(login)}
      >
        Log in as the demo trader
      </Button>
      {demo.refusal !== undefined && <p class="quiet">It opens when the service answers.</p>}
    </>
  );
}

function FirstOrder() {
  const [placed, setPlaced] = useState<{ readonly order: Order; readonly offer: Offer }>();
  // A click after a lost answer places the same order again, which takes effect once.
  const attempt = useRef<Attempt | undefined>(undefined);
  const offers = useResource(findOffer, [], { everyMs: EVERY_MS });
  const action = useAction(async (offer: Offer) => {
    await ensureWebKey();
    const tried = (attempt.current ??= { offer, clientId: crypto.randomUUID(), mayBePlaced: false });
    try {
      setPlaced({ order: await placeFirst(tried), offer: tried.offer });
    } catch (error) {
      if (!tried.mayBePlaced) attempt.current = undefined;
      throw error;
    }
  });
  if (placed !== undefined) return <Placed {...placed} />;
  const offer = attempt.current?.offer ?? offers.value;
  return (
    <>
      <Notice refusal={action.refusal} onDismiss={action.dismiss} />
      {offer === undefined ? (
        <p>
          {offers.refusal !== undefined
            ? "The offers cannot be read now; the page tries again."
            : offers.loading
              ? "Looking for an offer."
              : "Nothing is offered now; the bots quote again in a moment."}
        </p>
      ) : (
        <>
          <Button kind="main" busy={action.busy} onClick={() => action.run(offer)}>
            Buy <Quantity value={offer.qty} /> {offer.outcome} at <Price value={offer.price} />
          </Button>
          <p class="quiet">
            {offer.market}: costs <Money value={offer.costs} />, pays <Money value={offer.pays} /> if{" "}
            {offer.outcome} wins. The first order opens the subaccount {WEB} with play money.
            {webKeyState.value.kind === "elsewhere" && ` Its key is in another browser, and moves here.`}
          </p>
        </>
      )}
    </>
  );
}

function Placed({ order, offer }: { readonly order: Order; readonly offer: Offer }) {
  return (
    <p role="status">
      {outcomeOf(order, offer)} <Link to={`/markets/${offer.marketId}`}>See the market</Link>, or{" "}
      <Link to="/portfolio">your portfolio</Link>.
    </p>
  );
}

function outcomeOf({ status, price, reason }: Order, { outcome, qty }: Offer): string {
  switch (status) {
    case "FILLED":
      return `Bought: ${qty} ${outcome} are yours.`;
    case "OPEN":
    case "PENDING":
      return `The price has moved meanwhile: your order for ${qty} ${outcome} waits in the book at ${price}.`;
    case "CANCELED":
    case "REJECTED":
      return `The order for ${qty} ${outcome} ended without a fill${reason === undefined ? "" : ` (${reason})`}.`;
    default:
      return status satisfies never;
  }
}
