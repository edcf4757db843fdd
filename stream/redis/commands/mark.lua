-- Moves a position of actors forward. A position that is already further stays as it is.
-- KEYS: one head per actor
-- ARGV: 1 field of the head, then one seq per actor
-- Returns nothing.
for i = 1, #KEYS do
  local known = tonumber(redis.call('HGET', KEYS[i], ARGV[1]) or '0')
  if tonumber(ARGV[1 + i]) > known then redis.call('HSET', KEYS[i], ARGV[1], ARGV[1 + i]) end
end
