/** Public interface of the package `overround/client`. Everything that is not exported here may change. */

export { Connection, ApiError, UnknownOutcome } from "./connection.js";
export { generateKey, Signer, type KeyAlgorithm, type KeyPair, type SigningKey } from "./signer.js";
export { RestClient, type OrderFilter, type Query } from "./rest.js";
export { OperatorClient, Session, type Credentials } from "./session.js";
export { fund, openAccount, type Account, type NewAccount } from "./accounts.js";
export { StreamClient, type StreamListener, type StreamOptions } from "./stream.js";
export { ConnectionLost, StreamError } from "./socket.js";
export type { Selection } from "./selection.js";
export type { Channel, PrivateChannel } from "../../stream/ws/channels.js";
export type { MarketView } from "./market-view.js";
export type { WalletView } from "./wallet-view.js";
export type { OrderStatus } from "../../actors/ledger/types.js";
export type { OrderBook } from "./book.js";
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
