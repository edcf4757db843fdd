/** The code of each kind of actor. */

import { ledger } from "../../actors/ledger/ledger.js";
import { market } from "../../actors/market/market.js";
import type { ActorOf } from "./instance.js";

export const actorOf: ActorOf = (id) => (id.startsWith("ledger:") ? ledger : market);
