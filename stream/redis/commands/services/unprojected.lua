-- Finds the actors of a partition of which the read model lacks entries.
-- KEYS: 1 actors of the partition
-- ARGV: 1 prefix of the names of their heads, which are in the same slot
-- Returns per such actor: its id, the seq of its last entry, and the seq of the last entry that the read model has.
local found = {}
for _, actor in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local head = redis.call('HMGET', ARGV[1] .. actor, 'seq', 'projected')
  local seq, projected = head[1] or '0', head[2] or '0'
  if tonumber(seq) > tonumber(projected) then
    found[#found + 1] = actor
    found[#found + 1] = seq
    found[#found + 1] = projected
  end
end
return found
