/** Public interface of the client in Node and in browsers alike. Everything that is not exported here may change. */

export { ApiError, UnknownOutcome } from "./connection.js";
export {
  bestAlgorithm,
  generateHiddenKey,
  generateKey,
  type KeyAlgorithm,
  type KeyPair,
  type SigningKey,
  type WebCryptoKey,
} from "./keys.js";
export type { PageQuery, Query } from "./calls.js";
export { PublicClient, type CandleQuery, type EventFilter, type MarketFilter } from "./rest/catalog.js";
export type { FillsFilter, OfWallet, OrderFilter, OrdersFilter, TransactionsFilter } from "./rest/account.js";
export { RestClient } from "./rest/rest.js";
export { Session, type Credentials } from "./rest/session.js";
export { OperatorClient } from "./rest/operator.js";
export type { BucketName } from "./token-buckets.js";
export { StreamClient, type StreamOptions } from "./stream/stream.js";
export type { StreamListener } from "./stream/listener.js";
export type { TicketProvider } from "./stream/opening.js";
export { ConnectionLost, StreamError } from "./stream/socket.js";
export type { Selection } from "./stream/selection.js";
export type { Channel, PrivateChannel } from "../../stream/ws/channels.js";
export type { MarketView } from "./stream/market-view.js";
export type { WalletView } from "./stream/wallet-view.js";
export type { OrderBook } from "./stream/book.js";
export type * from "./wire/account.js";
export type * from "./wire/catalog.js";
export type * from "./wire/operator.js";
export type * from "./wire/orders.js";
export type * from "./wire/stream.js";
export type { Page } from "./wire/values.js";
