-- Makes a worker the owner of a partition, and raises the epoch, so that every commit of the previous owner is fenced.
-- KEYS: 1 lease
-- ARGV: 1 worker, 2 the epoch that the worker has read
-- Returns the new epoch, or 0 when the lease has another epoch than the worker has read.
if (redis.call('HGET', KEYS[1], 'epoch') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'epoch', 1)
