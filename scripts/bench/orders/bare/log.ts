/** Keys and scripts of the bare loop, and the messages in its mailboxes. */

import type { BareOrder } from "./book.js";

/** Ledgers of the bare loop. */
export const BARE_LEDGERS = 4;
/** Epoch of the only owner. */
export const BARE_EPOCH = "1";
export const LEASE = "bare:lease";
export const COMMANDS = "bare:commands";
export const REPLIES = "bare:replies";

/** Request of a wallet; a text instead of an order cancels the order of that id. */
export interface BareRequest {
  readonly id: number;
  readonly ledger: number;
  readonly wallet: string;
  readonly operations: readonly (BareOrder | string)[];
}

export const mailboxOf = (actor: string): string => `bare:${actor}:mailbox`;
export const headOf = (actor: string): string => `bare:${actor}:head`;
export const deltasOf = (actor: string): string => `bare:${actor}:deltas`;

/** KEYS: mailbox. ARGV: body. Appends a request and publishes it with its id. */
export const APPEND = `
local id = redis.call('XADD', KEYS[1], '0-*', 'b', ARGV[1])
redis.call('PUBLISH', '${COMMANDS}', id .. ' ' .. ARGV[1])
return id
`;

/**
 * KEYS: lease; per actor: head, deltas, mailbox. ARGV: epoch, replies; per actor: seq, cursor, entry. Commits the entries
 * of a step, all or none, and publishes the replies.
 */
export const COMMIT = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return redis.error_reply('fenced') end
local actors = (#KEYS - 1) / 3
for a = 1, actors do
  if (redis.call('HGET', KEYS[3 * a - 1], 'seq') or '0') ~= ARGV[3 * a] then return redis.error_reply('conflict') end
end
for a = 1, actors do
  local seq, cursor = ARGV[3 * a] + 1, ARGV[3 * a + 1]
  redis.call('XADD', KEYS[3 * a], seq .. '-0', 'e', ARGV[3 * a + 2])
  redis.call('HSET', KEYS[3 * a - 1], 'seq', seq, 'cursor', cursor)
  redis.call('XTRIM', KEYS[3 * a + 1], 'MINID', cursor)
end
redis.call('PUBLISH', '${REPLIES}', ARGV[2])
return 'ok'
`;
