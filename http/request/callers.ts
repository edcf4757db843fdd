/** Who a request speaks for, once it is believed. */

import type { KeyObject } from "node:crypto";
import type { KycStatus, Role, Scope, TraderState } from "../../db/schema/accounts.js";
import type { KeyAlgorithm } from "../auth/signing.js";

/** A key with what the checks need to know of its trader; revoked and expired ones are not in the directory. */
export interface LiveKey {
  readonly keyId: string;
  readonly traderId: string;
  /** The wallet of a trading key; absent for the management scopes. */
  readonly subaccountId: string | undefined;
  readonly scope: Scope;
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: KeyObject;
  readonly expiresTs: number | undefined;
  readonly kyc: KycStatus;
  readonly state: TraderState;
}

/** Someone who signed. */
export interface KeyCaller {
  readonly kind: "key";
  readonly key: LiveKey;
  readonly ip: string;
  /** The identity of this very request: the same signed bytes give the same. */
  readonly commandId: string;
  /** Whether the same bytes came before, and what became of them then is not known. */
  readonly resumed: boolean;
}

/** Someone with a web session. */
export interface SessionCaller {
  readonly kind: "session";
  readonly accountId: string;
  readonly role: Role;
  readonly sessionId: string;
  /** When the session ends, Unix ms. */
  readonly expiresAt: number;
  readonly ip: string;
}

/** A client of surface B with a good token. */
export interface ClientCaller {
  readonly kind: "client";
  readonly clientId: string;
  readonly traderId: string;
  /** The wallet of the client's subaccount. */
  readonly wallet: string;
  readonly ip: string;
  /** Gives back what this request took of its rates, for one that could not be carried out. */
  readonly giveBack: () => Promise<void>;
}

/** The trader that a caller of either kind acts for. */
export function traderOf(caller: KeyCaller | SessionCaller): string {
  return caller.kind === "key" ? caller.key.traderId : caller.accountId;
}
