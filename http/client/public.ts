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
export { RestClient, type OrderFilter, type Query } from "./rest.js";
export { OperatorClient, Session, type Credentials } from "./session.js";
export { StreamClient, type StreamOptions } from "./stream/stream.js";
export type { StreamListener } from "./stream/listener.js";
export type { TicketProvider } from "./stream/opening.js";
export { ConnectionLost, StreamError } from "./stream/socket.js";
export type { Selection } from "./stream/selection.js";
export type { Channel, PrivateChannel } from "../../stream/ws/channels.js";
export type { MarketView } from "./stream/market-view.js";
export type { WalletView } from "./stream/wallet-view.js";
export type { OrderStatus } from "../../actors/ledger/types.js";
export type { OrderBook } from "./stream/book.js";
export type {
  BatchPlaced,
  BboDelta,
  BookDelta,
  EventAnswer,
  Level,
  LifecycleDelta,
  MarketAnswer,
  OpenOrder,
  OrderAnswer,
  OrdersDelta,
  PlaceOrder,
  PositionAnswer,
  TradeDelta,
} from "./wire.js";
