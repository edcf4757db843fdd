-- Stores a snapshot of an actor. The latest snapshot so far becomes the previous one. Runs also when the memory is full,
-- because the log is trimmed after a snapshot.
-- KEYS: 1 lease, 2 head, 3 latest snapshot, 4 previous snapshot, 5 parts
-- ARGV: 1 epoch, 2 seq, 3 cursor, 4 hash, 5 body, 6 hashes of the parts that the body names, each with a space after it
-- Returns 'ok', 'fenced' (the lease has another epoch), 'stale' (older than the latest, not committed, or of a removed
-- actor) or 'incomplete' (a part is not stored).
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'fenced' end
local head = redis.call('HMGET', KEYS[2], 'seq', 'snapshot', 'removed')
local latest = tonumber(head[2] or '0')
if tonumber(ARGV[2]) < latest or tonumber(ARGV[2]) > tonumber(head[1] or '0') or head[3] then return 'stale' end
for hash in string.gmatch(ARGV[6], '%S+') do
  if redis.call('HEXISTS', KEYS[5], hash) == 0 then return 'incomplete' end
end
if latest > 0 then
  redis.call('RENAME', KEYS[3], KEYS[4])
  redis.call('HSET', KEYS[2], 'previous', latest)
end
redis.call('HSET', KEYS[3], 'seq', ARGV[2], 'cursor', ARGV[3], 'hash', ARGV[4], 'body', ARGV[5], 'parts', ARGV[6])
redis.call('HSET', KEYS[2], 'snapshot', ARGV[2])
return 'ok'
