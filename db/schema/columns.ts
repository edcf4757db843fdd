/** Column types shared by the tables: the exchange's own units, checked on the way out of Postgres. */

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

/** Money in millicents, `bigint` in Postgres. Reading one outside the safe integer range throws. */
export const money = customType<{ data: Millicents; driverData: string | number }>({
  dataType: () => "bigint",
  fromDriver: (value) => millicents(Number(value)),
  toDriver: (value) => value,
});

/** A price in thousandths, 1 to 999. */
export const price = customType<{ data: Ticks; driverData: number }>({
  dataType: () => "smallint",
  fromDriver: (value) => ticks(value),
  toDriver: (value) => value,
});

/** A number of contracts. */
export const quantity = customType<{ data: Contracts; driverData: number }>({
  dataType: () => "integer",
  fromDriver: (value) => contracts(value),
  toDriver: (value) => value,
});

/** A moment in Unix ms. Every time in the database is one of these. */
export const moment = (name?: string) =>
  name === undefined ? bigint({ mode: "number" }) : bigint(name, { mode: "number" });

/** A sequence number or another count that outgrows int32. */
export const count = () => bigint({ mode: "number" });

export const currency = () => text({ enum: CURRENCIES });
