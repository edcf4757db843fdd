-- Ends the ownership of a partition. Raises the epoch, so that every later commit of the old owner is fenced.
-- KEYS: 1 lease
-- ARGV: 1 epoch
-- Returns 1, or 0 when the lease has another epoch.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'owner', '')
redis.call('HINCRBY', KEYS[1], 'epoch', 1)
return 1
