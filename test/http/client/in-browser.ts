/** Programs of the client that the test of the client runs in a page. */

import {
  ApiError,
  Connection,
  generateHiddenKey,
  RestClient,
  Session,
  Signer,
  StreamClient,
  type KeyAlgorithm,
  type SigningKey,
  type TicketProvider,
} from "../../../http/client/browser.js";

interface Trade {
  readonly origin: string;
  readonly brand: string;
  readonly algorithm: KeyAlgorithm;
  /** Key whose trader owns ten dollars beside their subaccounts. */
  readonly management: SigningKey;
  readonly marketId: string;
  readonly outcomeId: string;
}

/** Opens a subaccount with a hidden key, places an order and cancels it by the stream. Returns what was seen. */
export async function trade(by: Trade): Promise<{ extractable: boolean; orderId: string; seen: string[] }> {
  const { algorithm, brand, marketId, outcomeId } = by;
  const connection = new Connection(by.origin);
  const manager = new RestClient(connection, new Signer(by.management, brand));
  const { publicKey, privateKey } = await generateHiddenKey(algorithm);
  const { keyId } = await manager.openSubaccount("Web", publicKey, algorithm);
  await manager.transfer(keyId, "fund", "10", crypto.randomUUID());

  const signer = new Signer({ keyId, algorithm, privateKey }, brand);
  const seen: string[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const stream = new StreamClient(connection, signer, {
    orders: (deltas) => {
      for (const { kind, orderId } of deltas) seen.push(`${kind} ${orderId}`);
      if (deltas.some(({ kind }) => kind === "cancel")) finish();
    },
    book: () => seen.push(`best ${stream.book(marketId)?.best(outcomeId)?.price ?? "none"}`),
  });
  await stream.connect();
  await stream.subscribe({ markets: { [marketId]: "book" }, private: ["orders"] });
  const order = { outcomeId, price: "0.250", qty: 4, tif: "GTC", clientId: crypto.randomUUID() } as const;
  const { orderId } = await new RestClient(connection, signer).placeOrder(order);
  await stream.cancel([orderId]);
  await finished;
  stream.close();
  return { extractable: privateKey.extractable, orderId, seen };
}

interface Follow {
  readonly origin: string;
  readonly email: string;
  readonly password: string;
  readonly marketId: string;
}

/** Follows a book with the tickets of a web session, and without any ticket. Returns what became of each. */
export async function follow({ origin, email, password, marketId }: Follow): Promise<string[]> {
  const connection = new Connection(origin);
  const session = new Session(connection, { email, password });
  const outcomeOf = async (tickets: TicketProvider): Promise<string> => {
    const stream = new StreamClient(connection, tickets);
    try {
      await stream.connect();
      await stream.subscribe({ markets: { [marketId]: "book" } });
      return `a book of ${stream.book(marketId)?.size ?? "no"} orders`;
    } catch (error) {
      return String(error);
    } finally {
      stream.close();
    }
  };
  const noTickets = () => Promise.reject(new ApiError(401, "UNAUTHENTICATED", "the session has ended", {}));
  return [await outcomeOf(() => session.ticket()), await outcomeOf(noTickets)];
}
