/** Opens accounts over the public routes, from an e-mail address to a funded subaccount that can trade. */

import { ApiError, type Connection } from "../connection.js";
import { RestClient } from "../rest/rest.js";
import type { OperatorClient } from "../rest/operator.js";
import { Session, type Credentials } from "../rest/session.js";
import { generateKey, type KeyAlgorithm, type SigningKey } from "../keys.js";
import { NodeSigner } from "./signer.js";

/** A trader with one subaccount and their keys. It is secret: it can trade and move all money of the trader. */
export interface Account extends Credentials {
  readonly traderId: string;
  readonly managementKey: SigningKey;
  readonly tradingKey: SigningKey;
}

/** Details of an account to open. */
export interface NewAccount extends Credentials {
  /** Label of the subaccount. */
  readonly label: string;
  /** Amount that is deposited and moved to the subaccount, in dollars with at most five decimals. */
  readonly amount: string;
  /** Algorithm of both keys (default Ed25519). */
  readonly algorithm?: KeyAlgorithm;
  /** Region in which the device of the trader checks in, in ISO 3166-2, such as `US-NY`. */
  readonly region: string;
}

/**
 * Registers a trader, verifies and funds them as the operator, creates a management key, and opens a subaccount with a
 * trading key and all of the money. Throws `ApiError` for any refusal.
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

  const management = await generateKey(algorithm);
  const { keyId: managementKeyId } = await session.createManagementKey(
    `${account.label} management`,
    management.publicKey,
    algorithm,
  );
  const managementKey = { keyId: managementKeyId, algorithm, privateKey: management.privateKey };
  const manager = new RestClient(connection, new NodeSigner(managementKey, brand));

  const trading = await generateKey(algorithm);
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

/** Moves money from the trader's own wallet to a subaccount. Throws an `Error` when the transfer ends `Rejected`. */
export async function fund(
  manager: RestClient,
  keyId: string,
  amount: string,
  clientTransferId: string,
): Promise<void> {
  const transfer = await manager.transfer(keyId, "fund", amount, clientTransferId);
  if (transfer.status === "Rejected") {
    throw new Error(
      `the transfer of ${amount} was rejected: the wallet holds ${transfer.actualBalance ?? "less"}`,
    );
  }
}

/** Registers the trader and returns the id. Uses the existing account when the address is already registered. */
async function registered(session: Session): Promise<string> {
  try {
    return (await session.register()).traderId;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "EMAIL_TAKEN") throw error;
    return (await session.me()).traderId;
  }
}
