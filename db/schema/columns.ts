/** Column types that the tables share: the units of the exchange, checked when a value is read. */

import { bigint, customType, text } from "drizzle-orm/pg-core";
import { CURRENCIES } from "../../actors/market/types.js";
import {
  contracts,
  millicents,
  ticks,
  type Contracts,
  type Millicents,
  type Ticks,
} from "../../actors/units.js";

/** Money in millicents, `bigint` in Postgres. Throws when a value outside the safe integer range is read. */
export const money = customType<{ data: Millicents; driverData: string | number }>({
  dataType: () => "bigint",
  fromDriver: (value) => millicents(Number(value)),
  toDriver: (value) => value,
});

/** Price in ticks, 1 to 999. */
export const price = customType<{ data: Ticks; driverData: number }>({
  dataType: () => "smallint",
  fromDriver: (value) => ticks(value),
  toDriver: (value) => value,
});

/** Number of contracts. */
export const quantity = customType<{ data: Contracts; driverData: number }>({
  dataType: () => "integer",
  fromDriver: (value) => contracts(value),
  toDriver: (value) => value,
});

/** Time in Unix ms. Every time in the database has this type. */
export const moment = (name?: string) =>
  name === undefined ? bigint({ mode: "number" }) : bigint(name, { mode: "number" });

/** Sequence number, or another count that may exceed int32. */
export const count = () => bigint({ mode: "number" });

export const currency = () => text({ enum: CURRENCIES });
