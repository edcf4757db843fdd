-- Gives a partition up. The epoch is raised, so nothing of the old owner can follow.
-- KEYS: 1 lease
-- ARGV: 1 epoch
-- Returns 1, or 0 when somebody else holds it.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'owner', '')
redis.call('HINCRBY', KEYS[1], 'epoch', 1)
return 1
