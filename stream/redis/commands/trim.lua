-- Forgets old entries of an actor that nobody needs any more.
-- KEYS: 1 head, 2 deltas
-- ARGV: 1 the first seq that may still be wanted
-- Returns the number of entries removed.
local head = redis.call('HMGET', KEYS[1], 'seq', 'previous', 'relayed', 'projected')
local keep = math.min(
  tonumber(ARGV[1]),
  tonumber(head[1] or '0'),
  tonumber(head[2] or '0') + 1,
  tonumber(head[3] or '0') + 1,
  tonumber(head[4] or '0') + 1
)
if keep <= 1 then return 0 end
return redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', keep) .. '-0')
