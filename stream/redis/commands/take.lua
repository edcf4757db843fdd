-- Makes a worker the owner of a partition, and raises the epoch, so that every commit of the previous owner is fenced.
-- A new run_id of the server means a restart or a fail-over, in which writes may have been lost. The partition then gets
-- a new incarnation, and an epoch that no owner had whose take was lost.
-- KEYS: 1 lease
-- ARGV: 1 worker, 2 the epoch that the worker has read, 3 name of a new incarnation
-- Returns the new epoch and the incarnation, or 0 when the lease has another epoch than the worker has read.
if (redis.call('HGET', KEYS[1], 'epoch') or '0') ~= ARGV[2] then return {0} end
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local known = redis.call('HGET', KEYS[1], 'server')
local step = 1
if known ~= server then
  redis.call('HSET', KEYS[1], 'server', server)
  if known then
    redis.call('HSET', KEYS[1], 'incarnation', ARGV[3])
    step = 1000000
  end
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
return {redis.call('HINCRBY', KEYS[1], 'epoch', step), redis.call('HGET', KEYS[1], 'incarnation') or ''}
