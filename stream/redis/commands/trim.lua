-- Removes old entries of an actor. Keeps the entries that the previous snapshot, the relay or the read model still
-- needs, and always the last one.
-- KEYS: 1 head, 2 deltas
-- ARGV: 1 first seq to keep in any case
-- Returns the number of entries removed.
local head = redis.call('HMGET', KEYS[1], 'seq', 'previous', 'relayed', 'projected')
local firstKept = math.min(
  tonumber(ARGV[1]),
  tonumber(head[1] or '0'),
  tonumber(head[2] or '0') + 1,
  tonumber(head[3] or '0') + 1,
  tonumber(head[4] or '0') + 1
)
if firstKept <= 1 then return 0 end
return redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', firstKept) .. '-0')
