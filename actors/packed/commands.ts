/**
 * The packed form of the commands that actors send to each other, since format 3: the frequent ones as tuples, and all
 * others as they are. An effect has what its ledger reads, and no more.
 */

import type { LedgerCommand } from "../ledger/commands.js";
import type { MarketCommand } from "../market/commands.js";
import type { EffectDelta } from "../market/deltas.js";
import type { Contracts } from "../units.js";
import { Fields, type PackedOrder, type PackedText, packOrder, unpackOrder } from "./fields.js";
import { packMarketDelta, type PackedMarketDelta, unpackMarketDelta } from "./market.js";

type OpenEffect = Extract<EffectDelta, { kind: "open" }>;
type PackedEffect =
  ["opened", orderId: PackedText, wallet: PackedText, ledger: number, qty: Contracts] | PackedMarketDelta;
type PackedCommand =
  ["enter", order: PackedOrder] | ["effects", marketId: PackedText, ts: number, deltas: PackedEffect[]];
type Command = MarketCommand | LedgerCommand;

/** Packs the commands of one message. */
export function packCommands(commands: readonly unknown[]): unknown[] {
  const fields = new Fields();
  return commands.map((command) => packCommand(fields, command as Command));
}

function packCommand(fields: Fields, command: Command): PackedCommand | Command {
  if (command.kind === "enter") return ["enter", packOrder(fields, command.order, 0)];
  if (command.kind !== "effects") return command;
  const { ts, deltas } = command;
  const marketId = fields.market.pack(command.marketId);
  return ["effects", marketId, ts, deltas.map((delta) => packEffect(fields, delta, ts))];
}

function packEffect(fields: Fields, delta: EffectDelta, ts: number): PackedEffect {
  if (!isOpen(delta)) return packMarketDelta(fields, delta, ts);
  const { orderId, wallet, ledger } = delta.order;
  return ["opened", fields.order.pack(orderId), fields.wallet.pack(wallet), ledger, delta.qty];
}

function isOpen(delta: EffectDelta): delta is OpenEffect {
  return delta.type === "order" && delta.kind === "open";
}

export function unpackCommands(packed: readonly unknown[]): unknown[] {
  const fields = new Fields();
  return packed.map((command) =>
    Array.isArray(command) ? unpackCommand(fields, command as PackedCommand) : command,
  );
}

function unpackCommand(fields: Fields, packed: PackedCommand): Command {
  if (packed[0] === "enter") return { kind: "enter", order: unpackOrder(fields, packed[1], 0) };
  const [, market, ts, effects] = packed;
  const marketId = fields.market.unpack(market);
  return { kind: "effects", marketId, ts, deltas: effects.map((effect) => unpackEffect(fields, effect, ts)) };
}

function unpackEffect(fields: Fields, packed: PackedEffect, ts: number): EffectDelta {
  if (!Array.isArray(packed) || packed[0] !== "opened")
    return unpackMarketDelta(fields, packed, ts) as EffectDelta;
  const [, orderId, wallet, ledger, qty] = packed;
  const order = { orderId: fields.order.unpack(orderId), wallet: fields.wallet.unpack(wallet), ledger };
  return { type: "order", kind: "open", order, qty };
}
