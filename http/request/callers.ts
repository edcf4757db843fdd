/** Callers of the routes, once their signature, session or token is verified. */

import type { KeyObject } from "node:crypto";
import type { KycStatus, Role, Scope, TraderState } from "../../db/schema/accounts.js";
import type { OperatorRole } from "../../db/schema/operator-roles.js";
import type { KeyAlgorithm } from "../auth/canonical.js";

/** Key that is not revoked, with the facts about its trader that the checks need. */
export interface LiveKey {
  readonly keyId: string;
  readonly traderId: string;
  /** Wallet of a trading key; absent for the management scopes. */
  readonly subaccountId: string | undefined;
  readonly scope: Scope;
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: KeyObject;
  readonly expiresTs: number | undefined;
  readonly kyc: KycStatus;
  readonly state: TraderState;
}

/** Caller who signed the request. */
export interface KeyCaller {
  readonly kind: "key";
  readonly key: LiveKey;
  readonly ip: string;
  /** Identity of this request: the same signed bytes have the same one. */
  readonly commandId: string;
  /** Time of the signature, in Unix ms. */
  readonly signedTs: number;
  /** True when an earlier run of the same bytes ended with an unknown effect. */
  readonly resumed: boolean;
}

/** Caller with a web session. */
export interface SessionCaller {
  readonly kind: "session";
  readonly accountId: string;
  readonly role: Role;
  /** Role of an operator. */
  readonly operatorRole?: OperatorRole;
  readonly sessionId: string;
  /** End of the session, in Unix ms. */
  readonly expiresAt: number;
  readonly ip: string;
}

/** Client of surface B with a valid token. */
export interface ClientCaller {
  readonly kind: "client";
  readonly clientId: string;
  readonly traderId: string;
  /** Wallet of the client's subaccount. */
  readonly wallet: string;
  readonly ip: string;
  /** Gives back the tokens that this request took, when it could not be carried out. */
  readonly giveBack: () => Promise<void>;
}

/**
 * Returns the owner of the token buckets that a key pays from: its wallet or its trader for keys of which one lives at a
 * time, so that another key brings no tokens, and the key itself for read keys.
 */
export function payerOfKey({ keyId, scope, subaccountId, traderId }: LiveKey): string {
  if (scope === "management") return traderId;
  return scope === "trading" ? (subaccountId ?? keyId) : keyId;
}

/** Returns the owner of the token buckets that a caller pays from; a web session pays from those of its trader. */
export function payerOf(caller: KeyCaller | SessionCaller): string {
  return caller.kind === "key" ? payerOfKey(caller.key) : caller.accountId;
}

/** Returns the trader that a caller acts for. */
export function traderOf(caller: KeyCaller | SessionCaller): string {
  return caller.kind === "key" ? caller.key.traderId : caller.accountId;
}
