/** Public interface of the client in browsers. */

export { BrowserConnection as Connection } from "./browser/connection.js";
export { BrowserSigner as Signer } from "./browser/signer.js";
export * from "./public.js";
