/** Values that the examples of the OpenAPI document share. */

/** Ids of the examples, by the name of the parameter or field that carries them. */
export const IDS = {
  eventId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a01",
  marketId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a02",
  outcomeId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a03",
  orderId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a05",
  keyId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a06",
  transferId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a07",
  groupId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a08",
  traderId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a09",
  clientId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0a",
  requestId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0b",
  messageId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0d",
  operatorId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0e",
  approvalId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0f",
  playerId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0c",
} as const;

/** Ed25519 public key for the bodies that take one. */
export const PUBLIC_KEY =
  "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

/** Further answer of a route that sends an `ETag`. */
export const UNCHANGED = { 304: "Nothing has changed since the ETag of If-None-Match." } as const;
