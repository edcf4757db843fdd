/**
 * Quarantine of the messages of gateways, jobs and operators on which an actor has failed. Such a message leaves the
 * mailbox without an effect, so that the actor goes on. A message of another actor has no quarantine: skipping it would
 * lose money, so its receiver is halted.
 */

import type { ActorId } from "../../actors/actor.js";

/** A message on which its actor has failed. */
export interface QuarantinedMessage {
  readonly actor: ActorId;
  /** Engine time of the failure, Unix ms. */
  readonly ts: number;
  /** Message of the error. */
  readonly reason: string;
  /** The message as the mailbox had it. */
  readonly body: string;
}

export function packQuarantined({ actor, ts, reason, body }: QuarantinedMessage): string {
  return JSON.stringify({ actor, ts, reason, body });
}

export function parseQuarantined(packed: string): QuarantinedMessage {
  return JSON.parse(packed) as QuarantinedMessage;
}

/** Answer to a command in quarantine. A repeat of the command gets it too, and is not executed. */
export const QUARANTINED_REPLY = { ok: false, quarantined: true } as const;

export function isQuarantinedReply(reply: unknown): boolean {
  return typeof reply === "object" && reply !== null && "quarantined" in reply;
}
