-- Makes a worker the owner of a partition, and raises the epoch, so that every commit of the previous owner is fenced.
-- KEYS: 1 lease
-- ARGV: 1 worker, 2 '1' to take the partition from a live owner too, then the live workers
-- Returns {1, epoch}, or {0, owner} when a live worker holds the partition.
local owner = redis.call('HGET', KEYS[1], 'owner') or ''
if owner ~= '' and owner ~= ARGV[1] and ARGV[2] ~= '1' then
  for i = 3, #ARGV do
    if ARGV[i] == owner then return {0, owner} end
  end
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
return {1, redis.call('HINCRBY', KEYS[1], 'epoch', 1)}
