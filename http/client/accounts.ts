/** Everything between a new e-mail address and a funded subaccount that can trade, by the public routes. */

import { ApiError, type Connection } from "./connection.js";
import { RestClient } from "./rest.js";
import { type OperatorClient, Session, type Credentials } from "./session.js";
import { generateKey, Signer, type KeyAlgorithm, type SigningKey } from "./signer.js";

/** A trader with one subaccount and both of its keys. Whoever holds this can trade its money. */
export interface Account extends Credentials {
  readonly traderId: string;
  readonly managementKey: SigningKey;
  readonly tradingKey: SigningKey;
}

export interface NewAccount extends Credentials {
  /** Of the subaccount. */
  readonly label: string;
  /** What the operator deposits and the subaccount receives, in dollars with at most five decimals. */
  readonly amount: string;
  readonly algorithm?: KeyAlgorithm;
  /** ISO 3166-2, where the trader's device checks in. */
  readonly region: string;
}

/**
 * Registers a trader, has the operator verify and fund them, makes a management key, and opens a subaccount with its
 * trading key and all of the money. Throws `ApiError` for whatever the exchange refuses.
 */
export async function openAccount(
  connection: Connection,
  operator: OperatorClient,
  account: NewAccount,
  brand = "Svc",
): Promise<Account> {
  const { email, password, algorithm = "Ed25519" } = account;
  const session = new Session(connection, { email, password });
  const traderId = await registered(session);
  await operator.verifyTrader(traderId);
  await session.checkIn(account.region);
  await operator.deposit(traderId, account.amount, `funds of ${account.label}`, `open ${traderId}`);

  const management = generateKey(algorithm);
  const { keyId: managementKeyId } = await session.createManagementKey(
    `${account.label} management`,
    management.publicKey,
    algorithm,
  );
  const managementKey = { keyId: managementKeyId, algorithm, privateKey: management.privateKey };
  const manager = new RestClient(connection, new Signer(managementKey, brand));

  const trading = generateKey(algorithm);
  const { keyId } = await manager.openSubaccount(account.label, trading.publicKey, algorithm);
  await fund(manager, keyId, account.amount, `open ${traderId}`);
  return {
    email,
    password,
    traderId,
    managementKey,
    tradingKey: { keyId, algorithm, privateKey: trading.privateKey },
  };
}

/** Moves money from the trader's own wallet to a subaccount. Throws when the exchange rejects the transfer. */
export async function fund(
  manager: RestClient,
  keyId: string,
  amount: string,
  clientTransferId: string,
): Promise<void> {
  const transfer = await manager.transfer(keyId, "fund", amount, clientTransferId);
  if (transfer.status === "Rejected") {
    throw new Error(`the transfer of ${amount} was rejected: ${transfer.actualBalance ?? "less"} is there`);
  }
}

/** The trader's id; an account that a lost answer had made already is taken up. */
async function registered(session: Session): Promise<string> {
  try {
    return (await session.register()).traderId;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "EMAIL_TAKEN") throw error;
    return (await session.me()).traderId;
  }
}
