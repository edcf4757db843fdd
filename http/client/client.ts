/** Public interface of the client in Node. */

export { NodeConnection as Connection } from "./node/connection.js";
export { NodeSigner as Signer } from "./node/signer.js";
export { fund, openAccount, type Account, type NewAccount } from "./node/accounts.js";
export * from "./public.js";
